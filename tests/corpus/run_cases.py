# SPDX-License-Identifier: Apache-2.0
"""Runs the corpus in one interpreter and prints the findings of each case as JSON.

A module of cases contains one program per cell; a cell begins with `# %% NAME`. Each cell is run
as a module with that name.

Usage: run_cases.py VARIANT...
       run_cases.py --repeat CASE TIMES
       run_cases.py --cards
"""

import ast
import gc
import json
import os
import re
import resource
import sys
import types
from pathlib import Path

import cyclewatch

FOLDER = Path(__file__).parent
SIZE = 1 << 20  # bytes that one Tensor owns
CELL = re.compile(r"^# %% (\w+)\n", re.MULTILINE)
INDEX = re.compile(r"\[[0-9]+\]")
sys.path.insert(0, str(FOLDER))

from variants import VARIANTS  # noqa: E402


class Tensor:
    """Stands in for a tensor; `alive_count` is the number of instances."""

    alive_count = 0

    def __init__(self):
        Tensor.alive_count += 1

    def __del__(self):
        Tensor.alive_count -= 1


def one_tensor():
    return Tensor()


def two_tensors():
    return [Tensor(), Tensor()]


def cells(*paths):
    """(name, path, source) of every cell in `paths`, by name.

    The source is preceded by empty lines, so that its line numbers match the file.
    """
    found = []
    for path in paths:
        text = path.read_text()
        starts = [*CELL.finditer(text)]
        ends = [start.start() for start in starts[1:]] + [len(text)]
        for start, end in zip(starts, ends, strict=True):
            padding = "\n" * text.count("\n", 0, start.end())
            found.append((start[1], path, padding + text[start.end() : end]))
    return sorted(found)


def all_cases(folder=FOLDER):
    return cells(*(folder / "cases").glob("*.py"))


def load(cell, variant):
    """The module of a cell, whose source `variant` rewrites."""
    name, path, source = cell
    tree = VARIANTS[variant](ast.parse(source))
    module = types.ModuleType(name)
    sys.modules[name] = module
    module.extra_tensor = one_tensor
    exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), module.__dict__)
    return module


def reference_text(reference):
    holder = reference.holder.rsplit(".", 1)[-1].rsplit(" ", 1)[-1]
    return f"{holder} {INDEX.sub('[x]', reference.label)}"


def answers_of(finding):
    """The suggestions in order; the references of a set are joined by ' + '."""
    first = sorted(map(reference_text, finding.cuts))
    return [" + ".join(first), *map(reference_text, finding.alternatives)]


def observe(function, payload):
    """Findings, and the number of tensors that are alive before and after a collection."""
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


def run_case(cell, variant):
    module = load(cell, variant)
    payload = two_tensors if variant == "doubled" else one_tensor
    return {
        "summary": module.__doc__,
        "miss": getattr(module, "MISS", ""),
        "expected": [" + ".join(sorted(answer.split(" + "))) for answer in module.EXPECTED],
        "leaky": observe(module.leaky, payload),
        "fixed": observe(module.fixed, payload),
    }


def run_control(cell):
    module = load(cell, "plain")
    return {"summary": module.__doc__, **observe(module.control, one_tensor)}


def repeat_case(cell, times):
    """Occurrences and bytes of each finding, and the growth of the process.

    Garbage is collected after each tenth of the runs; growth is measured from the second time on.
    """
    module = load(cell, "plain")
    pages = []
    # This program leaks all the time, so it would exceed any smaller budget on a busy machine.
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


def card_of(cell):
    module = load(cell, "plain")
    with cyclewatch.watch(devices="all") as watch:
        module.leaky(one_tensor)
        gc.collect()
    [finding] = watch.report().findings
    return finding.to_text()


def print_cards():
    """Print the card of each case; paths are relative to the current directory."""
    cases = all_cases(Path(os.path.relpath(FOLDER)))
    print(json.dumps({cell[0]: card_of(cell) for cell in cases}))


def watch_stand_ins():
    """Register Tensor as an owner of device memory and disable automatic collections.

    The heap is frozen, so that each collection examines only the objects of a case.
    """
    gc.disable()
    gc.collect()
    gc.freeze()
    cyclewatch.register_owner(
        Tensor, lambda tensor: {"device": "cuda:0", "nbytes": SIZE, "data_ptr": id(tensor)}
    )


def main(variants):
    cases = all_cases()
    controls = cells(FOLDER / "controls.py")
    outcome = {
        "version": "{}.{}".format(*sys.version_info),
        "cases": {v: {cell[0]: run_case(cell, v) for cell in cases} for v in variants},
        "controls": {cell[0]: run_control(cell) for cell in controls},
    }
    print(json.dumps(outcome))


if __name__ == "__main__":
    watch_stand_ins()
    if sys.argv[1] == "--repeat":
        [case] = [cell for cell in all_cases() if cell[0] == sys.argv[2]]
        print(json.dumps(repeat_case(case, int(sys.argv[3]))))
    elif sys.argv[1] == "--cards":
        print_cards()
    else:
        main(sys.argv[1:])
