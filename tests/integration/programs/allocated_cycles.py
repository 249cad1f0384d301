# SPDX-License-Identifier: Apache-2.0
"""Creates a cycle with owners and prints the reported allocation sites of the owners.

Usage: allocated_cycles.py FRAMES [torch]; with 0 frames, tracemalloc is not started.
"""

import gc
import importlib
import json
import sys
import tracemalloc

import cyclewatch

MIB = 1 << 20


class Buffer:
    """An object preceded in memory by a GC header and the pointer to its `__dict__`."""

    def __init__(self, mib):
        self.mib = mib


class Slotted:
    """An object preceded in memory only by a GC header."""

    __slots__ = ("mib",)

    def __init__(self, mib):
        self.mib = mib


def read(buffer):
    return {"device": "cpu", "nbytes": buffer.mib * MIB, "data_ptr": id(buffer)}


# Code of an installed library.
library = {}
exec(compile("def make(kind, *a): return kind(*a)", "/x/site-packages/lib.py", "exec"), library)


def cycle_of_buffers():
    kept = [None]
    kept[0] = kept
    kept.append(Buffer(8))
    kept.append(Slotted(7))
    kept.append(library["make"](Buffer, 6))
    for _ in range(2):
        kept.append(Buffer(1))
    kept.append(Buffer(1))


def cycle_of_tensors(torch):
    kept = [None]
    kept[0] = kept
    kept.append(torch.zeros(8, MIB, dtype=torch.uint8))
    kept.append(torch.nn.Parameter(torch.zeros(5, MIB // 4)))
    kept[-1].grad = torch.zeros(5, MIB // 4)


def main(frames, *options):
    for kind in (Buffer, Slotted):
        cyclewatch.register_owner(kind, read)
    modules = [importlib.import_module(name) for name in options]
    make = cycle_of_tensors if modules else cycle_of_buffers
    gc.disable()
    gc.collect()
    if int(frames) > 0:
        tracemalloc.start(int(frames))
    with cyclewatch.watch(devices="cpu") as watch:
        make(*modules)
        collected = gc.collect()
    (finding,) = watch.report().findings
    answer = {
        "owners": [
            [owner.nbytes // MIB, owner.type, owner.count, owner.allocated_at]
            for owner in finding.owners
        ],
        "holder": finding.cycle[0].location,
        "collected": collected,
        "card": finding.to_text(),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
