# SPDX-License-Identifier: Apache-2.0
"""Arguments, budget and callbacks of watches; readers, devices and resurrection of owners."""

import asyncio
import gc
import sys
import time
import warnings

import pytest
from owners import Buffer, Node

import cyclewatch

pytestmark = pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")


def our_callbacks():
    return [callback for callback in gc.callbacks if "cyclewatch" in repr(callback)]


def test_watches_of_different_devices_share_one_callback():
    with (
        cyclewatch.watch(budget=1, devices="cpu") as on_cpu,
        cyclewatch.watch(budget=1, devices=("cuda:1",)) as on_second_gpu,
        cyclewatch.watch(budget=1, devices="all") as on_all,
    ):
        assert len(our_callbacks()) == 1
        Node(Buffer(10), Buffer(200, "cuda:1"), Buffer(3000, "cuda:0"))
        gc.collect()
        assert on_cpu.report().retained_bytes == 10
        assert on_second_gpu.report().retained_bytes == 200
        assert on_all.report().retained_bytes == 3210
        on_cpu.stop()
        assert len(our_callbacks()) == 1
    assert our_callbacks() == []


def test_stopped_watch_sees_no_later_collection():
    with cyclewatch.watch(budget=1, devices="cpu") as stays:
        stopped = cyclewatch.watch(budget=1, devices="cpu")
        stopped()
        Node(Buffer(10))
        gc.collect()
        assert stays.report().retained_bytes == 10
    assert stopped.report().retained_bytes == 0
    assert stopped.stats.collections == 0


@pytest.mark.parametrize(
    ("reader", "reason"),
    [
        (lambda buffer: "rubbish", "not a dict"),
        (lambda buffer: {}, '"device"'),
        (lambda buffer: {"device": 3, "nbytes": 1}, '"device"'),
        (lambda buffer: {"device": "cpu", "nbytes": "many"}, '"nbytes"'),
        (lambda buffer: {"device": "cpu", "nbytes": -1}, '"nbytes"'),
        (lambda buffer: {"device": "cpu", "nbytes": 2**64}, '"nbytes"'),
        # The sum of two such sizes would overflow.
        (lambda buffer: {"device": "cpu", "nbytes": 2**63, "data_ptr": id(buffer)}, "above 2**48"),
    ],
)
def test_invalid_answer_of_a_reader_is_counted_and_told_once(monkeypatch, reader, reason):
    class Unreadable:
        pass

    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(str(args.exc_value)))
    cyclewatch.register_owner(Unreadable, reader)
    with cyclewatch.watch(budget=1, devices="cpu") as watch:
        for _ in range(2):
            Node(Unreadable(), Buffer(10))
            gc.collect()
        report = watch.report()
    cyclewatch.unregister_owner(Unreadable)
    assert report.retained_bytes == 20
    assert report.stats.owners == 2
    assert sum(watch.stats.skipped.values()) == 2
    (sentence,) = told
    assert "Unreadable" in sentence
    assert reason in sentence
    assert gc.garbage == []


def test_reader_may_return_none():
    class Empty:
        pass

    cyclewatch.register_owner(Empty, lambda empty: None)
    with cyclewatch.watch(budget=1, devices="cpu") as watch:
        Node(Empty())
        gc.collect()
        assert watch.stats.owners == 0
        assert watch.stats.skipped == {}
    cyclewatch.unregister_owner(Empty)


def test_reader_of_the_nearest_base_class_is_used():
    class Large(Buffer):
        pass

    class Larger(Large):
        pass

    cyclewatch.register_owner(
        Large, lambda large: {"device": "cpu", "nbytes": 5000, "data_ptr": id(large)}
    )
    with cyclewatch.watch(budget=1, devices="cpu") as watch:
        Node(Larger(1))
        gc.collect()
        assert watch.report().retained_bytes == 5000
    cyclewatch.unregister_owner(Large)


