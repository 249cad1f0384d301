# SPDX-License-Identifier: Apache-2.0
"""Installs a watch, observes a cycle, reads the report and removes the watch, over and over.

many_watches.py ROUNDS: prints, after a fifth of them and at the end, what must not grow. Every
tenth round writes a report file as well.
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
    """Says it owns memory, and is a cycle of its own."""

    def __init__(self):
        self.me = self


def read(owner):
    return {"device": "cpu", "nbytes": 8, "data_ptr": 1}


def live():
    reports = []
    watch = cyclewatch.observe_tensor_cycles(reports.append, devices="cpu", budget=1)
    Owner()
    gc.collect(0)
    report = watch.report()
    assert [len(each.findings) for each in (report, *reports)] == [1, 1]
    watch.stop()


def live_in(folder):
    """As live(), with a report file that is written, and taken away for the next one."""
    live()
    watch = cyclewatch.warn_tensor_cycles(
        devices="cpu", report_dir=folder, formats="json", budget=1
    )
    Owner()
    gc.collect(0)
    watch.stop()
    (path,) = watch.report_paths
    os.unlink(path)


def live_often(rounds, folder):
    for number in range(rounds):
        live() if number % 10 else live_in(folder)


# Each instance holds its type, also where the collector does not know it.
TYPES = [each for each in vars(_native).values() if isinstance(each, type)]


def levels():
    """Memory in KiB, allocated blocks, tracked objects, references to what is ours."""
    gc.collect()
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return {
        "rss": pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        "blocks": sys.getallocatedblocks(),
        "objects": len(gc.get_objects()),
        "references": [sys.getrefcount(each) for each in (Owner, read, live, cyclewatch, gc)],
        "types": {each.__name__: sys.getrefcount(each) for each in TYPES},
        "callbacks": len(gc.callbacks),
    }


def main():
    rounds = int(sys.argv[1])
    warnings.simplefilter("ignore")
    logging.disable()
    cyclewatch.register_owner(Owner, read)
    with tempfile.TemporaryDirectory() as folder:
        # What the interpreter keeps for reuse is all there by then.
        live_often(rounds // 5, folder)
        early = levels()
        live_often(rounds - rounds // 5, folder)
        print(json.dumps([early, levels()]))


if __name__ == "__main__":
    main()
