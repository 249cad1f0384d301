# SPDX-License-Identifier: Apache-2.0
"""Growth that a watch finds by comparing censuses: Report.growing."""

import functools
import logging

import pytest

import cyclewatch

kept = []


def run(step, *, steps=6, **settings):
    """Call `step` repeatedly, and return the watch after the last census."""
    settings = {"devices": "cpu", "budget": 1, "census_every": 1, **settings}
    with cyclewatch.watch(**settings) as watch:
        for number in range(steps):
            step(number)
            watch.step(number)
    return watch


@pytest.fixture
def torch():
    yield pytest.importorskip("torch")
    kept.clear()


def test_list_of_losses_grows(torch, caplog):
    model = torch.nn.Linear(4, 1)

    def train(_):
        kept.append(model(torch.ones(2, 4)).sum())

    report = run(train).report()
    (growing,) = [each for each in report.growing if each.held_by.startswith("module global")]
    assert growing.held_by == f"module global {__name__}.kept -> kept[0]"
    assert (growing.type, growing.shape, growing.dtype) == ("torch.Tensor", (), "float32")
    assert (growing.rate, growing.unit, growing.count, growing.nbytes) == (4, "step", 6, 24)
    assert growing.until_full > 1e6
    (warning,) = [each for each in caplog.records if "grows" in each.message]
    assert warning.levelno == logging.WARNING
    assert "Tensor memory grows: +" in warning.message


def test_lru_cache_of_a_method_grows(torch):
    class Model:
        @functools.cache  # noqa: B019 - the mistake
        def encode(self, length):
            return torch.ones(100) * length

    report = run(Model().encode).report()
    (growing,) = report.growing
    assert growing.rate == 400
    assert "lru_cache" in growing.held_by or "encode" in growing.held_by


def test_list_of_detached_tensors_grows(torch):
    def evaluate(number):
        kept.append((torch.ones(10, requires_grad=True) * number).detach())

    (growing,) = run(evaluate).report().growing
    assert growing.held_by == f"module global {__name__}.kept -> kept[0]"
    assert growing.rate == 40


def test_steady_cache_does_not_grow(torch):
    def fill(number):
        kept.append(torch.ones(10) * number)
        del kept[:-4]

    before = torch.ones(3)
    report = run(fill, steps=9).report()
    assert before.numel() == 3
    assert report.growing == []
    assert report.stats.skipped == {}


def test_cache_that_is_emptied_is_no_longer_listed(torch):
    watch = cyclewatch.watch(devices="cpu", budget=1, census_every=1)
    with watch:
        for number in range(7):
            kept.append(torch.ones(10))
            watch.step(number)
        assert len(watch.report().growing) == 1
        del kept[1:]
        watch.step(7)
        assert watch.report().growing == []


class Buffer:
    """Owns memory."""


@pytest.fixture
def buffers():
    cyclewatch.register_owner(
        Buffer, lambda buffer: {"device": "cpu", "nbytes": 1000, "data_ptr": id(buffer)}
    )
    yield
    kept.clear()
    cyclewatch.unregister_owner(Buffer)


def keep(_):
    kept.append(Buffer())


@pytest.mark.parametrize(
    ("every", "steps", "expected"), [(1, 6, 1), (1, 5, 0), (2, 12, 1), (2, 11, 0)]
)
def test_growth_needs_six_censuses(buffers, every, steps, expected):
    assert len(run(keep, steps=steps, census_every=every).report().growing) == expected


def test_rate_is_per_step_even_if_the_program_counts_from_zero_again(buffers):
    with cyclewatch.watch(devices="cpu", budget=1, census_every=2) as watch:
        for _ in range(12):
            keep(None)
            watch.step(0)
    (growing,) = watch.report().growing
    assert (growing.rate, growing.count) == (1000, 12)


def test_no_census_by_default(buffers):
    report = run(keep, census_every=0).report()
    assert report.growing == []
    assert '"growing"' not in report.to_json()


def test_census_over_the_budget_is_skipped(buffers):
    report = run(keep, steps=400, budget=1e-9).report()
    skipped = report.stats.skipped["a census was due, over the time budget"]
    assert 0 < skipped < 400
    assert f"Skipped {skipped} times: a census was due, over the time budget." in report.to_text()


def test_small_groups_and_other_devices_are_ignored(buffers):
    assert run(keep, min_bytes=1 << 20).report().growing == []
    assert run(keep, devices="cuda").report().growing == []


def test_warning_is_logged_once(buffers, caplog):
    run(keep, steps=8)
    assert [each.message for each in caplog.records] == [
        f"Tensor memory grows: +1000 B per step: 6 x {__name__}.Buffer on cpu (5.9 KiB), held by "
        f"module global {__name__}.kept -> kept[0]. "
        + caplog.records[0].message.rpartition("[0]. ")[2]
    ]
    assert "The memory is full in " in caplog.text


def test_report_contains_what_grows(buffers, tmp_path):
    report = run(keep).report()
    text = report.to_text(width=200)
    assert "\nGrows:\n  +1000 B per step: 6 x " in text
    assert "What grows?" in report.to_html()
    report.save(tmp_path / "report.json")
    for loaded in (
        cyclewatch.Report.load(tmp_path / "report.json"),
        cyclewatch.Report.merge([report]),
    ):
        assert [str(each) for each in loaded.growing] == [str(each) for each in report.growing]
        assert loaded.growing[0].process == 0


@pytest.mark.parametrize("census_every", [-1, 1.5, "2", None, 1 << 31])
def test_invalid_census_every_raises(census_every):
    with pytest.raises(ValueError, match="census_every"):
        cyclewatch.watch(census_every=census_every)
