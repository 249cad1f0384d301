# SPDX-License-Identifier: Apache-2.0
"""One hostile act against the watch, chosen by name. Prints what a test compares."""

import gc
import multiprocessing
import sys

import cyclewatch


class Owner:
    """Says it owns memory; refers to the next of its kind and to itself."""

    def __init__(self, successor=None):
        self.me = self
        self.successor = successor


def answer(owner):
    return {"device": "cpu", "nbytes": 8, "data_ptr": id(owner)}


def make_chain(length):
    owner = None
    for _ in range(length):
        owner = Owner(owner)


def reader_that_cuts_the_chain():
    def read(owner):
        owner.successor = None
        return answer(owner)

    watch_with(read)


def reader_that_empties_its_object():
    def read(owner):
        owner.__dict__.clear()
        return answer(owner)

    watch_with(read)


def reader_that_collects():
    def read(owner):
        gc.collect()
        return answer(owner)

    watch_with(read)


def watch_with(read):
    gc.disable()  # only the collections below count
    cyclewatch.register_owner(Owner, read)
    with cyclewatch.watch(devices="cpu") as watch:
        for _ in range(3):
            make_chain(50)
            gc.collect()
        print("seen", watch.stats.collections)


def callback_that_makes_more():
    cyclewatch.register_owner(Owner, answer)
    calls = []

    def callback(report):
        calls.append(report.held_bytes)
        make_chain(1)
        gc.collect()

    watch = cyclewatch.observe_tensor_cycles(callback, devices="cpu")
    make_chain(1)
    gc.collect()
    watch.stop()
    print("called", len(calls) >= 1)


def callback_that_is_interrupted():
    cyclewatch.register_owner(Owner, answer)

    def callback(report):
        raise KeyboardInterrupt

    cyclewatch.observe_tensor_cycles(callback, devices="cpu")
    make_chain(1)
    try:
        gc.collect()
        for _ in range(10):
            pass
    except KeyboardInterrupt:
        print("interrupted")


def leak_in_worker():
    make_chain(1)
    gc.collect()


def worker_of_multiprocessing():
    cyclewatch.register_owner(Owner, answer)
    cyclewatch.warn_tensor_cycles(devices="cpu", formats="json")
    worker = multiprocessing.get_context("fork").Process(target=leak_in_worker)
    worker.start()
    worker.join()
    print("worker", worker.pid, worker.exitcode)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
