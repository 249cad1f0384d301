# SPDX-License-Identifier: Apache-2.0
"""Readers and callbacks that raise, one act by name. Prints what a test compares."""

import gc
import signal
import sys
import threading

from hostile_program import Owner, answer, make_chain

import cyclewatch

UNRAISABLE = []


def note(unraisable):
    UNRAISABLE.append((unraisable.exc_type.__name__, unraisable.object.__name__))


sys.unraisablehook = note


def some_bytecodes():
    for _ in range(1000):
        pass


class Closing(Owner):
    finished = 0

    def __del__(self):
        some_bytecodes()
        Closing.finished += 1


def watch_with(read):
    """Collect eight owners under a watch; print what the program caught, and what was seen."""
    cyclewatch.register_owner(Closing, read)
    with cyclewatch.watch(devices="cpu") as watch:
        make_chain(8, Closing)
        try:
            gc.collect()
            some_bytecodes()
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

    watch_with(read)


def exit_in_a_reader():
    def read(owner):
        raise SystemExit(7)

    watch_with(read)


def interrupt_in_a_reader():
    def read(owner):
        signal.raise_signal(signal.SIGINT)
        return answer(owner)

    watch_with(read)


def exit_in_a_reader_on_another_thread():
    def read(owner):
        raise SystemExit(7)

    thread = threading.Thread(target=watch_with, args=(read,))
    thread.start()
    thread.join()


def observe_with(callback):
    cyclewatch.register_owner(Owner, answer)
    with cyclewatch.observe_tensor_cycles(callback, devices="cpu"):
        for _ in range(2):
            make_chain(1)
            try:
                gc.collect()
                some_bytecodes()
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
