# SPDX-License-Identifier: Apache-2.0
"""Runs the corpus under one interpreter and prints, as JSON, what cyclewatch said of each case.

Usage: run_cases.py VARIANT...
       run_cases.py --repeat CASE_FILE TIMES
"""

import ast
import gc
import json
import re
import resource
import sys
import types
from pathlib import Path

import cyclewatch

FOLDER = Path(__file__).parent
SIZE = 1 << 20  # of the memory that a Tensor stands for
INDEX = re.compile(r"\[[0-9]+\]")
sys.path.insert(0, str(FOLDER))

from variants import VARIANTS  # noqa: E402


class Tensor:
    """Stands for a tensor; alive_count tells how many there are."""

    alive_count = 0

    def __init__(self):
        Tensor.alive_count += 1

    def __del__(self):
        Tensor.alive_count -= 1


def one_tensor():
    return Tensor()


def two_tensors():
    return [Tensor(), Tensor()]


def load(path, variant):
    """The case at `path`, rewritten, as a module."""
    tree = VARIANTS[variant](ast.parse(path.read_text()))
    module = types.ModuleType(path.stem)
    sys.modules[path.stem] = module
    module.extra_tensor = one_tensor
    exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), module.__dict__)
    return module


def reference_text(reference):
    holder = reference.holder.rsplit(".", 1)[-1].rsplit(" ", 1)[-1]
    return f"{holder} {INDEX.sub('[x]', reference.label)}"


def answers_of(finding):
    """The suggestions of a finding in order; the references of a set are joined by ' + '."""
    first = sorted(map(reference_text, finding.cuts))
    return [" + ".join(first), *map(reference_text, finding.alternatives)]


def observe(function, payload):
    """What is found, how many tensors live on without it, and how many in spite of it."""
    gc.collect()
    before = Tensor.alive_count
    with cyclewatch.watch(devices="all") as watch:
        kept = function(payload)
        waiting = Tensor.alive_count - before
        gc.collect()
    report = watch.report()
    rooted = Tensor.alive_count - before
    del kept
    gc.collect()
    findings = [
        {
            "answers": answers_of(finding),
            "tie": finding.tie,
            "pattern": finding.pattern,
            "signature": finding.signature,
            "title": finding.title,
            "retained_bytes": finding.retained_bytes,
            "shared_bytes": finding.shared_bytes,
            "count": finding.occurrences,
        }
        for finding in report.findings
    ]
    return {"findings": findings, "waiting": waiting, "rooted": rooted}


def run_case(path, variant):
    module = load(path, variant)
    payload = two_tensors if variant == "doubled" else one_tensor
    return {
        "summary": module.__doc__,
        "miss": getattr(module, "MISS", ""),
        "expected": [" + ".join(sorted(answer.split(" + "))) for answer in module.EXPECTED],
        "leaky": observe(module.leaky, payload),
        "fixed": observe(module.fixed, payload),
    }


def run_control(path):
    module = load(path, "plain")
    return {"summary": module.__doc__, **observe(module.control, one_tensor)}


def repeat_case(path, times):
    """What is found when the leaky variant runs `times` times, and how the process grew.

    Every tenth of the repeats is collected together; growth is counted from the second one on.
    """
    module = load(path, "plain")
    pages = []
    # It does nothing but leak: on a busy machine it would be over any smaller budget.
    with cyclewatch.watch(devices="all", budget=1) as watch:
        for done in range(1, times + 1):
            module.leaky(one_tensor)
            if done % (times // 10) == 0:
                gc.collect()
                pages.append(int(Path("/proc/self/statm").read_text().split()[1]))
    findings = [
        [finding.occurrences, finding.retained_bytes] for finding in watch.report().findings
    ]
    return {"findings": findings, "grown_bytes": (pages[-1] - pages[1]) * resource.getpagesize()}


def watch_stand_ins():
    """Makes cyclewatch take a Tensor for device memory; only explicit collections count."""
    gc.disable()
    cyclewatch.register_owner(
        Tensor, lambda tensor: {"device": "cuda:0", "nbytes": SIZE, "data_ptr": id(tensor)}
    )


def main(variants):
    watch_stand_ins()
    cases = sorted((FOLDER / "cases").glob("*.py"))
    controls = sorted((FOLDER / "controls").glob("*.py"))
    outcome = {
        "version": "{}.{}".format(*sys.version_info),
        "cases": {v: {path.stem: run_case(path, v) for path in cases} for v in variants},
        "controls": {path.stem: run_control(path) for path in controls},
    }
    print(json.dumps(outcome))


if __name__ == "__main__":
    if sys.argv[1] == "--repeat":
        watch_stand_ins()
        print(json.dumps(repeat_case(Path(sys.argv[2]), int(sys.argv[3]))))
    else:
        main(sys.argv[1:])
