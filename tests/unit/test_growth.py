# SPDX-License-Identifier: Apache-2.0
"""Growth between censuses: census(), Census.diff(), and Report.growing of a watch."""

import collections
import ctypes
import functools
import logging
import queue
import re
import threading
import weakref

import owners
import pytest

import cyclewatch
from cyclewatch import _native

# Scans are off, because scanning the objects that frozen_heap() froze takes as long as a census.
SETTINGS = {"devices": "cpu", "budget": 1, "census_every": 1, "scan_every": 0}

kept = []
losses = []
evaluated = []
recent = []


def run(step, *, steps=6, **settings):
    """Call `step` repeatedly, and return the watch after the last census."""
    with cyclewatch.watch(**SETTINGS | settings) as watch:
        for number in range(steps):
            step(number)
            watch.step(number)
    return watch


@pytest.fixture(autouse=True)
def nothing_kept():
    yield
    kept.clear()


@pytest.fixture
def torch():
    yield pytest.importorskip("torch")
    for each in (losses, evaluated, recent):
        each.clear()


def growing_in(report, holder):
    """The owners that the report lists as growing and whose path contains `holder`."""
    return [each for each in report.growing if holder in each.held_by]


def test_growing_variable_is_deleted_only_if_it_is_not_needed(frozen_heap, buffers_are_owners):
    def concatenate():
        result = owners.Buffer(1)
        with cyclewatch.watch(**SETTINGS) as watch:
            for number in range(6):
                result = owners.Buffer(result.facts["nbytes"] + 1024)
                watch.step(number)
        return watch.report(), result

    report, _ = concatenate()
    [growing] = growing_in(report, "local result")
    assert growing.remedy.endswith("; if the program needs all of it, store less in it")


def test_chain_of_objects_is_cut_between_them(frozen_heap, buffers_are_owners):
    class Record:
        def __init__(self, number, history):
            self.number, self.history = owners.Buffer(1024), history

    def record(number):
        kept[:] = [*kept, Record(number, list(kept))][-2:]

    # Long paths are cut in the middle, so that deep links belong to one group.
    growing = run(record, steps=60, census_every=10).report().growing[0]
    assert re.match(r"clear `\.history` of each .*Record that is stored", growing.remedy)


# One run tests all of these cases, because a census is slow on the large heap that torch creates.
def test_tensors_that_grow_are_named_by_their_holder(torch, caplog):
    class Model:
        @functools.cache  # noqa: B019 - the mistake
        def encode(self, length):
            return torch.ones(100) * length

    layer, model = torch.nn.Linear(4, 1), Model()

    def train(number):
        losses.append(layer(torch.ones(2, 4)).sum())
        evaluated.append((torch.ones(10, requires_grad=True) * number).detach())
        model.encode(number)
        recent.append(torch.ones(7) * number)
        del recent[:-4]

    watch = run(train, steps=9)
    report = watch.report()

    loss, saved = sorted(growing_in(report, ".losses"), key=lambda each: each.nbytes)
    assert loss.held_by == f"module global {__name__}.losses -> losses[0]"
    assert saved.held_by.startswith(f"{loss.held_by}.grad_fn")
    assert (saved.shape, saved.count) == ((2, 4), 9)
    assert (loss.type, loss.shape, loss.dtype) == ("torch.Tensor", (), "float32")
    assert (loss.rate, loss.unit, loss.count, loss.nbytes) == (4, "step", 9, 36)
    assert loss.until_full > 1e6
    assert ", unless a loss is computed from it later, " in loss.remedy
    assert "remove it from `losses` after the backward() of that loss" in loss.remedy
    assert loss.census_bytes == [16, 20, 24, 28, 32, 36]
    (warning,) = caplog.records
    assert warning.levelno == logging.WARNING
    # The fastest growth.
    assert warning.message.startswith(
        "Tensor memory grows: +400 B per step: 6 x torch.Tensor [100] "
    )
    assert "3 other groups of tensors grow." in warning.message

    (detached,) = growing_in(report, ".evaluated")
    assert detached.held_by == f"module global {__name__}.evaluated -> evaluated[0]"
    assert detached.rate == 40

    (cached,) = [each for each in report.growing if each.shape == (100,)]
    assert cached.rate == 400
    assert "lru_cache" in cached.held_by or "encode" in cached.held_by

    assert growing_in(report, ".recent") == []
    assert [each.shape for each in report.growing if each.shape == (7,)] == []
    assert report.stats.skipped == {}


class Average:
    """A running average of losses that keeps the graph of each loss."""

    value = 0.0


