# SPDX-License-Identifier: Apache-2.0
"""Makes allocations fail while a watch observes a collection: failing_allocations.py ALLOCATOR

In each collection another allocation fails, alone or with all later ones. ALLOCATOR is "cpp" or
"python". Prints the number of allocations, and the failures that lost an owner without being
counted, as JSON.
"""

import ctypes
import gc
import json
import sys

import cyclewatch

libc = ctypes.CDLL(None)
libc.stop_failing.restype = ctypes.c_long
ALLOCATOR = ctypes.c_int(["cpp", "python"].index(sys.argv[1]))
NEVER = 1 << 40
# An interpreter without memory cannot handle the error.
LATER = 200 if sys.argv[1] == "python" else NEVER
NBYTES = 1 << 10
# Compiled for each collection, so that no cache of the watch contains the types or their code.
ENGINE = """
class Weights(Buffer):
    pass

class Engine:
    def __init__(self):
        self.weights = Weights()
        self.handlers = [lambda: self.weights]

Engine()
"""


class Buffer:
    pass


def leak():
    exec(ENGINE, {"Buffer": Buffer, "__name__": "engine"})


def stop_failing():
    """Return the number of allocations."""
    while True:
        try:
            return libc.stop_failing()
        except MemoryError:  # raised by this call
            pass


def collect_without_memory(first, last):
    leak()
    libc.fail_allocations(ALLOCATOR, ctypes.c_long(first), ctypes.c_long(last))
    try:
        gc.collect()
    except MemoryError:  # raised by the collector
        pass
    finally:
        number = stop_failing()
    gc.collect()  # in case the first collection could not start
    return number


def is_counted(before, after, all_failed):
    """Whether the lost observation is counted, if it can be.

    Counting needs memory, and the watch does not see a collection whose callbacks the interpreter
    had no memory to call.
    """
    seen = after.collections - before.collections
    return all_failed or seen < 2 or sum(after.skipped.values()) > sum(before.skipped.values())


def main():
    cyclewatch.register_owner(
        Buffer, lambda buffer: {"device": "cpu", "nbytes": NBYTES, "data_ptr": id(buffer)}
    )
    watch = cyclewatch.watch(devices=("cpu",), budget=1)
    for _ in range(3):
        leak()
        gc.collect()
    number = collect_without_memory(NEVER, NEVER)
    uncounted = []
    for first in range(1, number + 1):
        for last in (first, first + LATER):
            before = watch.report()
            collect_without_memory(first, last)
            after = watch.report()
            lost = after.retained_bytes != before.retained_bytes + NBYTES
            if lost and not is_counted(before.stats, after.stats, last > first):
                uncounted.append([first, last])
    before = watch.report()
    leak()
    gc.collect()
    watch.stop()
    report = watch.report()
    assert report.retained_bytes == before.retained_bytes + NBYTES
    (finding,) = report.findings
    labels = [reference.label for reference in finding.cycle]
    result = {"allocations": number, "uncounted": uncounted, "labels_afterwards": labels}
    print(json.dumps(result))


main()
