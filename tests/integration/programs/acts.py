# SPDX-License-Identifier: Apache-2.0
"""Helpers of the hostile programs: an owner, a cycle, and `main()`, which runs one act.

PROGRAM ACT [--watch]. The output of an act must be the same with and without a watch. With
`--watch` one more line follows: the retained bytes and the titles of the report, and whether this
interpreter's collector clears the weak references to all unreachable objects.
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
    """Owns eight bytes."""

    answer = {"device": "cpu", "nbytes": 8}


class Node:
    """An object for cycles."""


def cycle(**attributes):
    """A cycle of one Node that holds an owner of eight bytes."""
    node = Node()
    node.me = node
    node.owner = Owner()
    node.__dict__.update(attributes)
    return node


def summary_of(watch):
    """The report of a watch as one line."""
    report = watch.report()
    titles = sorted(finding.title for finding in report.findings)
    return json.dumps([report.retained_bytes, titles, CLEARS_WEAKREFS])


def start_watch(**options):
    """Start a watch that knows Owner."""
    import cyclewatch

    # A reader written in C, which tracers and profilers do not see.
    cyclewatch.register_owner(Owner, operator.attrgetter("answer"))
    if FREE_THREADED:
        # Code objects of recently imported modules are garbage on free-threaded builds.
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
        line = summary_of(watch)
    sys.stdout.flush()
    print(line)
