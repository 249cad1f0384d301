# SPDX-License-Identifier: Apache-2.0
"""Started by a .pth file in every process of a test run, before the program's first line.

CYCLEWATCH_REGRTEST says how the process is watched:

- "off": not at all;
- "idle": not at all, but gc.callbacks has an entry that does nothing;
- "walk": nothing owns memory, as in most programs;
- "watch": every list counts as an owner, so that most garbage goes the whole way to findings.

CYCLEWATCH_REGRTEST_THRESHOLD is gc's first threshold.
"""

import os


def read_list(owner):
    """Every list owns as many bytes as it is long."""
    return {"device": "cpu", "nbytes": len(owner), "data_ptr": id(owner)}


def start():
    """Do what the environment asks for."""
    mode = os.environ.get("CYCLEWATCH_REGRTEST", "off")
    threshold = os.environ.get("CYCLEWATCH_REGRTEST_THRESHOLD")
    if threshold:
        import gc

        gc.set_threshold(int(threshold))
    if mode == "idle":
        import gc
        import operator

        gc.callbacks.append(operator.is_)
    if mode in ("off", "idle"):
        return
    try:
        from cyclewatch import register_owner, watch
    except ImportError:
        return  # a subinterpreter: the extension is for the main one

    if mode == "watch":
        register_owner(list, read_list)
    watch(devices="all", budget=1.0)


start()
