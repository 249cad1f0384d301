# SPDX-License-Identifier: Apache-2.0
"""Threads that start and stop watches, find cycles, read and write reports concurrently.

watch_threads.py THREADS ROUNDS FOLDER. Prints the number of watches that found only their own
cycle, the number of gc callbacks, and the temporary files that are left.
"""

import faulthandler
import gc
import json
import os
import sys
import threading

import cyclewatch

SECONDS = 250


class Owner:
    """An owner that refers to itself."""

    def __init__(self):
        self.me = self


def answer(owner):
    # Python code lets other threads run during a collection.
    return {"device": "cpu", "nbytes": len([None] * 100), "data_ptr": id(owner)}


def work(number, rounds, folder, outcome, barrier):
    seen = 0
    for step in range(rounds):
        barrier.wait()
        warns = step % 3 == 0
        watch = (
            cyclewatch.warn_tensor_cycles(
                devices="cpu", report_dir=f"{folder}/{number}-{step}", formats=("json", "html")
            )
            if warns
            else cyclewatch.watch(devices="cpu")
        )
        Owner()
        gc.collect()
        seen += len(watch.report().findings) <= 1
        _ = watch.stats.collections, watch.report_paths
        cyclewatch.ignore(signature=f"cw1-{number:08d}{step:08d}", reason="unused")
        watch.stop()
        for path in watch.report_paths:
            if path.endswith(".json"):
                cyclewatch.Report.load(path)
    outcome[number] = seen


def main():
    threads, rounds = int(sys.argv[1]), int(sys.argv[2])
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    sys.setswitchinterval(1e-5)
    cyclewatch.register_owner(Owner, answer)
    outcome = {}
    barrier = threading.Barrier(threads)
    workers = [
        threading.Thread(target=work, args=(number, rounds, sys.argv[3], outcome, barrier))
        for number in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    faulthandler.cancel_dump_traceback_later()
    print(json.dumps([sum(outcome.values()), len(gc.callbacks)]))
    left = [name for _, _, names in os.walk(sys.argv[3]) for name in names if name[0] == "."]
    print(json.dumps(left))


if __name__ == "__main__":
    main()
