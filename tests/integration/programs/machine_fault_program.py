# SPDX-License-Identifier: Apache-2.0
"""Creates findings during machine faults, such as a full disk.

Usage: machine_fault_program.py SCENARIO FOLDER [ARGUMENT].

The ARGUMENT of the scenarios `watched` and `saved` is a fault: "full" for a full disk
(tests/failing_disk must be preloaded), "file size" for a file size limit, or "" for no fault.
"""

import contextlib
import gc
import json
import logging
import os
import resource
import shutil
import sys
import warnings
from pathlib import Path

import cyclewatch

UNLIMITED = resource.RLIM_INFINITY


class Owner:
    """An owner that refers to itself."""

    def __init__(self):
        self.me = self


cyclewatch.register_owner(
    Owner, lambda one: {"device": "cpu", "nbytes": 1 << 20, "data_ptr": id(one)}
)


def make_finding(number):
    """Collect one cycle with a new signature."""
    owner = Owner()
    owner.__dict__ = {f"cycle_{number}_": owner}  # names that differ in a final number are grouped
    del owner
    gc.collect()


def watch_in(folder, *formats):
    return cyclewatch.warn_tensor_cycles(
        devices="cpu", report_dir=folder, formats=formats or ("json",), budget=1
    )


def folder_gone(folder):
    """Remove the report's directory while the program runs."""
    inner = os.path.join(folder, "inner")
    watch = watch_in(inner)
    make_finding(0)
    watch._native_watch.flush(30)
    shutil.rmtree(inner)
    make_finding(1)
    watch.stop()
    print(len(watch.report().findings), os.listdir(folder))


def killed(folder):
    """Write large reports until the process is killed."""
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


@contextlib.contextmanager
def failing(fault):
    """Makes writes to the disk fail inside the `with` block."""
    if fault == "full":
        os.environ["FAILING_DISK"] = "1"
    elif fault == "file size":
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, UNLIMITED))
    yield
    os.environ.pop("FAILING_DISK", None)
    resource.setrlimit(resource.RLIMIT_FSIZE, (UNLIMITED, UNLIMITED))


def print_first_lines():
    """Print the first line of each warning and log record; other lines contain paths and times."""

    def show(message, *_):
        print("warning:", str(message).splitlines()[0], file=sys.stderr)

    handler = logging.StreamHandler()
    handler.format = lambda record: f"log: {record.getMessage().splitlines()[0]}"
    logging.getLogger("cyclewatch").addHandler(handler)
    warnings.showwarning = show


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def watched(folder, fault):
    """The disk fails while a watch writes its second report."""
    print_first_lines()
    watch = watch_in(folder)
    make_finding(0)
    watch._native_watch.flush(30)
    old = contents(folder)
    with failing(fault):
        make_finding(1)
        watch._native_watch.flush(30)
        unchanged = contents(folder) == old
        findings = len(watch.report().findings)
    make_finding(2)
    watch.stop()
    (path,) = Path(folder).iterdir()
    print(json.dumps([unchanged, findings, len(cyclewatch.Report.load(path).findings)]))


def saved(folder, fault):
    """The disk fails while save() replaces a file."""
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        make_finding(0)
    report = watch.report()
    path = Path(folder, "report.html")
    report.save(path)
    old = contents(folder)
    message = None
    with failing(fault):
        try:
            report.save(path)
        except OSError as error:
            message = str(error)
    print(json.dumps([message, contents(folder) == old]))


class Node:
    """An element of a ring."""

    __slots__ = ("following", "owned")


def acyclic_owner():
    owner = Owner()
    owner.me = None
    return owner


def make_ring(length):
    """One cycle of `length` objects."""
    first = node = Node()
    for _ in range(length - 1):
        node.following = Node()
        node = node.following
    node.following = first
    node.owned = acyclic_owner()


def make_chain(length):
    """An object that refers to itself, and through `length` nested lists to an owner."""
    node = acyclic_owner()
    for _ in range(length):
        node = [node]
    holder = Node()
    holder.following = holder
    holder.owned = node


def deep(folder, shape):
    """Collect a million objects and render the report in every format."""
    cyclewatch.watch().stop()
    gc.collect()  # code objects of imported modules, on free-threaded builds
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        globals()[f"make_{shape}"](1_000_000)
        gc.collect()
    report = watch.report()
    for form in ("text", "json", "dot", "svg", "html"):
        suffix = {"text": "txt"}.get(form, form)
        report.save(os.path.join(folder, f"report.{suffix}"))
        assert getattr(report, f"to_{form}")()
    print(json.dumps([watch.stats.unreachable, watch.stats.owners, report.retained_bytes]))
    print(json.dumps([[f.title, len(f.cycle), f.to_text().count("\n")] for f in report.findings]))
    print(json.dumps(watch.stats.skipped))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
