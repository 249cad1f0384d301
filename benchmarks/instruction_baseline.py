# SPDX-License-Identifier: Apache-2.0
"""Compares a watch's instruction counts with a baseline; fails if a count rises by more than 3%.

Runs the programs of bench_instructions.py under callgrind, with the development build. Counts the
instructions that the watch executes during collections, per unreachable object. The counts depend
on the interpreter and the compiler, and only slightly on the machine. Each combination of
interpreter, architecture and compiler has its own baseline file, which ``--update`` writes.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
from pathlib import Path

import bench_instructions
from bench_instructions import PROGRAMS

BASELINES = Path(__file__).parent / "baselines"
MAY_RISE = 0.03
ITERATIONS = 1_500
# The functions of the watch that the collector calls.
PARTS = ("*on_gc_event*", "*on_canary_unreachable*")


def kind() -> str:
    """Name the interpreter, architecture and compiler, for example ``cp311-x86_64-gcc12``."""
    compiler = platform.python_compiler().split(".")[0].replace(" ", "").lower()
    return f"cp{sys.version_info[0]}{sys.version_info[1]}-{platform.machine()}-{compiler}"


def count(program: str) -> float:
    """Return the number of instructions that the watch executes per unreachable object."""
    instructions, unreachable = bench_instructions.count(program, ITERATIONS, True, PARTS)
    return instructions / unreachable


def compare(counts: dict[str, float], baseline: dict[str, float]) -> list[str]:
    """Return a line for each count that rose by more than MAY_RISE or is not in `baseline`."""
    unknown = [f"{PROGRAMS[program][0]}: no baseline" for program in counts.keys() - baseline]
    return unknown + [
        f"{PROGRAMS[program][0]}: {now:.1f} instructions per unreachable object, "
        f"{now / baseline[program] - 1:+.1%} of the baseline ({baseline[program]:.1f})"
        for program, now in counts.items()
        if program in baseline and now > baseline[program] * (1 + MAY_RISE)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the counts to the baseline")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("Instructions are not compared: valgrind is not installed.")
        return 0
    path = BASELINES / f"instructions-{kind()}.json"
    if not options.update and not path.exists():
        print(f"Instructions are not compared: there is no baseline for {kind()}.")
        return 0
    counts = {program: round(count(program), 1) for program in PROGRAMS}
    if options.update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
        print(f"{path.name} written: {counts}")
        return 0
    risen = compare(counts, json.loads(path.read_text(encoding="utf-8")))
    print("\n".join(risen) if risen else f"Instructions did not rise: {counts}")
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
