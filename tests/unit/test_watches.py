# SPDX-License-Identifier: Apache-2.0
"""What the functions that start a watch accept and refuse."""

import pytest

import cyclewatch


@pytest.mark.parametrize("start", [cyclewatch.warn_tensor_cycles, cyclewatch.watch])
def test_unknown_device_is_refused_with_the_valid_ones(start):
    with pytest.raises(ValueError, match="toaster") as error:
        start(devices=("cpu", "toaster"))
    assert "cuda" in str(error.value)
    assert "auto" in str(error.value)


def test_unknown_format_is_refused_with_the_valid_ones(tmp_path):
    with pytest.raises(ValueError, match="'pdf'; the formats are text, json, dot, svg, html"):
        cyclewatch.warn_tensor_cycles(formats=("html", "pdf"), report_dir=tmp_path)


@pytest.mark.parametrize("budget", [0, -0.1, 1.01, float("nan")])
def test_budget_that_is_no_share_is_refused(budget):
    with pytest.raises(ValueError, match="budget"):
        cyclewatch.watch(budget=budget)


def test_negative_min_bytes_is_refused():
    with pytest.raises(ValueError, match="min_bytes"):
        cyclewatch.watch(min_bytes=-1)


@pytest.mark.parametrize("answer", ["yes", None, 1])
def test_capture_values_that_is_no_yes_or_no_is_refused(answer):
    with pytest.raises(ValueError, match="capture_values is True or False, not"):
        cyclewatch.watch(capture_values=answer)


def test_report_dir_that_cannot_be_a_path_is_refused(tmp_path):
    with pytest.raises(ValueError, match="report_dir must not contain a null character"):
        cyclewatch.warn_tensor_cycles(report_dir=f"{tmp_path}/a\0b")


def test_device_that_is_no_name_is_refused():
    with pytest.raises(TypeError, match="devices takes names, not 3"):
        cyclewatch.watch(devices=("cpu", 3))


def test_callback_that_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="callback must be callable, not str"):
        cyclewatch.observe_tensor_cycles("print")


def test_watch_is_active_until_stopped_and_may_be_stopped_again():
    watch = cyclewatch.watch(devices="cpu")
    assert watch.active
    watch()
    assert not watch.active
    watch.stop()
    assert not watch.active


def test_leaving_the_with_block_stops_the_watch_and_keeps_its_report():
    with cyclewatch.watch(devices=("cpu",)) as watch:
        pass
    assert not watch.active
    assert watch.report().findings == []
    assert watch.report().retained_bytes == 0


def test_stats_answer_by_attribute_and_by_name():
    with cyclewatch.watch(devices=("cpu",)) as watch:
        stats = watch.stats
    assert stats["collections"] == stats.collections
    assert dict(stats).keys() == set(stats)
    with pytest.raises(KeyError, match="nothing_of_the_kind"):
        stats["nothing_of_the_kind"]


class Buffer:
    """Owns device memory of its own making."""


def test_owner_reader_must_be_callable_and_its_type_a_type():
    with pytest.raises(TypeError, match="needs a type"):
        cyclewatch.register_owner("Buffer", lambda _: None)
    with pytest.raises(TypeError, match="must be callable"):
        cyclewatch.register_owner(Buffer, {})


def test_owner_that_was_not_registered_cannot_be_forgotten():
    with pytest.raises(KeyError, match="was told nothing of Buffer"):
        cyclewatch.unregister_owner(Buffer)
    with pytest.raises(TypeError, match="needs a type, not 'Buffer'"):
        cyclewatch.unregister_owner("Buffer")


@pytest.mark.parametrize(
    ("reports", "said"),
    [
        (3, "takes a list of reports, not int"),
        ([3], "takes reports, not int"),
        ("abc", "takes reports, not str"),
        ([None], "takes reports, not None"),
    ],
)
def test_merging_what_is_no_report_is_told_in_one_sentence(reports, said):
    with pytest.raises(TypeError) as failure:
        cyclewatch.Report.merge(reports)
    assert str(failure.value) == f"Report.merge() {said}"


@pytest.mark.parametrize("names", [b"cpu", 3, ["cpu", 3]])
def test_devices_are_names(names):
    with pytest.raises(TypeError, match=r"devices takes .*not (b'cpu'|3)"):
        cyclewatch.watch(devices=names)


def test_registered_owner_can_be_forgotten_once():
    cyclewatch.register_owner(Buffer, lambda _: None)
    cyclewatch.unregister_owner(Buffer)
    with pytest.raises(KeyError):
        cyclewatch.unregister_owner(Buffer)
