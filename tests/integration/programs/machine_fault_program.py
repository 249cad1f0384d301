# SPDX-License-Identifier: Apache-2.0
"""Makes findings while the machine fails it: machine_fault_program.py ACT FOLDER."""

import gc
import json
import os
import shutil
import sys

import cyclewatch


class Owner:
    """Says it owns memory, and is a cycle of its own."""

    def __init__(self):
        self.me = self


cyclewatch.register_owner(
    Owner, lambda one: {"device": "cpu", "nbytes": 1 << 20, "data_ptr": id(one)}
)


def make_finding(number):
    """One cycle of a kind that was not seen before."""
    owner = Owner()
    owner.__dict__ = {f"cycle_{number}_": owner}  # not the number last: that would be a series
    del owner
    gc.collect()


def watch_in(folder, *formats):
    return cyclewatch.warn_tensor_cycles(
        devices="cpu", report_dir=folder, formats=formats or ("json",), budget=1
    )


def folder_gone(folder):
    """The folder of the report is taken away while the program runs."""
    inner = os.path.join(folder, "inner")
    watch = watch_in(inner)
    make_finding(0)
    watch._native_watch.flush(30)
    shutil.rmtree(inner)
    make_finding(1)
    watch.stop()
    print(len(watch.report().findings), os.listdir(folder))


def killed(folder):
    """Write one report after the other, all of them large, until somebody ends it."""
    watch = watch_in(folder, "json", "html")
    for number in range(200):
        make_finding(number)
    watch._native_watch.flush(60)
    number = 200
    while True:
        print(number, flush=True)
        make_finding(number)
        watch._native_watch.flush(60)
        number += 1


def backwards(folder):
    watch = watch_in(folder)
    for number in range(5):
        make_finding(number)
    watch.stop()
    report = watch.report()
    report.save(os.path.join(folder, "report.json"))
    again = cyclewatch.Report.load(os.path.join(folder, "report.json"))
    for form in ("text", "dot", "svg", "html"):
        getattr(again, f"to_{form}")()
    seen = {finding.cut.label for finding in again.findings}
    print(json.dumps([len(seen), watch.stats.collections, again.retained_bytes]))


class Node:
    """One of a list."""

    __slots__ = ("following", "owned", "previous")


def make_ring(length):
    """The only cycle is as long as the list."""
    first = node = Node()
    for _ in range(length - 1):
        node.following = Node()
        node = node.following
    node.following = first
    node.owned = acyclic_owner()


def make_many(length):
    """Cycles of one list each; one of them has an owner."""
    kept = []
    for _ in range(length):
        cycle = []
        cycle.append(cycle)
        kept.append(cycle)
    kept[length // 2].append(acyclic_owner())


def make_list(length):
    """Doubly linked: a cycle of two between each pair, and all of them one component."""
    node = Node()
    for _ in range(length - 1):
        node.following = Node()
        node.following.previous = node
        node = node.following
    node.owned = acyclic_owner()


def make_chain(length):
    """A cycle of one whose owner hangs on lists in lists."""
    node = acyclic_owner()
    for _ in range(length):
        node = [node]
    holder = Node()
    holder.following = holder
    holder.owned = node


def acyclic_owner():
    owner = Owner()
    owner.me = None
    return owner


def deep(folder, shape, length):
    """Every renderer gets what is found in a list of a million."""
    cyclewatch.watch().stop()
    gc.collect()  # what its modules left: their code, on free-threaded builds
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        globals()[f"make_{shape}"](int(length))
        gc.collect()
    report = watch.report()
    for form in ("text", "json", "dot", "svg", "html"):
        suffix = {"text": "txt"}.get(form, form)
        report.save(os.path.join(folder, f"report.{suffix}"))
        assert getattr(report, f"to_{form}")()
    assert len(cyclewatch.Report.load(os.path.join(folder, "report.json")).findings) == len(
        report.findings
    )
    print(json.dumps([watch.stats.unreachable, watch.stats.owners, report.retained_bytes]))
    print(json.dumps([[f.title, len(f.cycle), f.to_text().count("\n")] for f in report.findings]))
    print(json.dumps(watch.stats.skipped))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
