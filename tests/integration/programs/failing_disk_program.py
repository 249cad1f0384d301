# SPDX-License-Identifier: Apache-2.0
"""Makes findings and reports while its disk fails it: failing_disk_program.py ACT ARGUMENT...

A fault is how the disk comes to fail: "CALL NUMBER" (tests/failing_disk), or one of FAULTS.
"""

import contextlib
import ctypes
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


def mounted(folder, flags):
    libc = ctypes.CDLL(None, use_errno=True)
    remount = 32
    if libc.mount(b"none", os.fsencode(folder), None, remount | flags, None) != 0:
        raise OSError(ctypes.get_errno(), "mount()")


@contextlib.contextmanager
def full(folder):
    """Not a byte is left."""
    path = os.path.join(folder, "filler")
    with open(path, "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4096))
    yield
    os.unlink(path)


@contextlib.contextmanager
def without_inodes(folder):
    """There are bytes, but no file more."""
    paths = []
    with contextlib.suppress(OSError):
        while True:
            path = os.path.join(folder, f"filler-{len(paths)}")
            open(path, "xb").close()
            paths.append(path)
    yield
    for path in paths:
        os.unlink(path)


@contextlib.contextmanager
def read_only(folder):
    mounted(folder, 1)
    yield
    mounted(folder, 0)


@contextlib.contextmanager
def file_size(_folder):
    """No file may be longer than 2,000 bytes; SIGXFSZ is ignored, as CPython has it."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, UNLIMITED))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (UNLIMITED, UNLIMITED))


@contextlib.contextmanager
def deadly_file_size(folder):
    """As file_size, in a program that would be ended by the signal, and is not sent it later."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    with file_size(folder):
        yield
    if signal.sigpending() or signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        raise AssertionError("a signal is pending, or blocked")


FAULTS = {
    "": lambda _folder: contextlib.nullcontext(),
    "full": full,
    "without inodes": without_inodes,
    "read-only": read_only,
    "file size": file_size,
    "deadly file size": deadly_file_size,
}


@contextlib.contextmanager
def failing(fault, folder):
    """The disk fails within this."""
    if fault in FAULTS:
        with FAULTS[fault](folder):
            yield
        return
    os.environ["FAILING_DISK"] = fault
    yield
    del os.environ["FAILING_DISK"]


def tell_first_lines():
    """Warnings and log on standard error, without the paths and times of the lines below."""

    def show(message, *_):
        print("warning:", str(message).splitlines()[0], file=sys.stderr)

    handler = logging.StreamHandler()
    handler.format = lambda record: f"log: {record.getMessage().splitlines()[0]}"
    logging.getLogger("cyclewatch").addHandler(handler)
    warnings.showwarning = show


def contents(folder):
    """Every file of cyclewatch's in the folder, whole."""
    names = [name for name in sorted(os.listdir(folder)) if "cyclewatch" in name]
    return {name: Path(folder, name).read_bytes() for name in names}


def findings_in(folder):
    """How many findings each file there has."""
    paths = [os.path.join(folder, name) for name in contents(folder)]
    return [len(cyclewatch.Report.load(path).findings) for path in paths]


def later(fault, folder):
    """A report stands there when the disk begins to fail."""
    tell_first_lines()
    watch = machine.watch_in(folder)
    machine.make_finding(0)
    watch._native_watch.flush(30)
    old = contents(folder)
    with failing(fault, folder):
        machine.make_finding(1)
        watch._native_watch.flush(30)
        kept = [contents(folder) == old, len(watch.report().findings)]
    machine.make_finding(2)
    watch._native_watch.flush(30)
    watch.stop()
    print(json.dumps([*kept, findings_in(folder)]))


def first(fault, folder):
    """The disk fails before there is any report; the watch ends when it has room again."""
    tell_first_lines()
    watch = machine.watch_in(folder)
    with failing(fault, folder):
        machine.make_finding(0)
        watch._native_watch.flush(30)
        kept = [contents(folder) == {}, len(watch.report().findings)]
    watch.stop()
    print(json.dumps([*kept, findings_in(folder)]))


def to_the_end(fault, folder):
    """The disk fails to the end of the program, which does not stop its watch."""
    tell_first_lines()
    watch = machine.watch_in(folder)
    machine.make_finding(0)
    watch._native_watch.flush(30)
    failing(fault, folder).__enter__()
    machine.make_finding(1)
    print(len(watch.report().findings))


def killed(fault, folder, reports):
    """The process is killed while it writes, after that many reports."""
    os.umask(0)
    watch = machine.watch_in(folder)
    for number in range(int(reports)):
        machine.make_finding(number)
        watch._native_watch.flush(30)
    os.environ["FAILING_DISK"] = fault
    machine.make_finding("last")
    watch._native_watch.flush(30)


def killed_saving(fault, folder):
    """The process is killed while save() writes; its umask lets the group read."""
    os.umask(0o027)
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        machine.make_finding(0)
    report = watch.report()
    os.environ["FAILING_DISK"] = fault
    report.save(os.path.join(folder, "report.json"))


def saved(fault, folder):
    """What save() says in each format, and whether the old file is what it was."""
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        machine.make_finding(0)
    report = watch.report()
    paths = [os.path.join(folder, f"cyclewatch.{each}") for each in ("txt", "json", "svg", "html")]
    for path in paths:
        report.save(path)
    old = contents(folder)
    with failing(fault, folder):
        told = [str(attempt(report, path)) for path in paths]
        kept = contents(folder) == old
    print(json.dumps([told, kept, [attempt(report, path) for path in paths]]))


def attempt(report, path):
    """The error of saving; None if there is none."""
    try:
        report.save(path)
    except OSError as error:
        return error


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