def test_shape_and_dtype_of_the_reader():
    class Shaped:
        pass

    cyclewatch.register_owner(
        Shaped,
        lambda owner: {
            "device": "cuda:0",
            "nbytes": 48,
            "data_ptr": 1,
            "shape": (3, 4),
            "dtype": "float32",
        },
    )
    with cyclewatch.watch(budget=1, devices="cuda") as watch:
        Node(Shaped())
        gc.collect()
        ((owner,),) = [finding.owners for finding in watch.report().findings]
    cyclewatch.unregister_owner(Shaped)
    assert owner.type.endswith("Shaped")
    assert (owner.device, owner.nbytes, owner.shape, owner.dtype) == (
        "cuda:0",
        48,
        (3, 4),
        "float32",
    )


def test_long_names_are_truncated():
    name = "\u00e9" * 100_000
    kind = type(name, (Node,), {"__module__": name})
    node = kind()
    node.self = node
    node.held = Buffer(10)
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        del node, kind
        gc.collect()
        (finding,) = watch.report().findings
    assert finding.retained_bytes == 10
    assert len(finding.cut.holder) == 2 * 4096 + len(".")


def test_equal_pointers_on_two_devices_are_two_storages():
    class Twin:
        def __init__(self, device):
            self.device = device

    cyclewatch.register_owner(
        Twin, lambda twin: {"device": twin.device, "nbytes": 7, "data_ptr": 0x1000}
    )
    with cyclewatch.watch(budget=1, devices="all") as watch:
        Node(Twin("cuda:0"), Twin("cuda:0"), Twin("cuda:1"))
        gc.collect()
        assert watch.report().retained_bytes == 14
        assert watch.stats.owners == 3
    cyclewatch.unregister_owner(Twin)


def test_removed_callback_is_restored_and_noted(caplog):
    with cyclewatch.watch(budget=1, devices="cpu") as watch:
        theirs = list(gc.callbacks)
        gc.callbacks.clear()
        Node(Buffer(10))
        gc.collect()
        assert watch.report().retained_bytes == 0
        # report() restored the callback.
        assert len(our_callbacks()) == 1
        gc.callbacks.extend(callback for callback in theirs if callback not in gc.callbacks)
        Node(Buffer(200))
        gc.collect()
        report = watch.report()
    assert report.retained_bytes == 200
    assert any("gc.callbacks" in note for note in report.notes)
    assert any("gc.callbacks" in record.getMessage() for record in caplog.records)


def test_suspended_generator_is_reported():
    def suspend():
        def generate():
            held = Buffer(4096)
            me = [generator]
            yield held, me

        generator = generate()
        next(generator)

    gc.collect()
    suspend()
    # The finalizer breaks the cycle before the collector counts objects, so that the collector
    # counts none, except on 3.13.0 and on free-threaded builds.
    counted = gc.collect()
    with cyclewatch.watch(budget=1, devices="cpu") as watch:
        suspend()
        assert gc.collect() == counted
        (finding,) = watch.report().findings
    assert finding.retained_bytes == 4096
    assert any("generate" in step.holder for step in finding.cycle)


def test_resurrected_owner_is_reported_when_it_is_freed():
    saved = []

    class Saves(Node):
        def __del__(self):
            saved.append(self.held)

    def make():
        node = Saves()
        node.self = node
        node.held = Buffer(10)

    with cyclewatch.watch(budget=1, devices="cpu") as watch:
        make()
        gc.collect()
        assert len(saved) == 1
        assert watch.stats.owners == 0
        assert watch.report().retained_bytes == 0
        Node(saved.pop())
        gc.collect()
        assert watch.report().retained_bytes == 10


