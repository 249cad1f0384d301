# SPDX-License-Identifier: Apache-2.0
"""scan() and dead_bytes(): unreachable objects are found without a collection."""

import gc
import threading
import weakref

import pytest
from owners import Buffer, Node

import cyclewatch

pytestmark = pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")


def young_bytes():
    return cyclewatch.dead_bytes(generation=0, frozen=False).get("cpu", 0)


def test_report_says_how_much_of_what_scans_have_found_is_not_collected_yet():
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        for step in range(2):
            Node(Buffer(1000))
            watch.step(step)
        before = watch.report()
        gc.collect()
        after = watch.report()
        Node(Buffer(1000))
        watch.step(2)
        partly = watch.report()
        Node(Buffer(500))
        gc.collect()
        end = watch.report()
    uncollected = [report.findings[0].uncollected_bytes for report in (before, after, partly, end)]
    assert uncollected == [2000, None, 1000, None]
    assert "2 cycles, not collected yet" in before.to_text()
    assert "3 cycles, 1000 B not collected yet" in partly.to_text()
    assert "part of which no collection has freed yet" in partly.to_text()
    assert "collected yet" not in end.to_text()
    freeing = [each for each in end.collections if not each.scan]
    assert [each.released_bytes for each in freeing] == [2000, 1500]
    assert end.retained_bytes == 3500, "each storage counts once"


def test_scan_reports_a_cycle_and_frees_nothing():
    events = []

    class Finalized(Node):
        def __del__(self):
            events.append("finalized")

    node = Finalized(Buffer(1000))
    reference = weakref.ref(node, lambda _: events.append("gone"))
    del node
    report = cyclewatch.scan(generation=0, devices="cpu")
    (finding,) = report.findings
    assert (finding.collected, finding.retained_bytes) == ("not yet", 1000)
    assert "(not collected yet)" in finding.headline
    assert "not collected yet" in finding.to_text()
    assert report.collections[0].scan
    assert (report.stats.collections, report.stats.scans) == (0, 1)
    assert '"collected": "not yet"' in report.to_json()
    assert events == []
    assert reference() is not None


@pytest.mark.usefixtures("frozen_objects_are_listed")
def test_frozen_garbage_is_never_collected():
    node = Node(Buffer(2000))
    gc.freeze()
    del node
    gc.collect()
    (finding,) = cyclewatch.scan(generation=0, devices="cpu").findings
    assert finding.collected == "never"
    assert "frozen: no collection will free this" in finding.headline
    assert cyclewatch.dead_bytes(generation=0)["cpu"] == 2000
    assert young_bytes() == 0
    assert cyclewatch.scan(generation=0, frozen=False, devices="cpu").findings == []


def test_reachable_memory_is_not_dead():
    nodes = [Node(Buffer(10))]
    assert young_bytes() == 0
    nodes.clear()
    assert young_bytes() == 10
    gc.collect()
    assert young_bytes() == 0


def test_scan_does_not_change_the_allocation_count():
    def growth():
        before = gc.get_count()[0]
        cyclewatch.dead_bytes(generation=0)
        return gc.get_count()[0] - before

    growth()  # fills free lists
    assert growth() == 0


def test_reader_may_free_what_the_scan_found():
    frozen = Node(Buffer(7))
    gc.freeze()
    hidden = weakref.ref(frozen)
    del frozen
    Node(Buffer(5))

    def reader(buffer):
        if (node := hidden()) is not None:
            del node.me
        return buffer.facts

    cyclewatch.register_owner(Buffer, reader)
    assert cyclewatch.dead_bytes(generation=0)["cpu"] in (5, 12)


def test_reader_may_collect_during_a_scan():
    def reader(buffer):
        if buffer.facts["nbytes"] == 5:
            Node(Buffer(7))
            gc.collect()
        return buffer.facts

    for _ in range(10):
        Node(Buffer(5))
    with cyclewatch.watch(budget=1, devices="cpu", scan_every=1) as watch:
        cyclewatch.register_owner(Buffer, reader)
        watch.step(1)
    sizes = {finding.largest_bytes for finding in watch.report().findings}
    assert 7 in sizes


def test_last_watch_may_stop_while_a_reader_runs():
    called, stopped = threading.Event(), threading.Event()

    def reader(buffer):
        called.set()
        stopped.wait()
        return buffer.facts

    Node(Buffer(5))
    cyclewatch.register_owner(Buffer, reader)
    watch = cyclewatch.watch(budget=1, devices="cpu")
    thread = threading.Thread(target=gc.collect)
    thread.start()
    called.wait()
    watch.stop()
    stopped.set()
    thread.join()
    assert not watch.report().findings


