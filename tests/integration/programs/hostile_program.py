# SPDX-License-Identifier: Apache-2.0
"""One hostile act against the watch, chosen by name. Prints what a test compares."""

import _imp
import ctypes
import functools
import gc
import importlib.machinery
import importlib.util
import logging
import multiprocessing
import operator
import os
import resource
import signal
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


class DeadlineError(Exception):
    """What a program has raised when an alarm goes off."""


def on_alarm(*_arguments):
    raise DeadlineError


def go_on_until_the_deadline(name):
    try:
        make_chain(1)
        gc.collect()
        for _ in range(1000):
            pass
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
        for _ in range(1000):
            pass
    except DeadlineError:
        print("met its deadline")
    with cyclewatch.watch(devices="cpu") as watch:
        cyclewatch.register_owner(Owner, answer)
        make_chain(1)
        gc.collect()
        print(watch.report().findings[0].title)


def deadline_while_the_module_is_imported():
    signal.signal(signal.SIGALRM, on_alarm)
    suffixes = importlib.machinery.EXTENSION_SUFFIXES
    folder = os.path.dirname(cyclewatch.__file__)
    paths = [os.path.join(folder, f"_native{suffix}") for suffix in suffixes]
    path = next(path for path in paths if os.path.exists(path))
    spec = importlib.util.spec_from_file_location("cyclewatch._native", path)
    module = importlib.util.module_from_spec(spec)
    interrupt = functools.partial(
        ctypes.pythonapi.PyErr_SetInterruptEx, ctypes.c_int(signal.SIGALRM)
    )
    initialise = functools.partial(_imp.exec_dynamic, module)
    try:
        # In C from the one to the other: no handler runs in between.
        list(map(operator.call, [interrupt, initialise]))
        for _ in range(1000):
            pass
    except DeadlineError:
        print("met its deadline", hasattr(module, "start_watch"))


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
        for _ in range(1000):
            pass
    print("went on")


def deadline_while_a_reader_runs():
    def wait_for_alarm(owner):
        signal.raise_signal(signal.SIGALRM)
        return answer(owner)

    cyclewatch.register_owner(Owner, wait_for_alarm)
    signal.signal(signal.SIGALRM, on_alarm)
    with cyclewatch.watch(devices="cpu"):
        go_on_until_the_deadline("reader")


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


def read_wrongly(_owner):
    raise ValueError("not now")


def message_at_a_full_stack():
    cyclewatch.register_owner(Owner, read_wrongly)
    told = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())
    logging.getLogger("cyclewatch").addHandler(handler)

    def dive(depth):
        if depth > 0:
            dive(depth - 1)
        else:
            gc.collect()
            for _ in range(100):
                pass

    gc.disable()
    with cyclewatch.watch(devices="cpu"):
        make_chain(1)
        # Room for a reader, and none for logging.
        dive(sys.getrecursionlimit() - 12)
        print("back", len(told))
    print("told", len(told), "not now" in told[0])


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
