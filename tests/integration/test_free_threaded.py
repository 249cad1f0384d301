# SPDX-License-Identifier: Apache-2.0
"""Free-threaded builds: the GIL stays off, and what a watch counts is exact while threads run.

What needs no GIL to be asked runs on every interpreter; a version whose collector was never looked
at refuses, in one sentence.
"""

import json

import pytest

REFUSED = 78

START = """
import gc, json, sys, threading

try:
    import cyclewatch
    cyclewatch.watch  # loads the extension
except ImportError as error:
    print(json.dumps([str(error), getattr(sys, "_is_gil_enabled", lambda: True)()]))
    raise SystemExit(78)

class Buffer(bytearray):
    pass

def read(buffer):
    return {"device": "cpu", "nbytes": len(buffer)}

cyclewatch.register_owner(Buffer, read)
"""

GIL = """
answers = [sys._is_gil_enabled()]
with cyclewatch.watch(devices=("cpu",)) as watch:
    cycle = [Buffer(10)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    answers.append(sys._is_gil_enabled())
answers.append(sys._is_gil_enabled())
print(json.dumps([answers, watch.report().retained_bytes, watch.report().processes[0].strategy]))
"""

STRESS = """
THREADS, ROUNDS, SIZE = 8, 400, 64

class Node:
    pass

class Slotted:
    __slots__ = ("me", "buffer")

def instance():
    node = Node()
    node.me, node.buffer = node, Buffer(SIZE)

def slotted():  # a plain bytearray is none of the collector's objects
    node = Slotted()
    node.me, node.buffer = node, bytearray(SIZE)

def closure():
    buffer = Buffer(SIZE)
    def inner():
        return inner, buffer

def containers():
    table = {"buffer": Buffer(SIZE)}
    table["list"] = [table]

def suspended():
    def steps():
        held, me = Buffer(SIZE), generator
        yield held, me
    generator = steps()
    next(generator)

KINDS = [instance, slotted, closure, containers, suspended]
cyclewatch.register_owner(bytearray, read)
failures = []
started = threading.Barrier(THREADS)

def use_the_api(watch, turn):
    if turn % 7 == 0:
        gc.collect()
    if turn % 11 == 0:
        watch.stats, watch.active, watch.report_paths
    if turn % 31 == 0:
        watch.step(turn)
    if turn % 61 == 0:
        watch.report().to_json()
    if turn % 71 == 0:
        class Other(bytearray):
            pass
        cyclewatch.register_owner(Other, read)
        cyclewatch.unregister_owner(Other)
    if turn % 101 == 0:
        with cyclewatch.observe_tensor_cycles(lambda report: None, devices=("cpu",)):
            pass
    if turn % 151 == 0:
        cyclewatch.ignore(signature=f"cw1-{turn:016x}", reason="never there")

def work(watch, number):
    try:
        started.wait()
        for turn in range(ROUNDS):
            KINDS[(turn + number) % len(KINDS)]()
            use_the_api(watch, turn + number)
    except BaseException as error:
        failures.append(repr(error))

with cyclewatch.watch(devices=("cpu",), budget=1.0) as watch:
    threads = [threading.Thread(target=work, args=(watch, n)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    gc.collect()
report = watch.report()
print(json.dumps({
    "failures": failures,
    "owners": watch.stats.owners,
    "held": report.retained_bytes,
    "occurrences": sorted(finding.occurrences for finding in report.findings),
    "skipped": dict(watch.stats.skipped),
    "gil": getattr(sys, "_is_gil_enabled", lambda: True)(),
}))
"""

REGISTERING = """
THREADS, ROUNDS = 8, 4000
failures = []
started = threading.Barrier(THREADS)

def work():
    class Own(bytearray):
        pass
    try:
        started.wait()
        for turn in range(ROUNDS):
            cyclewatch.register_owner(Own, read)
            cyclewatch.unregister_owner(Own)  # KeyError if another thread lost it
    except BaseException as error:
        failures.append(repr(error))

threads = [threading.Thread(target=work) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(failures))
"""

BLOCKED_READER = """
reading, answered = threading.Event(), threading.Event()
in_time = []

def patient(buffer):
    reading.set()
    in_time.append(answered.wait(60))
    return read(buffer)

cyclewatch.register_owner(Buffer, patient)
with cyclewatch.watch(devices=("cpu",)) as watch:
    def ask():
        reading.wait(60)
        watch.stats, watch.report()
        cyclewatch.register_owner(bytearray, read)
        answered.set()

    asking = threading.Thread(target=ask)
    asking.start()
    cycle = [Buffer(10)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    asking.join()
print(json.dumps([in_time, watch.report().retained_bytes]))
"""

FORK = """
import os

gc.disable()  # a child forked amid another thread's collection never collects: that is CPython's
ready = threading.Event()
stop = []

def keep_asking(watch):
    while not stop:
        watch.stats, watch.report()
        ready.set()

with cyclewatch.watch(devices=("cpu",)) as watch:
    threads = [threading.Thread(target=keep_asking, args=(watch,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    ready.wait()
    statuses = []
    for _ in range(20):
        child = os.fork()
        if child == 0:
            cycle = [Buffer(10)]
            cycle.append(cycle)
            del cycle
            gc.collect()
            os._exit(0 if watch.report().retained_bytes == 10 else 1)
        statuses.append(os.waitpid(child, 0)[1])
    stop.append(True)
    for thread in threads:
        thread.join()
print(json.dumps(statuses))
"""


def answer_of(interpreter, program):
    outcome = interpreter.run(START + program, check=False)
    if outcome.returncode == REFUSED:
        pytest.skip("this version is refused")
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(outcome.stdout.splitlines()[-1])


def test_unknown_free_threaded_version_is_refused_in_one_sentence(interpreter):
    outcome = interpreter.run(START, check=False)
    if outcome.returncode != REFUSED:
        pytest.skip("a watch is possible here")
    sentence, gil = json.loads(outcome.stdout)
    assert sentence.startswith("cyclewatch does not support this free-threaded version of CPython")
    assert not gil


def test_gil_stays_off_through_import_and_watch(interpreter):
    if not interpreter.free_threaded:
        pytest.skip("this interpreter has a GIL")
    assert answer_of(interpreter, GIL) == [[False, False, False], 10, "ride-along"]


def test_every_cycle_is_found_once_while_eight_threads_use_the_api(interpreter):
    answer = answer_of(interpreter, STRESS)
    assert answer == {
        "gil": not interpreter.free_threaded,
        "failures": [],
        "owners": 8 * 400,
        "held": 64 * 8 * 400,
        "occurrences": [8 * 400 // 5] * 5,
        "skipped": {},
    }


def test_eight_threads_register_types_and_none_is_lost(interpreter):
    assert answer_of(interpreter, REGISTERING) == []


def test_reader_may_wait_for_a_thread_that_asks_the_watch(interpreter):
    in_time, held = answer_of(interpreter, BLOCKED_READER)
    assert in_time == [True]
    assert held == 10


def test_child_forked_while_threads_ask_goes_on_watching(interpreter):
    assert answer_of(interpreter, FORK) == [0] * 20