@pytest.mark.parametrize(
    "arguments",
    [{"generation": 3}, {"generation": -1}, {"generation": "young"}, {"frozen": 1}],
)
def test_invalid_arguments_raise(arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=name):
        cyclewatch.scan(**arguments)
    with pytest.raises(ValueError, match=name):
        cyclewatch.dead_bytes(**arguments)


def leak_steps(watch, sizes, start=1):
    for step, nbytes in enumerate(sizes, start):
        if nbytes:
            Node(Buffer(nbytes))
        watch.step(step)


def test_step_reports_a_leak_while_collection_is_off(caplog):
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        leak_steps(watch, [0, 1000, 0, 500])
        report = watch.report()
        (finding,) = report.findings
        assert (finding.collected, finding.occurrences) == ("not yet", 2)
        assert finding.by_process[0].first_step == 2
        assert [(each.step, each.released_bytes) for each in report.collections] == [
            (2, 1000),
            (4, 500),
        ]
        assert all(each.scan for each in report.collections)
        assert report.stats.collections == 0
        gc.collect()
        report = watch.report()
    (finding,) = report.findings
    assert (finding.collected, finding.occurrences) == ("yes", 2)
    assert report.retained_bytes == 1500
    warnings = [each.message for each in caplog.records if "collection is off" in each.message]
    assert len(warnings) == 1
    assert "1000 B since step 2" in warnings[0]


def test_scan_without_every_step_says_that_the_leak_may_be_older(caplog):
    with cyclewatch.watch(devices="cpu", budget=1, scan_every=2) as watch:
        leak_steps(watch, [0, 0, 1000, 0])
    (warning,) = (each.message for each in caplog.records if "collection is off" in each.message)
    assert "1000 B since step 4 or an earlier one." in warning


def test_scan_of_another_thread_waits():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(cyclewatch.dead_bytes()))

    def read(buffer):
        if not thread.ident:
            thread.start()
            thread.join(0.1)  # without the lock, it would end here
        return buffer.facts

    Node(Buffer(1000))
    cyclewatch.unregister_owner(Buffer)
    cyclewatch.register_owner(Buffer, read)
    assert cyclewatch.dead_bytes() == {"cpu": 1000}
    thread.join()
    assert seen == [{"cpu": 1000}]


def test_collection_counts_what_no_scan_reported():
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        leak_steps(watch, [1000])
        Node(Buffer(300))
        gc.collect()
        report = watch.report()
    (finding,) = report.findings
    assert (finding.occurrences, report.retained_bytes) == (2, 1300)


@pytest.mark.usefixtures("frozen_objects_are_listed")
def test_step_reports_frozen_garbage(caplog):
    node = Node(Buffer(2000))
    gc.freeze()
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        leak_steps(watch, [0])
        assert watch.report().findings == []
        del node
        leak_steps(watch, [0, 0], start=2)
        (finding,) = watch.report().findings
        assert (finding.collected, finding.occurrences) == ("never", 1)
        gc.unfreeze()
        gc.collect()
        report = watch.report()
    (finding,) = report.findings
    assert (finding.collected, report.retained_bytes) == ("yes", 2000)
    assert sum("froze" in each.message for each in caplog.records) == 1


@pytest.mark.parametrize(("scan_every", "scans"), [(None, 0), (0, 0), (1, 4), (2, 2)])
def test_scan_every_forces_scans_while_collection_is_on(scan_every, scans):
    gc.unfreeze()  # frozen objects are scanned without scan_every
    gc.enable()
    with cyclewatch.watch(devices="cpu", budget=1, scan_every=scan_every) as watch:
        leak_steps(watch, [0, 0, 0, 0])
        assert watch.stats.scans == scans


def test_collection_is_off_if_the_threshold_is_zero(main_interpreter, caplog):
    if main_interpreter.free_threaded:
        pytest.skip("free-threaded builds do not read the threshold")
    thresholds = gc.get_threshold()
    gc.enable()
    gc.set_threshold(0)
    try:
        with cyclewatch.watch(devices="cpu", budget=1) as watch:
            leak_steps(watch, [1000])
    finally:
        gc.set_threshold(*thresholds)
    assert "collection is off" in caplog.text


