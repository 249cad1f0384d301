# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, everything that a program can observe about the cycle collector.

Usage: transparency_program.py [--watch [--warn]] [--census] [--owners] [--torch] [--threshold N].

`--watch` starts a watch, and `--census` lists the live owners before each collection. Neither may
change the output.
"""

import argparse
import collections
import functools
import gc
import json
import logging
import os
import sys
import sysconfig
import tokenize  # noqa: F401 - a watch that warns imports it, to read source code
import warnings
import weakref

ROUNDS = 6
AUTOMATIC_ROUNDS = 40
GROWING_ROUNDS = 1500
EVENTS = []


class Node:
    """Garbage that records its finalization and its references."""

    def __init__(self, name):
        self.name = name
        self.peer = None

    def __del__(self):
        # If the watch materialised the __dict__, the dict would be among the referents.
        kinds = sorted(type(referent).__name__ for referent in gc.get_referents(self))
        record("finalized", self.name, *kinds)


class Silent:
    """Garbage without a finalizer."""


# Whether resurrected objects own memory.
RESCUE = "--no-rescue" not in sys.argv


class Resurrected:
    """Garbage that is resurrected once."""

    def __del__(self):
        record("saved", *new_objects_of_ours())
        SAVED.append(self)


class Buffer:
    """Owns memory if a reader is registered for this type."""

    def __init__(self, nbytes):
        self.nbytes = nbytes


# From 3.15 on gc.get_stats() includes durations and the number of examined objects, which include
# our canary or the lists of the heap scan.
HEAP_SCAN = os.environ.get("CYCLEWATCH_STRATEGY") == "heap-scan"
CANARIES = int("--watch" in sys.argv)

# On free-threaded builds, counts are per thread and garbage is found in address order, so both
# depend on earlier allocations.
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
get_count = (lambda: None) if FREE_THREADED else gc.get_count

SAVED = []
AT_START = set()


def record(*words):
    # Strings are not tracked, so they do not count in later collections.
    EVENTS.append(" ".join(map(str, words)))


def new_objects_of_ours():
    """The type names of cyclewatch's tracked objects, except those tracked at program start."""
    return sorted(
        type(object).__qualname__
        for object in gc.get_objects()
        if "cyclewatch" in type(object).__module__ and id(object) not in AT_START
    )


def on_gone(name, reference):
    record("gone", name, reference() is None, *new_objects_of_ours())


def comparable(stats, collections):
    """The deterministic part of gc.get_stats()."""
    stats = {name: value for name, value in stats.items() if name != "duration"}
    if "candidates" in stats:
        stats["candidates"] -= CANARIES * collections
    if HEAP_SCAN:
        stats.pop("candidates", None)
    return stats


def on_collection(name, phase, info):
    values = comparable(info, phase == "stop")
    record(
        name, phase, *sorted(values.items()), *(new_objects_of_ours() if phase == "stop" else [])
    )


def ignore_collection(phase, info):
    pass


def make_garbage(number, payload):
    """Create garbage of every kind, and return weakrefs whose callbacks must be called."""
    left, right = Node(f"left {number}"), Node(f"right {number}")
    left.peer, right.peer = right, left
    left.payload = payload()
    silent = Silent()
    silent.self = silent
    silent.call = lambda: silent
    silent.bound = functools.partial(print, silent, keyword=silent)
    if number % 2:
        saved = Resurrected()
        saved.self = saved
        saved.payload = payload() if RESCUE else None
    return [
        weakref.ref(object, functools.partial(on_gone, f"{kind} {number}"))
        for kind, object in (("left", left), ("right", right), ("silent", silent))
    ]


def make_suspended(payload):
    """Leave a suspended generator in a cycle; its `finally` block runs when it is finalized."""

    def generate():
        held = payload()
        me = [generator]
        try:
            yield
        finally:
            record("closed", type(held).__name__, len(me))

    generator = generate()
    next(generator)


def no_census():
    pass


def take_census():
    """Call every function that examines reachable objects."""
    cyclewatch = sys.modules["cyclewatch"]
    owners = cyclewatch.live_owners(min_bytes=0)
    assert owners == [] or owners[0].held_by
    cyclewatch.census().diff(cyclewatch.census())
    cyclewatch.why_alive(SAVED)


