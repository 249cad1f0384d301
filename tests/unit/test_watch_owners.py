# SPDX-License-Identifier: Apache-2.0
"""What a watch counts, and what it makes of readers, threads, generators and saved objects."""

import gc
import itertools
import logging
import threading
import weakref

import pytest

import cyclewatch


class Buffer:
    """Owns memory of the CPU, or of the device it names."""

    def __init__(self, nbytes, device="cpu"):
        self.nbytes = nbytes
        self.device = device


class Node:
    """What cycles are made of."""


def read_buffer(buffer):
    return {"device": buffer.device, "nbytes": buffer.nbytes, "data_ptr": id(buffer)}


@pytest.fixture(autouse=True)
def quiet_collector():
    """Collections run when a test says so; buffers are known while it runs."""
    cyclewatch.register_owner(Buffer, read_buffer)
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    cyclewatch.unregister_owner(Buffer)


def make_cycle(*held):
    node = Node()
    node.self = node
    node.held = held


def our_callbacks():
    return [callback for callback in gc.callbacks if "cyclewatch" in repr(callback)]


def test_one_hook_serves_several_watches_each_with_its_devices():
    # GIVEN three watches of different devices
    with (
        cyclewatch.watch(devices="cpu") as on_cpu,
        cyclewatch.watch(devices=("cuda:1",)) as on_second_gpu,
        cyclewatch.watch(devices="all") as on_all,
    ):
        assert len(our_callbacks()) == 1
        # WHEN a cycle dies that held memory of two of them
        make_cycle(Buffer(10), Buffer(200, "cuda:1"), Buffer(3000, "cuda:0"))
        gc.collect()
        # THEN each counts its own
        assert on_cpu.report().retained_bytes == 10
        assert on_second_gpu.report().retained_bytes == 200
        assert on_all.report().retained_bytes == 3210
        on_cpu.stop()
        assert len(our_callbacks()) == 1
    assert our_callbacks() == []


def test_stopped_watch_sees_no_more_and_the_others_do():
    with cyclewatch.watch(devices="cpu") as stays:
        stopped = cyclewatch.watch(devices="cpu")
        stopped()
        make_cycle(Buffer(10))
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
        # Two such would be counted as none.
        (lambda buffer: {"device": "cpu", "nbytes": 2**63, "data_ptr": id(buffer)}, "above 2**48"),
    ],
)
def test_owner_whose_reading_is_unusable_is_skipped_counted_and_logged_once(caplog, reader, reason):
    class Unreadable:
        pass

    cyclewatch.register_owner(Unreadable, reader)
    with cyclewatch.watch(devices="cpu") as watch:
        for _ in range(2):
            make_cycle(Unreadable(), Buffer(10))
            gc.collect()
        report = watch.report()
    cyclewatch.unregister_owner(Unreadable)
    assert report.retained_bytes == 20
    assert report.stats.owners == 2
    assert sum(watch.stats.skipped.values()) == 2
    (record,) = [record for record in caplog.records if record.name == "cyclewatch"]
    assert record.levelno == logging.WARNING
    assert "Unreadable" in record.getMessage()
    assert reason in record.getMessage()
    assert gc.garbage == []


def test_reader_that_says_none_names_no_owner():
    class Empty:
        pass

    cyclewatch.register_owner(Empty, lambda empty: None)
    with cyclewatch.watch(devices="cpu") as watch:
        make_cycle(Empty())
        gc.collect()
        assert watch.stats.owners == 0
        assert watch.stats.skipped == {}
    cyclewatch.unregister_owner(Empty)


def test_reader_of_a_class_reads_its_subclasses_and_the_nearest_wins():
    class Large(Buffer):
        pass

    class Larger(Large):
        pass

    cyclewatch.register_owner(
        Large, lambda large: {"device": "cpu", "nbytes": 5000, "data_ptr": id(large)}
    )
    with cyclewatch.watch(devices="cpu") as watch:
        make_cycle(Larger(1))
        gc.collect()
        assert watch.report().retained_bytes == 5000
    cyclewatch.unregister_owner(Large)


def test_owner_tells_shape_and_dtype_as_its_reader_does():
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
    with cyclewatch.watch(devices="cuda") as watch:
        make_cycle(Shaped())
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


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        (itertools.repeat(7), (7,) * 64),
        ("two by two", ("two by two",)),
        ("long" * 1000, ("long" * 250 + "...",)),
        (range(2, 4), (2, 3)),
        (12, ("12",)),
    ],
    ids=["endless", "text", "long text", "range", "number"],
)
def test_shape_of_any_kind_is_read_as_far_as_is_useful(shape, told):
    cyclewatch.register_owner(Buffer, lambda buffer: {**read_buffer(buffer), "shape": shape})
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        make_cycle(Buffer(10))
        gc.collect()
        ((owner,),) = [finding.owners for finding in watch.report().findings]
    assert owner.shape == told


