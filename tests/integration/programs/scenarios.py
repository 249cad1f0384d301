# SPDX-License-Identifier: Apache-2.0
"""Helpers for the hostile programs: an owner, a cycle, and `main()`, which runs a scenario.

PROGRAM SCENARIO [--watch]. The output of a scenario must be the same with and without a watch. With
`--watch`, an additional line contains the retained bytes and the titles of the findings. The line
also shows whether this interpreter's collector clears the weak references to all unreachable
objects.
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
    """Return a Node that refers to itself and to an owner of eight bytes."""
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
    """Register Owner and start a watch."""
    import cyclewatch

    # A reader written in C, which tracers and profilers do not see.
    cyclewatch.register_owner(Owner, operator.attrgetter("answer"))
    if FREE_THREADED:
        # On free-threaded builds, code objects of recently imported modules are garbage.
        cyclewatch.watch().stop()
        gc.collect()
    return cyclewatch.watch(devices="cpu", budget=1, **options)


def main(scenarios):
    """Run the scenario named on the command line."""
    scenario = scenarios[sys.argv[1]]
    gc.disable()
    gc.collect()
    if "--watch" not in sys.argv:
        scenario()
        return
    with start_watch() as watch:
        scenario()
        line = summary_of(watch)
    sys.stdout.flush()
    print(line)