def test_scan_every_forbids_scans_while_collection_is_off():
    with cyclewatch.watch(devices="cpu", budget=1, scan_every=0) as watch:
        leak_steps(watch, [1000, 1000])
        assert watch.report().findings == []


@pytest.mark.parametrize("scan_every", [-1, 1.5, "2"])
def test_invalid_scan_every_raises(scan_every):
    with pytest.raises((TypeError, ValueError), match="scan_every must be an integer from 0 to "):
        cyclewatch.watch(scan_every=scan_every)


class OtherNode:
    """Another finding."""

    def __init__(self, data):
        self.itself = self
        self.data = data


def test_findings_become_collected_one_by_one():
    nodes = [Node(Buffer(1000)), OtherNode(Buffer(300))]
    first = weakref.ref(nodes[0])
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        del nodes
        watch.step(1)
        first().me = None  # frees it without a collection
        assert first() is None
        watch.step(2)
        assert [finding.collected for finding in watch.report().findings] == ["yes", "not yet"]
        gc.collect()
        assert [finding.collected for finding in watch.report().findings] == ["yes", "yes"]


def test_finding_of_equal_cycles_is_collected_when_all_are_freed():
    nodes = [Node(Buffer(1000)) for _ in range(40)]
    references = [weakref.ref(node) for node in nodes]
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        nodes.clear()
        watch.step(1)
        for reference in references[1:]:
            reference().me = None
        watch.step(2)
        (finding,) = watch.report().findings
        assert (finding.occurrences, finding.collected) == (40, "not yet")
        references[0]().me = None
        watch.step(3)
        (finding,) = watch.report().findings
        assert finding.collected == "yes"


def test_memory_that_was_collected_in_part_is_not_called_uncollected():
    def leak():
        buffer = Buffer(1 << 20)
        buffer.me = buffer

    with cyclewatch.watch(devices="cpu") as watch:
        leak()
        gc.collect()
        leak()
        watch.step(1)
        report = watch.report()
        (finding,) = report.findings
        assert finding.collected == "not yet"
        assert "(1.0 MiB not collected yet)" in finding.headline
        assert "part of which no collection has freed yet" in report.to_text()


def closure_cycle(nbytes):
    buffer = Buffer(nbytes)

    def closure():
        return buffer, closure

    return closure


def test_scan_finds_a_cycle_through_a_function():
    before = young_bytes()
    closure_cycle(1000)
    assert young_bytes() - before == 1000


def test_scan_does_not_report_a_function_that_only_its_running_frame_holds():
    namespace = {"young_bytes": young_bytes, "found": []}
    text = "def function(before):\n    calls.pop()\n    found.append(young_bytes() - before)"
    exec(text, namespace)
    function = namespace.pop("function")
    function.kept = [Buffer(1000), function]
    namespace["calls"] = [function]
    del function
    namespace["calls"][0](young_bytes())
    assert namespace["found"] == [0]


def test_scan_does_not_report_a_function_that_only_a_suspended_generator_holds():
    def hold(functions):
        function = functions[0]
        yield
        assert function is not None

    before = young_bytes()
    functions = [closure_cycle(1000)]
    generator = hold(functions)
    next(generator)
    functions.clear()
    assert young_bytes() == before
    generator.close()
    del generator
    assert young_bytes() - before == 1000


@pytest.mark.parametrize(
    ("shape", "remedy"),
    [
        ("dict", "cut dict['self']"),
        ("list", "cut list[1]"),
        ("dict in dict", "cut dict['inner']"),
        ("attribute", "cut Cache.items['self']"),
    ],
)
def test_a_container_that_contains_itself_is_named_once(shape, remedy):
    def make():
        if shape == "list":
            items = [Buffer(100)]
            items.append(items)
        elif shape == "dict in dict":
            items = {"buffer": Buffer(100)}
            items["inner"] = {"outer": items}
        else:
            items = {"buffer": Buffer(100)}
            items["self"] = items
        return items

    class Cache:
        """Refers to a cycle, but is not part of it."""

    items = make()
    if shape == "attribute":
        cache = Cache()
        cache.items = items
        cache.me = cache  # unreachable together with the dict
        del cache
    del items
    findings = cyclewatch.scan(devices="cpu").findings
    found = {each.remedy for each in findings}
    assert any(each.endswith(remedy) for each in found), found
    [container] = [each for each in findings if each.remedy.endswith(remedy)]
    assert container.cut.holder_path == ("Cache.items" if shape == "attribute" else None)