def run(payload, examine):
    """Collect garbage of every generation, and return the results of the collections."""
    answers = []
    references = []
    for number in range(ROUNDS):
        references += make_garbage(number, payload)
        if number % 3 == 1:
            make_suspended(payload)
        counts = [get_count()]
        kept = [Silent() for _ in range(50)]
        counts.append(get_count())
        examine()
        answers.append([number, gc.collect(number % 3), counts, get_count(), len(kept)])
        SAVED.clear()
    answers += [gc.collect(), gc.collect(), len(references)]
    return answers


def run_automatic(payload):
    """Rely on automatic collections."""
    counts = []
    for number in range(AUTOMATIC_ROUNDS):
        make_garbage(number, payload)
        counts.append(get_count())
    SAVED.clear()
    return counts


def run_growing(payload):
    """Keep most objects, because the number of survivors decides when a full collection is due."""
    kept = []
    for number in range(GROWING_ROUNDS):
        kept.append(Silent())
        if number % 16 == 0:
            cyclic = Silent()
            cyclic.self, cyclic.payload = cyclic, payload()
    return len(kept)


def payload_of(arguments):
    if arguments.torch:
        import torch

        return lambda: torch.zeros(16)
    return (lambda: Buffer(64)) if arguments.owners else Silent


def start_watch(arguments):
    """Start a watch if the arguments request one."""
    if not arguments.watch and not arguments.census:
        return None
    import cyclewatch

    if arguments.owners:
        cyclewatch.register_owner(
            Buffer,
            lambda buffer: {"device": "cpu", "nbytes": buffer.nbytes, "data_ptr": id(buffer)},
        )
    if not arguments.watch:
        return None
    if not arguments.warn:
        return cyclewatch.watch(devices="all", budget=1)
    warnings.simplefilter("ignore")
    logging.getLogger("cyclewatch").setLevel(logging.CRITICAL)
    return cyclewatch.warn_tensor_cycles(devices="all", budget=1, formats=())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--warn", action="store_true", help="the watch warns")
    parser.add_argument("--census", action="store_true")
    parser.add_argument("--owners", action="store_true")
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--no-rescue", action="store_true")
    parser.add_argument("--threshold", type=int)
    arguments = parser.parse_args()
    payload = payload_of(arguments)
    gc.disable()
    callbacks = [functools.partial(on_collection, name) for name in ("before", "after")]
    gc.callbacks.append(callbacks[0])
    watch = start_watch(arguments)
    gc.callbacks.append(callbacks[1])
    examine = take_census if arguments.census else no_census
    examine()
    gc.collect()
    # Exclude live objects, so that the heap has the same size with and without a watch.
    gc.freeze()
    AT_START.update(map(id, gc.get_objects()))
    EVENTS.clear()
    at_first = gc.get_stats()
    answers = {"explicit": run(payload, examine)}
    if arguments.threshold is not None:
        gc.set_threshold(arguments.threshold)
        gc.enable()
        answers["automatic"] = run_automatic(payload)
        # Keep one callback: without any, the collector does not create `info` dicts.
        gc.callbacks.append(ignore_collection)
        for callback in callbacks:
            gc.callbacks.remove(callback)
        gc.set_threshold(arguments.threshold, 2, 2)
        answers["growing"] = run_growing(payload)
        gc.disable()
    answers["after"] = [gc.collect(), gc.get_debug(), gc.get_threshold(), len(gc.garbage)]
    answers["stats"] = [
        comparable(
            {name: now[name] - then[name] for name in now},
            now["collections"] - then["collections"],
        )
        for now, then in zip(gc.get_stats(), at_first)
    ]
    answers["events"] = sorted(EVENTS) if FREE_THREADED else EVENTS
    answers["ours"] = new_objects_of_ours()
    answers["tracked"] = collections.Counter(type(object).__name__ for object in gc.get_objects())
    if watch is not None:
        watch.stop()
        print(json.dumps(watch.stats.owners), file=sys.stderr)
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
