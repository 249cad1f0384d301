# SPDX-License-Identifier: Apache-2.0
"""One hostile act against the watch, chosen by name. Prints what a test compares."""

import gc
import logging
import multiprocessing
import resource
import sys

import cyclewatch


class Owner:
    """Says it owns memory; refers to the next of its kind and to itself."""

    def __init__(self, successor=None):
        self.me = self
        self.successor = successor


def answer(owner):
    return {"device": "cpu", "nbytes": 8, "data_ptr": id(owner)}


def make_chain(length, kind=Owner):
    owner = None
    for _ in range(length):
        owner = kind(owner)


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
        calls.append(report.retained_bytes)
        make_chain(1)
        gc.collect()

    watch = cyclewatch.observe_tensor_cycles(callback, devices="cpu")
    make_chain(1)
    gc.collect()
    watch.stop()
    print("called", len(calls) >= 1)


class Shape:
    """Takes itself out of the answer that it stands in."""

    def __init__(self, answer):
        self.answer = answer
        self.much = bytearray(1000)

    def __iter__(self):
        self.answer.clear()
        raise TypeError


def reader_whose_answer_empties_itself():
    told = {}

    def read(owner):
        told.update(answer(owner), shape=Shape(told), dtype="float32")
        return told

    watch_with(read)


def log_handler_that_fails():
    cyclewatch.register_owner(Owner, answer)
    unraisable = []
    sys.unraisablehook = unraisable.append

    def fail(_record):
        raise LookupError

    handler = logging.Handler()
    handler.emit = fail
    logging.getLogger("cyclewatch").addHandler(handler)
    sys.stderr.close()
    with cyclewatch.warn_tensor_cycles(devices="cpu", formats="json"):
        make_chain(1)
        gc.collect()
    print("unraisable", len(unraisable))


def read_wrongly(_owner):
    return {"device": "cpu"}


def message_where_logging_cannot_be_imported():
    cyclewatch.register_owner(Owner, read_wrongly)
    for name in [name for name in sys.modules if name.split(".")[0] == "logging"]:
        del sys.modules[name]
    with cyclewatch.watch(devices="cpu") as watch:
        make_chain(1)
        sys.path_importer_cache.clear()
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
        gc.collect()
        watch.report()
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


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
