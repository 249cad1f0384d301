# SPDX-License-Identifier: Apache-2.0
"""Imported by a .pth file in every process of a test run.

The file `watch` in the virtual environment selects the kind of watch. Unlike an environment
variable, the file also affects child processes that have a different environment. The file
contains one of these words:

- "off": no watch;
- "idle": no watch, but a no-op callback in gc.callbacks;
- "walk": a watch, but no object owns memory, as in most programs;
- "watch": every list counts as a memory owner, so most garbage is analyzed;
- "scan": a scan before every collection must find the objects that the collection finds.
  Differences are appended to the file `differences`. A dot is appended to the file `comparisons`
  for each comparison in which the scan found garbage.

If a number follows the word in the file, it becomes the first argument of gc.set_threshold().
"""

import sys


def read_list(owner):
    """Report that a list owns one byte per element."""
    return {"device": "cpu", "nbytes": len(owner), "data_ptr": id(owner)}


def compare_scans(active):
    """Scan at the start of each collection, and compare the results of the two."""
    import gc

    from cyclewatch import _native

    scanned = []

    def note(name, text):
        with open(f"{sys.prefix}/{name}", "a", encoding="utf-8") as file:
            file.write(text)

    def before(phase, info):
        if phase == "start":
            threads = len(sys._current_frames())
            report = _native.scan(info["generation"], False, ["all"], None)
            scanned[:] = [report.stats.unreachable, active.stats.unreachable, threads]

    def after(phase, info):
        if phase != "stop" or not scanned:
            return
        found, previous, threads = scanned
        scanned.clear()
        # Uncollectable objects are not part of the set that the watch sees.
        if info["uncollectable"] or not active.active:
            return
        # Other threads may have run between the scan and the collection.
        if max(threads, len(sys._current_frames())) > 1:
            return
        collected = active.stats.unreachable - previous
        note("comparisons", "." if found else "")
        if found != collected and not active.stats.skipped:
            code = sys._getframe(1).f_code
            note(
                "differences",
                f"{code.co_filename}:{code.co_name}: generation {info['generation']}: scan {found},"
                f" collection {collected} (reclaimed {info['collected']})\n",
            )

    # Scan before the watch arms its canary, which is unreachable. Compare after the watch has
    # counted the unreachable objects.
    gc.callbacks.insert(0, before)
    gc.callbacks.append(after)


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
    active = watch(devices="all", budget=1.0)
    if mode == "scan":
        register_owner(type("Nothing", (), {}), read_list)  # a watch without owners reads nothing
        compare_scans(active)


start()
