# SPDX-License-Identifier: Apache-2.0
"""Readers, callbacks and log handlers that fail or modify the garbage: PROGRAM SCENARIO."""

import gc
import logging
import signal
import sys
import threading

import cyclewatch

UNRAISABLE = []


class Owner:
    """An owner that refers to itself and to another owner."""

    def __init__(self, successor=None):
        self.me = self
        self.successor = successor


class Closing(Owner):
    """An owner with a finalizer that an exception could interrupt."""

    finished = 0

    def __del__(self):
        run_bytecodes()
        Closing.finished += 1


def run_bytecodes():
    for _ in range(1000):
        pass


def answer(owner):
    return {"device": "cpu", "nbytes": 8, "data_ptr": id(owner)}


def make_chain(length, kind=Owner):
    owner = None
    for _ in range(length):
        owner = kind(owner)


def note_unraisable():
    def note(unraisable):
        UNRAISABLE.append((unraisable.exc_type.__name__, unraisable.object.__name__))

    sys.unraisablehook = note


def watch_chains(read):
    cyclewatch.register_owner(Owner, read)
    with cyclewatch.watch(devices="cpu") as watch:
        for _ in range(3):
            make_chain(50)
            gc.collect()
        print("seen", watch.stats.collections)


def reader_that_cuts_the_chain():
    def read(owner):
        owner.successor = None
        return answer(owner)

    watch_chains(read)


def reader_that_empties_its_object():
    def read(owner):
        owner.__dict__.clear()
        return answer(owner)

    watch_chains(read)


def reader_that_collects():
    def read(owner):
        gc.collect()
        return answer(owner)

    watch_chains(read)


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


def log_handler_that_fails():
    cyclewatch.register_owner(Owner, answer)
    note_unraisable()

    def fail(_record):
        raise LookupError

    handler = logging.Handler()
    handler.emit = fail
    logging.getLogger("cyclewatch").addHandler(handler)
    sys.stderr.close()
    with cyclewatch.warn_tensor_cycles(devices="cpu", formats="json"):
        make_chain(1)
        gc.collect()
    print("unraisable", len(UNRAISABLE))


def collect_with(read):
    """Collect eight owners; print the results and the exception that gc.collect() raised."""
    note_unraisable()
    cyclewatch.register_owner(Closing, read)
    with cyclewatch.watch(devices="cpu") as watch:
        make_chain(8, Closing)
        try:
            gc.collect()
            run_bytecodes()
        except BaseException as error:
            print("raised", repr(error), Closing.finished)
        print(UNRAISABLE, dict(watch.stats.skipped))
        cyclewatch.register_owner(Closing, answer)
        make_chain(1, Closing)
        gc.collect()
        print("next", watch.report().retained_bytes)


def exception_in_a_reader():
    def read(owner):
        return owner.missing

    collect_with(read)


def exit_in_a_reader():
    def read(owner):
        raise SystemExit(7)

    collect_with(read)


def interrupt_in_a_reader():
    def read(owner):
        signal.raise_signal(signal.SIGINT)
        return answer(owner)

    collect_with(read)


def exit_in_a_reader_on_another_thread():
    thread = threading.Thread(target=exit_in_a_reader)
    thread.start()
    thread.join()


def observe_with(callback):
    note_unraisable()
    cyclewatch.register_owner(Owner, answer)
    with cyclewatch.observe_tensor_cycles(callback, devices="cpu"):
        for _ in range(2):
            make_chain(1)
            try:
                gc.collect()
                run_bytecodes()
            except BaseException as error:
                print("raised", repr(error))
    print(UNRAISABLE)


def exception_in_a_callback():
    def callback(report):
        raise ValueError

    observe_with(callback)


def interrupt_in_a_callback():
    def callback(report):
        raise KeyboardInterrupt

    observe_with(callback)


if __name__ == "__main__":
    gc.disable()
    globals()[sys.argv[1]]()
