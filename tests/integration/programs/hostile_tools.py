# SPDX-License-Identifier: Apache-2.0
"""Other tools in the same process: gc callbacks, tracers, debuggers, whatever else looks on."""

import faulthandler
import gc
import signal
import sys
import threading
import tracemalloc
import weakref

from acts import Owner, cycle, main


def entry_of_the_watch():
    """The entry that is not ours, or one that does as little."""
    return next((e for e in gc.callbacks if "cyclewatch" in repr(e)), lambda *arguments: None)


def leak(times=1):
    for _ in range(times):
        cycle()
    return gc.collect()


def callbacks_in_another_order():
    told = []

    def first(phase, info):
        told.append(("first", phase))

    def last(phase, info):
        told.append(("last", phase))

    gc.callbacks.insert(0, first)
    gc.callbacks.append(last)
    leak()
    gc.callbacks.reverse()
    leak()
    gc.callbacks.sort(key=id)
    leak()
    print(len(told))
    gc.callbacks.remove(first)
    gc.callbacks.remove(last)


def callbacks_that_raise():
    def raising(phase, info):
        raise RuntimeError(phase)

    gc.callbacks.insert(0, raising)
    gc.callbacks.append(raising)
    print(leak())
    gc.callbacks.remove(raising)
    gc.callbacks.remove(raising)


def callback_that_keeps_what_it_meets():
    # As tools do that look for what was there before: the canary is in the list, and no garbage.
    kept = []

    def keep(phase, info):
        if phase == "start" and not kept:
            kept.append(gc.get_objects())

    gc.callbacks.append(keep)
    print([leak() for _ in range(3)])
    gc.callbacks.remove(keep)


def callbacks_that_collect():
    def collecting(phase, info):
        cycle()
        print(phase, gc.collect())

    gc.callbacks.insert(0, collecting)
    gc.callbacks.append(collecting)
    leak()
    gc.callbacks.remove(collecting)
    gc.callbacks.remove(collecting)
    print(gc.collect() > 0)


def callbacks_that_clear_the_list():
    def clearing(phase, info):
        if phase == "start":
            gc.callbacks.clear()

    gc.callbacks.insert(0, clearing)
    leak()
    print(len(gc.callbacks))


def callback_that_takes_the_watch_out_in_the_middle():
    entry = entry_of_the_watch()

    def out_and_in(phase, info):
        if phase == "start":
            for each in [each for each in gc.callbacks if each == entry]:
                gc.callbacks.remove(each)

    gc.callbacks.append(out_and_in)
    leak()
    gc.callbacks.remove(out_and_in)
    print(len(gc.callbacks))


def entry_called_by_anybody():
    entry = entry_of_the_watch()
    calls = [
        *[(), ("start",), ("stop", None), ("start", {}), ("start", {"generation": "x"})],
        *[("start", None), ("start", []), (1, 2), ("stop", {}), ("neither", {})],
        *[("start", {"generation": 2**70}), ("start", {"generation": -5}), ("start", {}, 3)],
    ]

    def call_all(*ignored):
        for call in calls:
            entry(*call)

    call_all()
    node = cycle()
    references = [weakref.ref(node, call_all) for _ in range(3)]
    del node
    node = cycle()
    weakref.finalize(node, call_all)
    del node
    print(gc.collect() > 0, len(references))
    thread = threading.Thread(target=call_all)
    thread.start()
    thread.join()
    entry("stop", {})
    print(leak() > 0)


def profiler():
    events = []

    def note(frame, event, argument):
        events.append((event, frame.f_code.co_name, getattr(argument, "__name__", None)))

    sys.setprofile(note)
    leak(2)
    sys.setprofile(None)
    for event in events:
        print(*event)


def tracer():
    events = []

    def note(frame, event, argument):
        events.append((event, frame.f_code.co_name, frame.f_lineno))
        return note

    sys.settrace(note)
    leak(2)
    sys.settrace(None)
    for event in events:
        print(*event)


def profiler_that_collects():
    def note(frame, event, argument):
        cycle()
        gc.collect()

    sys.setprofile(note)
    leak(2)
    sys.setprofile(None)
    print(gc.collect() > 0)


def tracer_that_raises():
    def note(frame, event, argument):
        raise RuntimeError("raised in a tracer")

    sys.settrace(note)
    try:
        leak()
    except RuntimeError as error:
        print(error, sys.gettrace())
    sys.settrace(None)
    print(leak() > 0)


def monitoring():
    if not hasattr(sys, "monitoring"):
        print("none before 3.12")
        leak(3)
        return
    events = []
    tool = sys.monitoring
    tool.use_tool_id(3, "test")
    every = [name for name in dir(tool.events) if name.isupper() and name != "NO_EVENTS"]
    for name in every:
        event = getattr(tool.events, name)

        def note(code, *arguments, name=name):
            if code.co_filename == __file__:
                events.append((name, code.co_name))

        tool.register_callback(3, event, note)
    wanted = sum(getattr(tool.events, name) for name in every if not name.startswith("C_"))
    tool.set_events(3, wanted)
    leak(2)
    tool.set_events(3, 0)
    tool.free_tool_id(3)
    for event in events:
        print(*event)
    leak()


def freezing():
    gc.collect()
    before = len(gc.get_objects())
    cycle()
    gc.freeze()
    print(gc.collect(), gc.get_freeze_count() - before)
    gc.unfreeze()
    print(gc.collect(), gc.get_freeze_count())


def switched_off():
    gc.disable()
    for _ in range(2000):
        cycle()
    print(gc.isenabled(), gc.get_count()[0] > 2000)
    print(gc.collect() >= 2000)


def saving_everything():
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    cycle()
    print(gc.collect(), sorted(type(kept).__name__ for kept in gc.garbage))
    gc.set_debug(0)
    gc.garbage.clear()
    print(gc.collect(), gc.garbage)


def other_watchers():
    tracemalloc.start(25)
    faulthandler.enable()
    leak()
    kept = bytearray(1 << 16)
    snapshot = tracemalloc.take_snapshot()
    print(len(snapshot.traces) > 0, len(kept))
    tracemalloc.stop()
    leak()


def alarms():
    # Signals arrive at every place of a collection; their handlers run.
    rung = []
    signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    while len(rung) < 50:
        leak()
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(len(rung) >= 50)


def detector_of_torch():
    # Its own detector of cycles, armed as its warn_tensor_cycles() arms it.
    import torch
    from torch.utils.viz._cycles import observe_garbage

    found = []
    remove = observe_garbage(lambda garbage: found.append(sum(type(x) is Owner for x in garbage)))
    for _ in range(3):
        cycle()
        gc.collect()
        str(torch)
        print(sorted(found), gc.get_debug(), sys.getprofile())
    remove()
    print(leak() > 0)


ACTS = {
    act.__name__: act
    for act in (
        callbacks_in_another_order,
        callbacks_that_raise,
        callback_that_keeps_what_it_meets,
        callbacks_that_collect,
        callbacks_that_clear_the_list,
        callback_that_takes_the_watch_out_in_the_middle,
        entry_called_by_anybody,
        profiler,
        tracer,
        profiler_that_collects,
        tracer_that_raises,
        monitoring,
        freezing,
        switched_off,
        saving_everything,
        other_watchers,
        alarms,
        detector_of_torch,
    )
}

if __name__ == "__main__":
    main(ACTS)