def test_resurrected_owner_that_no_later_collection_finds():
    saved = []

    class Saves(Node):
        def __del__(self):
            saved.append(self)

    with cyclewatch.watch(budget=1, devices="cpu") as watch:
        watch.step(7)
        Saves(Buffer(10))
        gc.collect()
        watch.step(8)
        assert watch.report().findings == []
        saved.pop().me = None  # freed by its reference count
        report = watch.report()
        gc.collect()
        assert watch.report().retained_bytes == 10
    (finding,) = report.findings
    assert (finding.retained_bytes, finding.collections, finding.collected) == (10, 1, "yes")
    (collection,) = report.collections
    assert (collection.step, collection.number) == (7, finding.first_collection)
    assert collection.note.startswith("a finalizer resurrected these objects")
    assert sum(each.freed_bytes for each in report.generations) == 10


def test_abandoned_asynchronous_generators_are_reported():
    class Request:
        stream = None

    async def generate(request):
        cache = Buffer(4096)
        for _ in range(10):
            await asyncio.sleep(0)
            yield request, cache

    async def abandon():
        request = Request()
        request.stream = generate(request)
        async for _ in request.stream:
            break

    async def main():
        for _ in range(3):
            await abandon()
        gc.collect()  # the event loop resurrects the generators, to close them
        for _ in range(4):
            await asyncio.sleep(0)

    with cyclewatch.watch(budget=1, devices="cpu") as watch:
        asyncio.run(main())
    (finding,) = watch.report().findings
    assert (finding.occurrences, finding.retained_bytes) == (3, 3 * 4096)
    assert "aclose()" in finding.advice


def test_findings_below_min_bytes_are_counted_as_skipped():
    with cyclewatch.watch(budget=1, devices="cpu", min_bytes=100) as watch:
        Node(Buffer(99))
        gc.collect()
        assert watch.report().findings == []
        assert sum(watch.stats.skipped.values()) == 1
        Node(Buffer(100))
        gc.collect()
        assert [finding.retained_bytes for finding in watch.report().findings] == [100]


def test_report_is_a_snapshot():
    with cyclewatch.watch(budget=1, devices="cpu") as watch:
        Node(Buffer(10))
        gc.collect()
        early = watch.report()
        Node(Buffer(10))
        gc.collect()
        assert early.findings[0].occurrences == 1
        assert watch.report().findings[0].occurrences == 2


class Unregistered:
    """A type without a reader."""


INVALID_OPTIONS = [
    ({"devices": ("cpu", "toaster")}, ValueError, "toaster.*auto.*cuda|toaster.*cuda.*auto"),
    ({"devices": ("cpu", 3)}, TypeError, "devices.* 3"),
    ({"devices": b"cpu"}, TypeError, "devices.*b'cpu'"),
    ({"devices": 3}, TypeError, "devices.* 3"),
    ({"budget": 0}, ValueError, "budget"),
    ({"budget": 1.01}, ValueError, "budget"),
    ({"budget": float("nan")}, ValueError, "budget"),
    ({"min_bytes": -1}, ValueError, "min_bytes"),
    ({"capture_values": "yes"}, ValueError, "capture_values"),
    ({"capture_values": None}, ValueError, "capture_values"),
    ({"source_lines": "no"}, ValueError, "source_lines.*'no'"),
]