def test_graph_that_grows_without_tensors_is_named_by_its_holder(torch):
    layer, average, detached = torch.nn.Linear(4, 1), Average(), Average()
    recent.extend((average, detached))

    def train(number):
        loss = layer(torch.ones(2, 4)).sum()
        loss.backward()
        average.value = 0.9 * average.value + 0.1 * loss
        detached.value = 0.9 * detached.value + 0.1 * loss.item()

    report = run(train, steps=12).report()
    [growing] = [each for each in report.growing if each.graph_nodes is not None]
    assert growing.held_by.endswith(".value")
    # Each step adds two multiplications, one addition and the graph of a loss, which has at least
    # two nodes.
    assert growing.graph_nodes_rate >= 5
    assert growing.graph_nodes >= 12 * 5
    assert growing.rate == 0
    assert ".detach()" in growing.remedy and ".item()" in growing.remedy
    assert "remove it from" not in growing.remedy
    assert ".Average from which the next step computes it" in growing.remedy
    assert "full in" not in str(growing)
    assert f"an autograd graph of {growing.graph_nodes} nodes" in str(growing)


def test_graphs_of_the_items_of_a_list_are_counted_together(torch):
    layer, losses = torch.nn.Linear(4, 1), []
    recent.append(losses)
    unexplained = torch.ones(3)  # what C code holds is searched for a second time
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(unexplained))
    reference = weakref.ref(unexplained)
    del unexplained

    def train(number):
        losses.append(layer(torch.ones(2, 4)).sum())

    report = run(train, steps=12).report()
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(reference()))
    [growing] = [each for each in report.growing if each.graph_nodes is not None]
    assert growing.count == 12
    # A sum, a layer and its transposed weight, and once the two parameters.
    assert growing.graph_nodes == 12 * 3 + 2


def test_graph_is_attributed_to_what_carries_it_to_the_next_step(torch):
    """Not to a variable that the next step assigns without reading it."""
    weight = torch.full((32,), 0.5, requires_grad=True)

    def recur():
        carried = {"state": torch.ones(32)}
        with cyclewatch.watch(**SETTINGS) as watch:
            for number in range(12):
                fresh = torch.tanh(carried["state"] * weight)
                carried["state"] = fresh
                watch.step(number)
        return watch.report()

    report = recur()
    assert growing_in(report, "local fresh") == []
    assert growing_in(report, "local carried")


def test_graph_is_attributed_to_the_variable_that_the_next_step_reads(torch):
    weight = torch.full((32,), 0.5, requires_grad=True)

    def recur():
        hidden = (torch.ones(32),)
        with cyclewatch.watch(**SETTINGS) as watch:
            for number in range(12):
                state = torch.tanh(hidden[0] * weight)
                output, hidden = torch.sin(state), (torch.cos(state),)
                watch.step(number)
            del output
        return watch.report()

    report = recur()
    growing = [each for each in report.growing if each.graph_nodes or "grad_fn" in each.held_by]
    assert growing
    assert [each.held_by for each in growing if "local hidden" not in each.held_by] == []


def test_objects_that_are_added_under_new_names_grow(frozen_heap, buffers_are_owners):
    layer = Average()

    def adapt(number):
        setattr(layer, f"adapter_{number}", owners.Buffer(1024))

    report = run(adapt).report()
    [growing] = growing_in(report, "layer.adapter_")
    assert growing.count == 6


def test_children_of_a_module_dict_grow(torch):
    layer = torch.nn.ModuleDict()

    def adapt(number):
        layer["abcdefgh"[number]] = torch.nn.Linear(512, 32, bias=False)

    report = run(adapt, steps=8).report()
    [growing] = growing_in(report, "layer[")
    assert growing.held_by.endswith("'].weight")
    assert growing.remedy.startswith("remove the items of `layer` that are no longer needed")
    assert "delete" not in growing.remedy  # an item needs its weight


class Buffer:
    """Owns memory."""


@pytest.fixture
def buffers():
    cyclewatch.register_owner(
        Buffer, lambda buffer: {"device": "cpu", "nbytes": 1000, "data_ptr": id(buffer)}
    )
    yield
    cyclewatch.unregister_owner(Buffer)


def keep(_):
    kept.append(Buffer())


def test_growth_needs_six_censuses(buffers, caplog):
    found = []
    with cyclewatch.watch(**SETTINGS) as watch:
        for number in range(8):
            keep(None)
            watch.step(number)
            found.append(len(watch.report().growing))
        assert found == [0, 0, 0, 0, 0, 1, 1, 1]
        del kept[1:]
        watch.step(8)
        assert watch.report().growing == []
    (warning,) = caplog.records  # logged once
    assert warning.message.startswith(
        f"Tensor memory grows: +1000 B per step: 6 x {__name__}.Buffer on cpu (5.9 KiB), held by "
        f"module global {__name__}.kept -> kept[0] (one of 6 such paths). "
    )
    assert warning.message.endswith(
        "remove the items of `kept` that are no longer needed; if the program needs all of it, "
        "store less in it."
    )


