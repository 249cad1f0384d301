# SPDX-License-Identifier: Apache-2.0
"""A program that looks at everything the cycle collector shows, and prints it as JSON.

transparency_program.py [--watch [--warn]] [--owners] [--torch] [--threshold N]

`--watch` turns the watch on; everything printed must be the same without it.
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
import warnings
import weakref

ROUNDS = 6
AUTOMATIC_ROUNDS = 40
GROWING_ROUNDS = 1500
EVENTS = []


class Node:
    """Garbage that tells when it is finalized and what it then refers to."""

    def __init__(self, name):
        self.name = name
        self.peer = None

    def __del__(self):
        # A __dict__ that somebody made in passing would show up among the referents.
        kinds = sorted(type(referent).__name__ for referent in gc.get_referents(self))
        tell("finalized", self.name, *kinds)


class Silent:
    """Garbage without finalizer."""


# Whether what is saved by its finalizer holds an owner.
RESCUE = "--no-rescue" not in sys.argv


class Resurrected:
    """Garbage that saves itself once."""

    def __del__(self):
        tell("saved", *new_objects_of_ours())
        SAVED.append(self)


class Buffer:
    """Owns memory, says the reader that is registered for it."""

    def __init__(self, nbytes):
        self.nbytes = nbytes


# From 3.15 on the collector also tells how long each collection took and how many objects it looked
# at: our canary among them, or the lists that trial deletion makes.
TRIAL_DELETION = os.environ.get("CYCLEWATCH_STRATEGY") == "trial-deletion"
CANARIES = int("--watch" in sys.argv)

# On free-threaded builds each thread counts for itself first, and garbage is found in the order in
# which it stands in memory: what is shown of both depends on the past.
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
get_count = (lambda: None) if FREE_THREADED else gc.get_count

SAVED = []
AT_START = set()


def tell(*words):
    # Text, because what is tracked would count in the collections that follow.
    EVENTS.append(" ".join(map(str, words)))


def new_objects_of_ours():
    """Types of cyclewatch among the tracked objects that were not there at the start."""
    return sorted(
        type(object).__qualname__
        for object in gc.get_objects()
        if "cyclewatch" in type(object).__module__ and id(object) not in AT_START
    )


def on_gone(name, reference):
    tell("gone", name, reference() is None, *new_objects_of_ours())


def comparable(stats, collections):
    """What is the same on each run of the stats of so many collections."""
    stats = {name: value for name, value in stats.items() if name != "duration"}
    if "candidates" in stats:
        stats["candidates"] -= CANARIES * collections
    if TRIAL_DELETION:
        stats.pop("candidates", None)
    return stats


def on_collection(name, phase, info):
    told = comparable(info, phase == "stop")
    tell(name, phase, *sorted(told.items()), *(new_objects_of_ours() if phase == "stop" else []))


def ignore_collection(phase, info):
    pass


def make_garbage(number, payload):
    """One of each kind of garbage. Returns the weakrefs whose callbacks are to be called."""
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
    """A generator that waits inside a cycle it is part of, and would be closed by its finalizer."""

    def generate():
        held = payload()
        me = [generator]
        try:
            yield
        finally:
            tell("closed", type(held).__name__, len(me))

    generator = generate()
    next(generator)


def run(payload):
    """Makes garbage of every generation; returns what the collector said of it."""
    answers = []
    references = []
    for number in range(ROUNDS):
        references += make_garbage(number, payload)
        if number % 3 == 1:
            make_suspended(payload)
        counts = [get_count()]
        kept = [Silent() for _ in range(50)]
        counts.append(get_count())
        answers.append([number, gc.collect(number % 3), counts, get_count(), len(kept)])
        SAVED.clear()
    answers += [gc.collect(), gc.collect(), len(references)]
    return answers


def run_automatic(payload):
    """Leaves it to the collector when to run."""
    counts = []
    for number in range(AUTOMATIC_ROUNDS):
        make_garbage(number, payload)
        counts.append(get_count())
    SAVED.clear()
    return counts


def run_growing(payload):
    """Keeps most of what it makes: when a full collection is due depends on how much survived."""
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
    """The watch, or the same number of objects in its place."""
    if not arguments.watch:
        return None
    import cyclewatch

    if arguments.owners:
        cyclewatch.register_owner(
            Buffer,
            lambda buffer: {"device": "cpu", "nbytes": buffer.nbytes, "data_ptr": id(buffer)},
        )
    if not arguments.warn:
        return cyclewatch.watch(devices="all", budget=1)
    # What it says is its own; all else must be as without.
    warnings.simplefilter("ignore")
    logging.getLogger("cyclewatch").setLevel(logging.CRITICAL)
    return cyclewatch.warn_tensor_cycles(devices="all", budget=1, formats=())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--warn", action="store_true", help="the watch warns, and is not silent")
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
    gc.collect()
    # What is alive now no longer takes part: the heap is as large as without the watch.
    gc.freeze()
    AT_START.update(map(id, gc.get_objects()))
    EVENTS.clear()
    at_first = gc.get_stats()
    answers = {"explicit": run(payload)}
    if arguments.threshold is not None:
        gc.set_threshold(arguments.threshold)
        gc.enable()
        answers["automatic"] = run_automatic(payload)
        # One callback stays: with none at all the collector would not even make its `info`.
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
