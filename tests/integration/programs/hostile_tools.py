# SPDX-License-Identifier: Apache-2.0
"""Other tools in the same process: gc callbacks, tracers, debuggers. PROGRAM SCENARIO [--watch]."""

import gc
import signal
import sys

from scenarios import Owner, cycle, main


def leak(times=1):
    for _ in range(times):
        cycle()
    return gc.collect()


def callbacks_in_another_order():
    seen = []

    def first(phase, info):
        seen.append(("first", phase))

    def last(phase, info):
        seen.append(("last", phase))

    gc.callbacks.insert(0, first)
    gc.callbacks.append(last)
    leak()
    gc.callbacks.reverse()
    leak()
    gc.callbacks.sort(key=id)
    leak()
    print(len(seen))
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
    # Memory profilers do this. The list refers to the canary, so the canary is not garbage.
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


def saving_everything():
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    cycle()
    print(gc.collect(), sorted(type(kept).__name__ for kept in gc.garbage))
    gc.set_debug(0)
    gc.garbage.clear()
    print(gc.collect(), gc.garbage)


def alarms():
    # Signals arrive throughout collections; their handlers run.
    rung = []
    signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    while len(rung) < 50:
        leak()
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(len(rung) >= 50)


def detector_of_torch():
    # torch's own cycle detector, enabled in the same way as by torch's warn_tensor_cycles().
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


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        callbacks_in_another_order,
        callbacks_that_raise,
        callback_that_keeps_what_it_meets,
        callbacks_that_collect,
        callbacks_that_clear_the_list,
        profiler,
        tracer,
        monitoring,
        freezing,
        saving_everything,
        alarms,
        detector_of_torch,
    )
}

if __name__ == "__main__":
    main(SCENARIOS)
