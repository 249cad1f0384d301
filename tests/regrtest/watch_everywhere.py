# SPDX-License-Identifier: Apache-2.0
"""Imported by a .pth file in every process of a test run.

The file `watch` in the virtual environment selects the kind of watch. A file is used instead of a
variable so that child processes with another environment are watched, too:

- "off": no watch;
- "idle": no watch, but a no-op callback in gc.callbacks;
- "walk": a watch, but no object owns memory, as in most programs;
- "watch": every list is an owner, so most garbage is analysed.

A number after the word sets the first threshold of gc.
"""

import sys


def read_list(owner):
    """Report that a list owns one byte per element."""
    return {"device": "cpu", "nbytes": len(owner), "data_ptr": id(owner)}


def start():
    """Start the watch that the file selects."""
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
        return  # subinterpreters cannot import the extension

    if mode == "watch":
        register_owner(list, read_list)
    watch(devices="all", budget=1.0)


start()
