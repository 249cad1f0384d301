# SPDX-License-Identifier: Apache-2.0
"""Started by a .pth file in every process of a test run, before the program's first line.

The file `watch` in the environment's folder says how the process is watched; it is a file so that
children with an environment of their own are watched too:

- "off": not at all;
- "idle": not at all, but gc.callbacks has an entry that does nothing;
- "walk": nothing owns memory, as in most programs;
- "watch": every list counts as an owner, so that most garbage goes the whole way to findings.

A number after it is gc's first threshold.
"""

import sys


def read_list(owner):
    """Every list owns as many bytes as it is long."""
    return {"device": "cpu", "nbytes": len(owner), "data_ptr": id(owner)}


def start():
    """Do what the file asks for."""
    with open(sys.prefix + "/watch", encoding="ascii") as file:
        mode, *threshold = file.read().split()
    if threshold:
        import gc

        gc.set_threshold(int(threshold[0]))
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
