# SPDX-License-Identifier: Apache-2.0
"""What the programs of hostile acts share: an owner, and the act with or without a watch.

PROGRAM ACT [--watch]. What an act prints belongs to the program and has to be the same either
way; with `--watch` one line follows it: the bytes that the watch says were held, the titles, and
whether this interpreter's collector clears the weak references to all that it gives up.
"""

import gc
import json
import operator
import sys
import sysconfig

# Since https://github.com/python/cpython/issues/91636.
CLEARS_WEAKREFS = sys.version_info >= (3, 14, 4) or (3, 13, 13) <= sys.version_info < (3, 14)

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


class Owner:
    """Says it owns eight bytes."""

    answer = {"device": "cpu", "nbytes": 8}


class Node:
    """An object to make cycles of."""


def cycle(**attributes):
    """A cycle of one Node that holds an owner. Whoever drops it leaves eight bytes of garbage."""
    node = Node()
    node.me = node
    node.owner = Owner()
    node.__dict__.update(attributes)
    return node


def held_by(watch):
    """What the watch says, as one line."""
    report = watch.report()
    titles = sorted(finding.title for finding in report.findings)
    return json.dumps([report.retained_bytes, titles, CLEARS_WEAKREFS])


def start_watch(**options):
    """A watch that sees owners."""
    import cyclewatch

    # A reader that is no Python code: no tracer, profiler or full stack has to do with it.
    cyclewatch.register_owner(Owner, operator.attrgetter("answer"))
    if FREE_THREADED:
        # There the code of modules that were imported just now waits for the collector.
        cyclewatch.watch().stop()
        gc.collect()
    return cyclewatch.watch(devices="cpu", budget=1, **options)


def main(acts):
    """Run the act that the command line names."""
    act = acts[sys.argv[1]]
    gc.disable()
    gc.collect()
    if "--watch" not in sys.argv:
        act()
        return
    with start_watch() as watch:
        act()
        line = held_by(watch)
    sys.stdout.flush()
    print(line)
