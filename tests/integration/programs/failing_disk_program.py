# SPDX-License-Identifier: Apache-2.0
"""Makes findings and reports while its disk is full: failing_disk_program.py ACT FAULT FOLDER

FAULT is "full" (tests/failing_disk is preloaded), "file size" or "" for none.
"""

import contextlib
import json
import logging
import os
import resource
import signal
import sys
import warnings
from pathlib import Path

import machine_fault_program as machine

import cyclewatch

UNLIMITED = resource.RLIM_INFINITY


@contextlib.contextmanager
def failing(fault):
    """The disk fails within this."""
    if fault == "full":
        os.environ["FAILING_DISK"] = "1"
    elif fault == "file size":
        # The signal would end the program; CPython ignores it by default.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, UNLIMITED))
    yield
    os.environ.pop("FAILING_DISK", None)
    resource.setrlimit(resource.RLIMIT_FSIZE, (UNLIMITED, UNLIMITED))


def tell_first_lines():
    """Warnings and log on standard error, without the paths and times of the lines below."""

    def show(message, *_):
        print("warning:", str(message).splitlines()[0], file=sys.stderr)

    handler = logging.StreamHandler()
    handler.format = lambda record: f"log: {record.getMessage().splitlines()[0]}"
    logging.getLogger("cyclewatch").addHandler(handler)
    warnings.showwarning = show


def contents(folder):
    """Every file there, whole."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def watched(fault, folder):
    """The disk fails while a watch writes its second report."""
    tell_first_lines()
    watch = machine.watch_in(folder)
    machine.make_finding(0)
    watch._native_watch.flush(30)
    old = contents(folder)
    with failing(fault):
        machine.make_finding(1)
        watch._native_watch.flush(30)
        kept = contents(folder) == old
        findings = len(watch.report().findings)
    machine.make_finding(2)
    watch.stop()
    (path,) = Path(folder).iterdir()
    print(json.dumps([kept, findings, len(cyclewatch.Report.load(path).findings)]))


def saved(fault, folder):
    """The disk fails while save() replaces a file."""
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        machine.make_finding(0)
    report = watch.report()
    path = Path(folder, "report.html")
    report.save(path)
    old = contents(folder)
    told = None
    with failing(fault):
        try:
            report.save(path)
        except OSError as error:
            told = str(error)
    print(json.dumps([told, contents(folder) == old]))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
