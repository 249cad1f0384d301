# SPDX-License-Identifier: Apache-2.0
"""Installs a watch, observes a loop, reads the report and removes the watch, over and over.

many_watches.py ROUNDS: prints, after a tenth of them and at the end, what must not grow.
"""

import gc
import json
import os
import sys

import cyclewatch
from cyclewatch import _native


class Owner:
    """Says it owns memory, and is a loop of its own."""

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
    cyclewatch.register_owner(Owner, read)
    for _ in range(rounds // 10):
        live()
    early = levels()
    for _ in range(rounds - rounds // 10):
        live()
    print(json.dumps([early, levels()]))


if __name__ == "__main__":
    main()