@pytest.mark.parametrize("most, grows", [(20, False), (1 << 50, True)])
def test_a_bounded_deque_grows_only_if_it_cannot_be_filled(buffers, caplog, most, grows):
    history = collections.deque(maxlen=most)
    with cyclewatch.watch(**SETTINGS) as watch:
        for number in range(8):
            history.append(Buffer())
            watch.step(number)
        growing = growing_in(watch.report(), "local history")
    assert bool(growing) == grows
    assert bool(caplog.records) == grows


def test_rate_is_per_step_even_if_the_program_counts_from_zero_again(buffers):
    found = []
    with cyclewatch.watch(**SETTINGS | {"census_every": 2}) as watch:
        for _ in range(12):
            keep(None)
            watch.step(0)
            found.append(len(watch.report().growing))
    assert found == [0] * 11 + [1]
    (growing,) = watch.report().growing
    assert (growing.rate, growing.count) == (1000, 12)


def test_no_census_by_default(buffers):
    report = run(keep, census_every=0).report()
    assert report.growing == []
    assert '"growing"' not in report.to_json()


def test_census_over_the_budget_is_skipped(buffers):
    report = run(keep, steps=400, budget=1e-9).report()
    skipped = report.stats.skipped["census: over budget"]
    assert 0 < skipped < 400
    assert f"Skipped {skipped} times: census: over budget." in report.to_text()


def test_small_groups_and_other_devices_are_ignored(buffers):
    assert run(keep, min_bytes=1 << 20).report().growing == []
    assert run(keep, devices="cuda").report().growing == []


def test_report_contains_what_grows(buffers, tmp_path):
    report = run(keep).report()
    text = report.to_text(width=200)
    assert "into the run:\n  +1000 B per step: 6 x " in text
    assert "\nGrows" in report.to_html()
    report.save(tmp_path / "report.json")
    for loaded in (
        cyclewatch.Report.load(tmp_path / "report.json"),
        cyclewatch.Report.merge([report]),
    ):
        assert [str(each) for each in loaded.growing] == [str(each) for each in report.growing]
        assert loaded.growing[0].process == 0


@pytest.mark.parametrize(
    ("census_every", "error"),
    [
        (-1, ValueError),
        (1 << 31, ValueError),
        (1.5, TypeError),
        ("2", TypeError),
        (None, TypeError),
        (True, TypeError),
    ],
)
def test_invalid_census_every_raises(census_every, error):
    with pytest.raises(error, match="census_every must be an integer from 0 to 2147483647, not"):
        cyclewatch.watch(census_every=census_every)


@pytest.mark.usefixtures("buffers_are_owners")
def test_growth_of_a_group():
    kept.append(owners.Buffer(100))
    before = cyclewatch.census()
    kept.extend([owners.Buffer(100), owners.Buffer(100)])
    after = cyclewatch.census()
    assert after.nbytes - before.nbytes == 200
    (growth,) = after.diff(before)
    assert (growth.nbytes, growth.count, growth.owner.count) == (200, 2, 3)
    assert str(growth) == (
        f"+200 B  2 x owners.Buffer, held by module global {__name__}.kept -> kept[0] "
        "(one of 3 such paths)"
    )
    assert repr(growth) == f"<Growth {growth}>"
    assert before.diff(after) == []
    assert after.diff(after) == []


@pytest.mark.usefixtures("buffers_are_owners")
@pytest.mark.parametrize("key", ["key {}", 'it\'s a "key"] \\ {}', "['x'] {}"])
@pytest.mark.parametrize("is_saved", [False, True])
def test_a_dict_that_becomes_large_grows_by_what_is_added(key, is_saved, tmp_path):
    kept.append({key.format(i): owners.Buffer(100) for i in range(64)})
    small = cyclewatch.census()
    kept[0][key.format(64)] = owners.Buffer(100)
    large = cyclewatch.census()
    if is_saved:
        small, large = (saved(each, tmp_path / "census.json") for each in (small, large))
    [growth] = large.diff(small)
    assert (growth.nbytes, growth.count) == (100, 1)
    assert growth.owner.path == f"module global {__name__}.kept -> kept[x][x]"
    assert str(growth).endswith(" (one of 65 such paths)")
    assert small.diff(large) == []


def saved(census, path):
    census.save(path)
    return cyclewatch.Census.load(path)


