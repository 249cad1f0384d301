# SPDX-License-Identifier: Apache-2.0
"""Lets one allocation after the other fail, and then a run of them from that one on, in each part
of a watch's life; prints as JSON what became of the process.

Arguments: whose allocations (cpp, python), the part, every how many allocations to try
after the first few, a folder.
"""

import ctypes
import gc
import importlib
import json
import os
import sys
import warnings
from pathlib import Path

import cyclewatch

libc = ctypes.CDLL(None)
whose, part, stride, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
WHOSE = ctypes.c_int(["cpp", "python"].index(whose))
FAR = 1 << 40
# All later ones; but an interpreter without any memory at all cannot even handle the error.
MANY = 200 if whose == "python" else FAR
EACH_OF_FIRST = 20  # what is made once for all is made here
KIB = 1 << 10
# The last two are CPython's, of os.fspath() and of opening a file.
TOLD = ("memory", "not PosixPath", "can't allocate read lock")


class Buffer:
    def __init__(self, number):
        self.number = number


class Engine:
    def __init__(self, number):
        self.buffer = Buffer(number)
        self.handlers = [lambda: self.buffer]


def read(buffer):
    return {"device": "cpu", "nbytes": KIB, "data_ptr": (buffer.number + 1) * KIB}


def leak():
    for number in range(3):
        Engine(number)


def start():
    return cyclewatch.warn_tensor_cycles(devices=("cpu",), report_dir=folder, formats=("json",))


class Life:
    """A watch, started; what happens to it before, in and after a part that may fail."""

    def __init__(self):
        self.watch = None if part in ("start", "load") else start()
        if part in ("write", "render", "save", "stop"):
            leak()
            gc.collect()
        if part in ("render", "save"):
            self.watch.stop()
            self.report = self.watch.report()
        if part == "collect":
            leak()

    def start(self):
        self.watch = start()

    def collect(self):
        gc.collect()

    def write(self):
        self.watch.report()

    def stop(self):
        self.watch.stop()

    def render(self):
        for text in ("to_text", "to_json", "to_dot", "to_svg", "to_html"):
            getattr(self.report, text)()

    def save(self):
        self.report.save(folder / f"saved-{os.getpid()}.json")

    def load(self):
        cyclewatch.Report.load(folder / "sample.html")

    def after(self):
        """Nothing of it is left behind: the same watch, or a new one, finds the next leak."""
        watch = self.watch
        if watch is None or not watch.active:
            watch = start()
        before = watch.report().held_bytes
        leak()
        gc.collect()
        report = watch.report()
        watch.stop()
        return report.held_bytes - before, report.findings[0].to_text()


def stop_failing():
    while True:
        try:
            return libc.stop_failing()
        except MemoryError:  # of this very call
            pass


def live(first, last):
    """Raises unless the program went on, or was told in words that there is no memory."""
    life = Life()
    method = getattr(life, part)
    libc.fail_allocations(WHOSE, ctypes.c_long(first), ctypes.c_long(last))
    try:
        method()
    except MemoryError:
        pass
    except (OSError, cyclewatch.ReportFormatError, RuntimeError, TypeError) as error:
        stop_failing()
        if not any(words in str(error) for words in TOLD):
            raise
    finally:
        stop_failing()
    gc.collect()  # what a collection left that could not even begin
    found, described = life.after()
    if found != 3 * KIB:
        raise AssertionError("the next leak was not found")
    if ".handlers" not in described:
        raise AssertionError(f"the names went missing: {described}")


def in_child(first, last):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            live(first, last)
            status = 0
        except BaseException as error:
            print(f"{part} {first} {last}: {error!r}", file=sys.stderr)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def count():
    life = Life()
    libc.fail_allocations(WHOSE, ctypes.c_long(FAR), ctypes.c_long(FAR))
    getattr(life, part)()
    number = libc.stop_failing()
    life.after()
    return number


def in_child_told(function):
    """What `function` returns, called in a child process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, json.dumps(function()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        told = json.load(answer)
    os.waitpid(child, 0)
    return told


def imported():
    """The modules that a watch's whole life imports."""
    before = set(sys.modules)
    count()
    return sorted(set(sys.modules) - before)


def main():
    warnings.simplefilter("ignore")
    cyclewatch.register_owner(Buffer, read)
    if part == "load":
        with cyclewatch.watch(devices=("cpu",)) as watch:
            leak()
            gc.collect()
        watch.report().save(folder / "sample.html")
    libc.stop_failing.restype = ctypes.c_long
    # CPython's own importing of any module does not survive every failure, nor does its frames'.
    for name in in_child_told(imported):
        importlib.import_module(name)
    number = in_child_told(count)
    bad = {}
    tried = 0
    few = min(EACH_OF_FIRST, number)
    for first in (*range(1, few + 1), *range(few + stride, number + 1, stride)):
        for last in (first, first + MANY):
            tried += 1
            status = in_child(first, last)
            if status != 0:
                bad[f"{first}{'' if last == first else ' and later ones'}"] = status
    print(json.dumps({"allocations": number, "tried": tried, "bad": bad}))


main()
