# SPDX-License-Identifier: Apache-2.0
"""Starts a watch, observes a cycle, reads the report and stops the watch, many times.

many_watches.py ROUNDS: prints resource usage after half of the rounds and at the end. Every
hundredth round also writes a report file.
"""

import gc
import json
import logging
import os
import sys
import tempfile
import warnings

import cyclewatch
from cyclewatch import _native


class Owner:
    """An owner that refers to itself."""

    def __init__(self):
        self.me = self


def read(owner):
    return {"device": "cpu", "nbytes": 8, "data_ptr": 1}


def one_round():
    reports = []
    watch = cyclewatch.observe_tensor_cycles(reports.append, devices="cpu", budget=1)
    Owner()
    gc.collect(0)
    report = watch.report()
    assert [len(each.findings) for each in (report, *reports)] == [1, 1]
    watch.stop()


def one_round_in(folder):
    """Run one_round(), then write a report file and remove it."""
    one_round()
    watch = cyclewatch.warn_tensor_cycles(
        devices="cpu", report_dir=folder, formats="json", budget=1
    )
    Owner()
    gc.collect(0)
    watch.stop()
    (path,) = watch.report_paths
    os.unlink(path)


def many_rounds(rounds, folder):
    for number in range(rounds):
        one_round() if number % 100 else one_round_in(folder)


# Each instance refers to its type, even if the collector does not track it.
TYPES = [each for each in vars(_native).values() if isinstance(each, type)]


def levels():
    """Return the process's memory and object counts, and the refcounts of cyclewatch's objects."""
    gc.collect()
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return {
        "rss": pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        "blocks": sys.getallocatedblocks(),
        "objects": len(gc.get_objects()),
        "references": [sys.getrefcount(each) for each in (Owner, read, one_round, cyclewatch, gc)],
        "types": {each.__name__: sys.getrefcount(each) for each in TYPES},
        "callbacks": len(gc.callbacks),
    }


def main():
    rounds = int(sys.argv[1])
    warnings.simplefilter("ignore")
    logging.disable()
    cyclewatch.register_owner(Owner, read)
    with tempfile.TemporaryDirectory() as folder:
        # After this, the interpreter's free lists have reached their final size.
        many_rounds(rounds // 2, folder)
        early = levels()
        many_rounds(rounds - rounds // 2, folder)
        print(json.dumps([early, levels()]))


if __name__ == "__main__":
    main()
