# SPDX-License-Identifier: Apache-2.0
"""Few objects that die and millions of references between them; prints what the watch saw."""

import gc
import json
import operator

import cyclewatch


class Owner:
    answer = {"device": "cpu", "nbytes": 8}


def repeated():
    """One list that holds one object a million times."""
    owner = Owner()
    owner.rows = [owner] * 1_000_000


def dense():
    """Lists that each hold all of them."""
    lists = [[] for _ in range(900)]
    for each in lists:
        each.extend(lists)
    lists[0].append(Owner())


def seen(leak):
    """Retained bytes, owners, findings with a cycle, references that were left out."""
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        leak()
        gc.collect()
        report = watch.report()
        cycles = sum(bool(finding.cycle) for finding in report.findings)
        left_out = [number for what, number in watch.stats.skipped.items() if "references" in what]
        return [report.retained_bytes, watch.stats.owners, cycles, left_out]


cyclewatch.register_owner(Owner, operator.attrgetter("answer"))
gc.disable()
gc.collect()
print(json.dumps([seen(repeated), seen(dense)]))