@pytest.mark.parametrize("start", [cyclewatch.warn_tensor_cycles, cyclewatch.watch])
@pytest.mark.parametrize(("options", "error", "message"), INVALID_OPTIONS)
def test_invalid_options_of_a_watch(start, options, error, message):
    with pytest.raises(error, match=message):
        start(**options)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: cyclewatch.warn_tensor_cycles(formats=("html", "pdf")),
            ValueError,
            "'pdf'.* text, json, dot, svg, html",
        ),
        (lambda: cyclewatch.warn_tensor_cycles(report_dir="a\0b"), ValueError, "report_dir"),
        (lambda: cyclewatch.observe_tensor_cycles("print"), TypeError, "callback.*callable.*str"),
        (lambda: cyclewatch.register_owner("Buffer", len), TypeError, "type"),
        (lambda: cyclewatch.register_owner(Unregistered, {}), TypeError, "callable"),
        (lambda: cyclewatch.unregister_owner(Unregistered), KeyError, "Unregistered"),
        (lambda: cyclewatch.unregister_owner("Buffer"), TypeError, "type.*'Buffer'"),
        (lambda: cyclewatch.Report.merge(3), TypeError, r"Report\.merge\(\).*int"),
        (lambda: cyclewatch.Report.merge([3]), TypeError, r"Report\.merge\(\).*int"),
        (lambda: cyclewatch.Report.merge("abc"), TypeError, r"Report\.merge\(\).*str"),
        (lambda: cyclewatch.Report.merge([None]), TypeError, r"Report\.merge\(\).*None"),
        (lambda: cyclewatch.Report.merge([]), ValueError, "merge"),
        (lambda: cyclewatch.Report.load(0), TypeError, None),  # not a file descriptor
    ],
)
def test_invalid_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_stop_is_idempotent():
    watch = cyclewatch.watch(budget=1, devices="cpu")
    assert watch.active
    watch()
    assert not watch.active
    watch.stop()
    assert not watch.active


def test_stats_are_attributes_and_a_mapping():
    with cyclewatch.watch(budget=1, devices=("cpu",)) as watch:
        stats = watch.stats
    assert stats["collections"] == stats.collections
    assert dict(stats).keys() == set(stats)
    with pytest.raises(KeyError, match="unknown_name"):
        stats["unknown_name"]


NOT_SEARCHED = "collections not searched for tensors: over budget"


class SlowBuffer(Node):
    """An owner whose first read takes longer than the budget allows."""


@pytest.fixture
def slow_reader():
    """Register SlowBuffer."""
    slow = iter([True])

    def read(buffer):
        if next(slow, False):
            began = time.perf_counter()
            while time.perf_counter() - began < 0.5:
                pass
        return {"device": "cpu", "nbytes": 64, "data_ptr": id(buffer)}

    cyclewatch.register_owner(SlowBuffer, read)
    yield
    cyclewatch.unregister_owner(SlowBuffer)


def report_of_two_leaks(budget):
    with cyclewatch.watch(devices="cpu", budget=budget) as watch:
        for _ in range(2):
            SlowBuffer()
            gc.collect(0)
        return watch.report()


@pytest.mark.usefixtures("slow_reader")
def test_collections_over_budget_are_not_searched():
    report = report_of_two_leaks(1e-6)
    (finding,) = report.findings
    assert finding.occurrences == report.stats.owners == 1
    assert report.stats.skipped == {NOT_SEARCHED: 1}
    assert report.stats.unreachable >= 2  # includes objects that the report does not list
    assert "At least 1 reference cycle kept at least 64 B" in report.to_text()


@pytest.mark.usefixtures("slow_reader")
def test_a_budget_of_one_is_no_limit():
    report = report_of_two_leaks(1.0)
    assert report.findings[0].occurrences == 2
    assert report.stats.skipped == {}


def warnings_of(repeat, cycles, tmp_path, caplog):
    """Which of the collections, each of one cycle, led to a warning, and the messages."""
    warned, messages = [], []
    watch = cyclewatch.warn_tensor_cycles(
        devices="cpu", budget=1, repeat=repeat, formats=(), report_dir=tmp_path, oom=False
    )
    with watch:
        for number in range(1, cycles + 1):
            watch.step(number)
            caplog.clear()
            with warnings.catch_warnings(record=True) as issued:
                warnings.simplefilter("always")
                Node(Buffer(1024))
                gc.collect()
            if issued:
                warned.append(number)
                messages.append((str(issued[0].message), caplog.messages))
    return warned, messages


def test_known_finding_warns_again_when_its_size_has_doubled(tmp_path, caplog):
    warned, messages = warnings_of("new", 9, tmp_path, caplog)
    assert warned == [1, 2, 4, 8]
    message, logged = messages[-1]
    assert message.startswith("again: 8.0 KiB in 8 cycles since step 1; cut ")
    (line,) = logged
    assert line.startswith(f"cyclewatch: {message} [cw1-")
    assert not messages[0][0].startswith("again")