@pytest.mark.parametrize("letter", ["n", "\u00e9", "\U0001f40d"], ids=["ascii", "latin", "snake"])
def test_of_names_without_measure_the_beginning_is_told(letter):
    name = letter * 100_000
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
    with cyclewatch.watch(devices="all") as watch:
        make_cycle(Twin("cuda:0"), Twin("cuda:0"), Twin("cuda:1"))
        gc.collect()
        assert watch.report().retained_bytes == 14
        assert watch.stats.owners == 3
    cyclewatch.unregister_owner(Twin)


def test_hook_that_the_program_removed_is_put_back_and_the_gap_told(caplog):
    with cyclewatch.watch(devices="cpu") as watch:
        theirs = list(gc.callbacks)
        gc.callbacks.clear()
        make_cycle(Buffer(10))
        gc.collect()
        assert watch.report().retained_bytes == 0
        # Asking for the report put the hook back.
        assert len(our_callbacks()) == 1
        gc.callbacks.extend(callback for callback in theirs if callback not in gc.callbacks)
        make_cycle(Buffer(200))
        gc.collect()
        report = watch.report()
    assert report.retained_bytes == 200
    assert any("gc.callbacks" in note for note in report.notes)
    assert any("gc.callbacks" in record.getMessage() for record in caplog.records)


def test_collection_on_another_thread_is_seen():
    with cyclewatch.watch(devices="cpu") as watch:
        make_cycle(Buffer(10))
        thread = threading.Thread(target=gc.collect)
        thread.start()
        thread.join()
        assert watch.report().retained_bytes == 10


def test_garbage_of_a_suspended_generator_is_reported_although_the_collector_may_count_none():
    def suspend():
        def generate():
            held = Buffer(4096)
            me = [generator]
            yield held, me

        generator = generate()
        next(generator)

    gc.collect()
    suspend()
    # Its finalizer opens the cycle before the collector counts what is left of it: nothing, but on
    # 3.13.0 and on free-threaded builds.
    counted = gc.collect()
    with cyclewatch.watch(devices="cpu") as watch:
        suspend()
        assert gc.collect() == counted
        (finding,) = watch.report().findings
    assert finding.retained_bytes == 4096
    assert any("generate" in step.holder for step in finding.cycle)


def test_owner_that_a_finalizer_saved_is_not_reported_until_it_dies():
    saved = []

    class Saves(Node):
        def __del__(self):
            saved.append(self.held)

    def make():
        node = Saves()
        node.self = node
        node.held = Buffer(10)

    with cyclewatch.watch(devices="cpu") as watch:
        make()
        gc.collect()
        assert len(saved) == 1
        assert watch.stats.owners == 0
        assert watch.report().retained_bytes == 0
        make_cycle(saved.pop())
        gc.collect()
        assert watch.report().retained_bytes == 10


def test_findings_below_min_bytes_are_kept_out_and_counted():
    with cyclewatch.watch(devices="cpu", min_bytes=100) as watch:
        make_cycle(Buffer(99))
        gc.collect()
        assert watch.report().findings == []
        assert sum(watch.stats.skipped.values()) == 1
        make_cycle(Buffer(100))
        gc.collect()
        assert [finding.retained_bytes for finding in watch.report().findings] == [100]


def test_weakref_and_finalizer_of_the_program_run_as_ever():
    gone = []
    with cyclewatch.watch(devices="cpu") as watch:
        node = Node()
        node.self = node
        node.held = Buffer(10)
        weakref.finalize(node, gone.append, "finalized")
        reference = weakref.ref(node.held, lambda _: gone.append("callback"))
        del node
        gc.collect()
        assert watch.stats.owners == 1
    assert reference() is None
    assert sorted(gone) == ["callback", "finalized"]


def test_report_of_one_watch_does_not_change_later():
    with cyclewatch.watch(devices="cpu") as watch:
        make_cycle(Buffer(10))
        gc.collect()
        early = watch.report()
        make_cycle(Buffer(10))
        gc.collect()
        assert early.findings[0].occurrences == 1
        assert watch.report().findings[0].occurrences == 2
