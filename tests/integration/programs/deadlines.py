# SPDX-License-Identifier: Apache-2.0
"""Deadlines, interrupts and exits that are raised while the watch is at work, one act by name."""

import contextlib
import ctypes
import functools
import gc
import logging
import operator
import os
import signal
import sys

from hostile_program import Owner, answer, make_chain

import cyclewatch


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


class DeadlineError(Exception):
    """What a program has raised when an alarm goes off."""


def on_alarm(*_arguments):
    raise DeadlineError


def some_bytecodes():
    for _ in range(1000):
        pass


def go_on_until_the_deadline(name):
    try:
        make_chain(1)
        gc.collect()
        some_bytecodes()
    except DeadlineError:
        print(name, "met its deadline")


def deadline_while_something_is_told():
    cyclewatch.register_owner(Owner, answer)
    signal.signal(signal.SIGALRM, on_alarm)

    def wait_for_alarm(_told):
        signal.raise_signal(signal.SIGALRM)

    with cyclewatch.observe_tensor_cycles(wait_for_alarm, devices="cpu"):
        go_on_until_the_deadline("callback")
    handler = logging.Handler()
    handler.emit = wait_for_alarm
    logging.getLogger("cyclewatch").addHandler(handler)
    with cyclewatch.warn_tensor_cycles(devices="cpu", formats="json"):
        go_on_until_the_deadline("log handler")


def deadline_while_the_first_watch_starts():
    # It comes as soon as the watch runs Python of its own.
    interrupt = functools.partial(
        ctypes.pythonapi.PyErr_SetInterruptEx, ctypes.c_int(signal.SIGALRM)
    )
    signal.signal(signal.SIGALRM, on_alarm)
    before = sys.getprofile()

    def trip(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename == "<string>":
            sys.setprofile(before)
            interrupt()

    sys.setprofile(trip)
    try:
        cyclewatch.watch(devices="cpu")
        some_bytecodes()
    except DeadlineError:
        print("met its deadline")
    with cyclewatch.watch(devices="cpu") as watch:
        cyclewatch.register_owner(Owner, answer)
        make_chain(1)
        gc.collect()
        print(watch.report().findings[0].title)


def deadline_while_the_configuration_is_read():
    def find(path):
        signal.raise_signal(signal.SIGALRM)
        return False

    def on_alarm_of_the_system(*_):
        raise TimeoutError

    cyclewatch.ignore(pattern="self-reference", reason="loads what is loaded late")
    signal.signal(signal.SIGALRM, on_alarm_of_the_system)
    os.path.isfile = find
    try:
        cyclewatch.watch(devices="cpu")
    except TimeoutError:
        print("met its deadline")


def callback_that_fails_with_its_frame_in_hand():
    cyclewatch.register_owner(Owner, answer)

    def explain(depth, level=logging.INFO):
        caller = sys._getframe(1)
        raise ValueError(f"{depth} {caller.f_lineno} {level}")

    def tell(depth, caller, more):
        try:
            explain(depth)
        finally:
            depth += caller.f_lineno + more

    def fail(_report):
        tell(0, sys._getframe(), 1)

    with cyclewatch.observe_tensor_cycles(fail, devices="cpu"):
        make_chain(1)
        gc.collect()
        some_bytecodes()
    print("went on")


def wait_for_alarm(owner):
    signal.raise_signal(signal.SIGALRM)
    return answer(owner)


def deadline_while_a_reader_runs():
    cyclewatch.register_owner(Owner, wait_for_alarm)
    signal.signal(signal.SIGALRM, on_alarm)
    with cyclewatch.watch(devices="cpu"):
        go_on_until_the_deadline("reader")


def interrupt_while_an_owner_is_read(reader):
    """The signal has come before the collection, and nothing looks at it until the reader runs."""
    Owner.described = {"device": "cpu", "nbytes": 8}
    cyclewatch.register_owner(Owner, reader)
    interrupt = functools.partial(ctypes.pythonapi.PyErr_SetInterruptEx, signal.SIGINT)
    with cyclewatch.watch(devices="cpu") as watch:
        make_chain(3)
        try:
            list(map(operator.call, (interrupt, gc.collect)))
            some_bytecodes()
        except KeyboardInterrupt:
            print("interrupted", watch.report().held_bytes, dict(watch.stats.skipped))


def interrupt_while_a_reader_in_c_answers():
    interrupt_while_an_owner_is_read(operator.attrgetter("described"))


def interrupt_while_a_reader_in_python_answers():
    interrupt_while_an_owner_is_read(answer)


class Closing(Owner):
    finished = 0

    def __del__(self):
        for _ in range(100):
            pass
        Closing.finished += 1


def reader_that_ends_the_program():
    def read(_owner):
        raise SystemExit(7)

    cyclewatch.register_owner(Closing, read)
    with cyclewatch.watch(devices="cpu"):
        make_chain(8, Closing)
        try:
            gc.collect()
            for _ in range(100):
                pass
        except SystemExit as exit:
            print("exit", exit.code, Closing.finished)


def callback_after_ours_and_reader():
    cyclewatch.register_owner(Owner, wait_for_alarm)
    signal.signal(signal.SIGALRM, on_alarm)
    with cyclewatch.watch(devices="cpu"), another_gc_callback():
        go_on_until_the_deadline("reader")


def callback_after_ours_and_callback():
    cyclewatch.register_owner(Owner, answer)

    def end(_report):
        sys.exit(5)

    with cyclewatch.observe_tensor_cycles(end, devices="cpu"), another_gc_callback():
        make_chain(1)
        gc.collect()
        some_bytecodes()


def callback_after_ours_that_appends_more():
    """Nobody is called more or less often for it that our entry comes and goes."""
    cyclewatch.register_owner(Owner, answer)
    calls = []

    def third(phase, info):
        calls.append(("third", phase))

    def second(phase, info):
        calls.append(("second", phase))
        some_bytecodes()
        if phase == "stop" and third not in gc.callbacks:
            gc.callbacks.append(third)

    before = list(gc.callbacks)
    with cyclewatch.observe_tensor_cycles(lambda report: calls.append("told"), devices="cpu"):
        gc.callbacks.append(second)
        for _ in range(2):
            make_chain(1)
            gc.collect()
            some_bytecodes()
    gc.callbacks.remove(second)
    gc.callbacks.remove(third)
    print(calls, gc.callbacks == before)


@contextlib.contextmanager
def another_gc_callback():
    def run_some_bytecodes(phase, info):
        some_bytecodes()

    gc.callbacks.append(run_some_bytecodes)
    places = list(gc.callbacks)
    try:
        yield
    finally:
        print("same places", gc.callbacks == places)
        gc.callbacks.remove(run_some_bytecodes)


class LastHolder(Owner):
    """Stops the watch when it is finalized."""

    watch = None

    def __del__(self):
        if self.watch is not None:
            self.watch.stop()
            some_bytecodes()


def finalizer_that_stops_the_last_watch():
    cyclewatch.register_owner(LastHolder, wait_for_alarm)
    signal.signal(signal.SIGALRM, on_alarm)
    LastHolder.watch = cyclewatch.watch(devices="cpu")
    with another_gc_callback():
        try:
            make_chain(1, LastHolder)
            gc.collect()
            some_bytecodes()
        except DeadlineError:
            print("finalizer met its deadline")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
