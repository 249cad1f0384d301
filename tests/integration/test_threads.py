# SPDX-License-Identifier: Apache-2.0
"""Threads that make and drop cycles while others collect; without a GIL they do so at once."""

import json

PROGRAM = """
import gc, json, sys, threading
import cyclewatch

THREADS, ROUNDS, SIZE = 8, 400, 100

class Buffer:
    def __init__(self):
        self.nbytes = SIZE

class Node:
    pass

def cycle_with_buffer():
    node, peer = Node(), Node()
    node.peer, peer.peer = peer, node
    node.buffer = Buffer()
    return node

cyclewatch.register_owner(
    Buffer, lambda b: {"device": "cpu", "nbytes": b.nbytes, "data_ptr": id(b)}
)
shared = [cycle_with_buffer() for _ in range(THREADS)]  # handed from thread to thread
kept, failures = [], []
started = threading.Barrier(THREADS)

def work(number):
    try:
        started.wait()
        for turn in range(ROUNDS):
            node = cycle_with_buffer()
            if turn % 10 == 0:
                kept.append(node)
            if turn % 40 == number:
                gc.collect()
            if turn % 100 == number:
                watch.report(), watch.stats
            shared[turn % THREADS].visitor = shared[(turn + number) % THREADS]
            del node
    except BaseException as error:
        failures.append(repr(error))

gil_before = getattr(sys, "_is_gil_enabled", lambda: True)()
with cyclewatch.watch(devices=("cpu",), budget=1.0) as watch:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    while_kept = watch.stats.owners
    alive = len(kept) + len(shared)
    kept.clear(), shared.clear()
    gc.collect()
    in_all = watch.stats.owners
report = watch.report()
print(json.dumps({
    "failures": failures,
    "gil changed": getattr(sys, "_is_gil_enabled", lambda: True)() != gil_before,
    "alive": alive, "while kept": while_kept, "in all": in_all,
    "held": report.retained_bytes, "skipped": dict(watch.stats.skipped),
}))
"""


def test_eight_threads_lose_no_cycle_and_report_no_living_one(interpreter):
    answer = json.loads(interpreter.run(PROGRAM).stdout.splitlines()[-1])
    # GIVEN 8 threads of 400 cycles each, of which every tenth stays alive, and 8 shared ones
    made, alive = 8 * 400 + 8, 8 * 40 + 8
    # THEN each dead cycle's buffer was seen once, no living one's, and nothing was left out
    assert answer == {
        "failures": [],
        "gil changed": False,
        "alive": alive,
        "while kept": made - alive,
        "in all": made,
        "held": 100 * made,
        "skipped": {},
    }
