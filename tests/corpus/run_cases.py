# SPDX-License-Identifier: Apache-2.0
"""Runs the corpus with one interpreter and prints the findings of each case as JSON.

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
SIZE = 1 << 20  # bytes of a Tensor
INDEX = re.compile(r"\[[0-9]+\]")
sys.path.insert(0, str(FOLDER))

from variants import VARIANTS  # noqa: E402


class Tensor:
    """A substitute for a tensor; alive_count is the number of live instances."""

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
    """Return the case at `path`, rewritten by `variant`, as a module."""
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
    """Return the suggestions of a finding in order; ' + ' joins the references of a set."""
    first = sorted(map(reference_text, finding.cuts))
    return [" + ".join(first), *map(reference_text, finding.alternatives)]


def observe(function, payload):
    """Return the findings, and the tensors that survive the call and the collection."""
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
    """Return the findings after `times` runs of the leaky variant, and the growth of the process.

    There are ten collections; growth is measured from the second one on.
    """
    module = load(path, "plain")
    pages = []
    # The program only leaks, so it would exceed a smaller budget on a busy machine.
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


def register_substitutes():
    """Register Tensor as an owner of device memory and disable automatic collection."""
    gc.disable()
    cyclewatch.register_owner(
        Tensor, lambda tensor: {"device": "cuda:0", "nbytes": SIZE, "data_ptr": id(tensor)}
    )


def main(variants):
    register_substitutes()
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
        register_substitutes()
        print(json.dumps(repeat_case(Path(sys.argv[2]), int(sys.argv[3]))))
    else:
        main(sys.argv[1:])