@pytest.mark.usefixtures("buffers_are_owners")
def test_keys_that_a_report_hides_are_not_compared():
    prefix = "".join(["lay", "er "])
    kept.append({f"{prefix}{i}": owners.Buffer(100) for i in range(3)})
    hidden = cyclewatch.Census(_native.live_owners(["cpu"], show_keys=False)[0])
    assert f"module global {__name__}.kept -> kept[x][<str>]" in {
        each.path for each in hidden.owners
    }
    kept[0][f"{prefix}3"] = owners.Buffer(100)
    shown = cyclewatch.census()
    [growth] = shown.diff(hidden)
    assert (growth.nbytes, growth.count) == (100, 1)
    assert hidden.diff(shown) == []


@pytest.mark.usefixtures("buffers_are_owners")
def test_keys_that_both_censuses_distinguish_are_compared():
    kept.append({"a": owners.Buffer(100), "b": owners.Buffer(100)})
    before = cyclewatch.census()
    kept[0] = {"b": owners.Buffer(100), "c": owners.Buffer(100)}
    [growth] = cyclewatch.census().diff(before)
    assert growth.nbytes == 100
    assert str(growth).endswith(".kept -> kept[0]['c']")


@pytest.mark.usefixtures("buffers_are_owners")
def test_new_groups_are_sorted_by_growth():
    before = cyclewatch.census()
    kept.extend([owners.Buffer(100), [owners.Buffer(300)]])
    assert [growth.nbytes for growth in cyclewatch.census().diff(before)] == [300, 100]


@pytest.mark.usefixtures("buffers_are_owners")
def test_census_does_not_keep_tensors_alive():
    kept.append(owners.Buffer(100))
    before = cyclewatch.census()
    kept.clear()
    after = cyclewatch.census()
    assert before.nbytes - after.nbytes == 100
    assert "groups" in repr(after)


@pytest.mark.usefixtures("buffers_are_owners")
def test_census_of_a_device():
    kept.append(owners.Buffer(100))
    assert cyclewatch.census(device="cuda:7").owners == []
    assert cyclewatch.census(device="cpu").nbytes >= 100


def test_diff_expects_a_census():
    with pytest.raises(TypeError, match="diff\\(\\) expects a Census, not list"):
        cyclewatch.census().diff([])


@pytest.mark.usefixtures("buffers_are_owners")
def test_a_saved_census_is_compared(tmp_path):
    kept.append(owners.Buffer(100, shape=(5, 5), dtype="float32"))
    before = cyclewatch.census()
    before.save(tmp_path / "before.json")
    kept.append(owners.Buffer(100, shape=(5, 5), dtype="float32"))
    after = cyclewatch.census()
    after.save(tmp_path / "after.json")
    loaded = cyclewatch.Census.load(tmp_path / "before.json")
    assert [str(each) for each in loaded.owners] == [str(each) for each in before.owners]
    assert loaded.nbytes == before.nbytes
    [expected] = after.diff(before)
    [growth] = cyclewatch.Census.load(tmp_path / "after.json").diff(loaded)
    assert str(growth) == str(expected)
    assert (growth.nbytes, growth.count) == (100, 1)
    assert after.diff(after) == []


@pytest.mark.usefixtures("buffers_are_owners")
def test_a_report_with_a_census_is_loaded(tmp_path):
    kept.append(owners.Buffer(100))
    census = cyclewatch.census()
    census.save(tmp_path / "saved.json")
    report = cyclewatch.Report.load(tmp_path / "saved.json")
    assert report.findings == []
    assert sum(each.nbytes for each in report.live_owners) == census.nbytes
    report.save(tmp_path / "saved.html")
    assert cyclewatch.Census.load(tmp_path / "saved.html").nbytes == census.nbytes


def test_a_report_without_a_census_is_refused(tmp_path):
    cyclewatch.scan(devices="cpu").save(tmp_path / "scan.json")
    with pytest.raises(ValueError, match=r"scan\.json does not list live tensors"):
        cyclewatch.Census.load(tmp_path / "scan.json")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(cyclewatch.ReportFormatError, match="not a cyclewatch report"):
        cyclewatch.Census.load(tmp_path / "other.json")


def test_items_that_a_thread_collects_are_removed_if_they_grow(frozen_heap, buffers_are_owners):
    class Log:
        def __init__(self):
            self.entries = []

        def add(self):
            self.entries.append(owners.Buffer(1024))

    requests, answers = queue.SimpleQueue(), queue.SimpleQueue()

    def serve():
        log = Log()
        while requests.get():
            log.add()
            answers.put(None)

    def ask(_):
        requests.put(True)
        answers.get()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        report = run(ask).report()
    finally:
        requests.put(False)
        thread.join()
    [growing] = growing_in(report, "log.entries")
    assert growing.remedy.startswith("remove the items of `log.entries` that are no longer needed")
