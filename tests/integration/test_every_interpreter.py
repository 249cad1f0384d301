# SPDX-License-Identifier: Apache-2.0
"""From a collection to a report, without torch, on every interpreter found."""

import json

BUFFERS = """
import gc, json, sys
import cyclewatch

class Buffer:
    def __init__(self, nbytes):
        self.nbytes = nbytes

class Node:
    def __init__(self, nbytes):
        self.buffer = Buffer(nbytes)
        self.peer = None

cyclewatch.register_owner(
    Buffer, lambda b: {"device": "cpu", "nbytes": b.nbytes, "data_ptr": id(b)}
)
gc.disable()
gc.collect()

def make_cycle(*sizes):
    nodes = [Node(size) for size in sizes]
    for left, right in zip(nodes, nodes[1:] + nodes[:1]):
        left.peer = right
"""


def report_of(interpreter, program):
    """What `program`, with the buffers above it, prints as its last line of JSON."""
    return json.loads(interpreter.run(BUFFERS + program).stdout.splitlines()[-1])


def test_equal_cycles_are_one_finding_with_a_count(interpreter):
    answer = report_of(
        interpreter,
        """
with cyclewatch.watch(devices=("cpu",)) as w:
    for _ in range(7):
        make_cycle(100, 20)
    collected = gc.collect()
report = w.report()
(finding,) = report.findings
print(json.dumps([
    collected, finding.occurrences, finding.retained_bytes, report.retained_bytes,
    finding.cut.label, w.stats.owners, w.stats.findings,
    sorted(owner.nbytes for owner in finding.owners),
]))
""",
    )
    # A node, its dict is inline or not, its buffer: the collector counts what it can reach.
    assert answer[1:] == [7, 7 * 120, 7 * 120, ".peer", 14, 1, [20, 100]]
    assert answer[0] >= 7 * 4


def test_the_watch_changes_nothing_the_collector_says(interpreter):
    program = """
def round():
    make_cycle(1, 2, 3)
    make_cycle(4)
    return gc.collect(), gc.collect(), len(gc.garbage), gc.get_debug()

cyclewatch.watch(devices=("cpu",)).stop()
gc.collect()  # what its modules left: their code, on free-threaded builds
without = [round() for _ in range(3)]
with cyclewatch.watch(devices=("cpu",)):
    during = [round() for _ in range(3)]
print(json.dumps(without == during))
"""
    assert report_of(interpreter, program) is True


def test_buffer_of_an_older_generation_dies_with_the_cycle_and_is_reported(interpreter):
    answer = report_of(
        interpreter,
        """
old = Buffer(4096)
gc.collect()
with cyclewatch.watch(devices=("cpu",)) as w:
    node = Node(1)
    node.peer = node
    node.extra = old
    del old, node
    gc.collect(0)
print(json.dumps([w.report().retained_bytes, len(w.report().findings)]))
""",
    )
    assert answer == [4097, 1]


def test_buffer_that_lives_on_is_not_reported(interpreter):
    answer = report_of(
        interpreter,
        """
alive = Buffer(4096)
with cyclewatch.watch(devices=("cpu",)) as w:
    node = Node(1)
    node.peer = node
    node.extra = alive
    del node
    gc.collect()
print(json.dumps([w.report().retained_bytes, len(w.report().findings)]))
""",
    )
    assert answer == [1, 1]


def test_attributes_have_names_whether_their_dict_was_asked_for_or_not(interpreter):
    answer = report_of(
        interpreter,
        """
with cyclewatch.watch(devices=("cpu",)) as w:
    for asked in (False, True):
        node = Node(1)
        node.peer = [node]
        if asked:
            vars(node)
        del node
        gc.collect()
print(json.dumps([finding.title for finding in w.report().findings]))
""",
    )
    assert answer == ["Node.peer -> [0] -> Node"]


def test_report_of_one_interpreter_is_read_by_another(interpreter, main_interpreter, tmp_path):
    path = tmp_path / "report.json"
    interpreter.run(
        BUFFERS
        + """
with cyclewatch.watch(devices=("cpu",)) as w:
    make_cycle(10, 20)
    gc.collect()
w.report().save(sys.argv[1])
""",
        path,
    )
    answer = main_interpreter.run(
        """
import sys, cyclewatch
report = cyclewatch.Report.load(sys.argv[1])
print(report.findings[0].retained_bytes, report.to_json() == open(sys.argv[1]).read())
""",
        path,
    )
    assert answer.stdout.split() == ["30", "True"]