def test_known_finding_warns_in_each_collection(tmp_path, caplog):
    warned, messages = warnings_of("each", 4, tmp_path, caplog)
    assert warned == [1, 2, 3, 4]
    assert messages[2][0].startswith("again: 3.0 KiB in 3 cycles since step 1")


def test_ignored_finding_never_warns_again(tmp_path, caplog):
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        Node(Buffer(1024))
        gc.collect()
    [finding] = watch.report().findings
    cyclewatch.ignore(signature=finding.signature, reason="test")
    try:
        assert warnings_of("each", 2, tmp_path, caplog)[0] == []
    finally:
        cyclewatch._native.configure([], [])


def test_only_the_selected_steps_are_observed():
    every = cyclewatch.watch(devices="cpu", budget=1)
    with every, cyclewatch.watch(devices="cpu", budget=1, steps=(2, 3)) as watch:
        Node(Buffer(1))
        gc.collect()
        for step in range(6):
            watch.step(step)
            Node(Buffer(1 << step))
            gc.collect()
        assert [each.step for each in watch.report().collections] == [2, 3]
        assert watch.report().retained_bytes == 4 + 8
        assert watch.stats.collections == 2
        assert every.report().retained_bytes == 1 + 63
        watch.step(2)
        Node(Buffer(100))
        gc.collect()
        assert watch.report().retained_bytes == 4 + 8 + 100


@pytest.mark.parametrize("exit_scan", [True, False])
def test_the_last_of_the_selected_steps_ends_with_a_scan(tmp_path, exit_scan):
    with cyclewatch.warn_tensor_cycles(
        devices="cpu", steps=(2, 3), scan_every=0, report_dir=tmp_path, exit_scan=exit_scan
    ) as watch:
        for step in range(6):
            watch.step(step)
            if step in (2, 3):
                Node(Buffer(1 << step))
        report = watch.report()
    assert report.retained_bytes == (4 + 8 if exit_scan else 0)
    assert watch.stats.scans == int(exit_scan)
    left = "or were not collected in them" in watch.report().processes[0].unexamined
    assert left == (not exit_scan)


def test_report_says_that_no_selected_step_was_reached():
    with cyclewatch.watch(devices="cpu", steps=(2, 3)) as watch:
        watch.step(1)
    assert "reached none of the steps" in watch.report().processes[0].unexamined


def test_no_scan_and_no_census_in_other_steps():
    with cyclewatch.watch(
        devices="cpu", budget=1, steps=(1, 1), scan_every=1, census_every=1
    ) as watch:
        Node(Buffer(1))
        live = Buffer(7)
        watch.step(0)
        assert (watch.stats.scans, watch.report().live_owners) == (0, [])
        watch.step(1)
        assert watch.stats.scans == 1
        assert watch.report().live_owners[0].nbytes == live.facts["nbytes"]


def test_collect_at_sets_the_step_of_watches():
    with (
        cyclewatch.watch(devices="cpu", budget=1, steps=(4, 4)) as watch,
        cyclewatch.collect_at(every=2) as collector,
    ):
        for step in range(1, 7):
            Node(Buffer(step))
            collector.run(step)
        assert [each.step for each in watch.report().collections] == [4]
        assert watch.report().retained_bytes == 3 + 4


@pytest.mark.parametrize("steps", [5, (1,), (1, 2, 3), (-1, 2), (3, 2), ("a", "b"), (1.5, 2)])
def test_invalid_steps(steps):
    with pytest.raises((TypeError, ValueError), match="step"):
        cyclewatch.watch(steps=steps)


def test_invalid_repeat():
    with pytest.raises(ValueError, match="new, each"):
        cyclewatch.warn_tensor_cycles(repeat="always")
