# SPDX-License-Identifier: Apache-2.0
"""Runs every benchmark and prints the tables; --page also writes them to a Markdown page."""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import bench_against_torch
import bench_census
import bench_garbage
import bench_growth
import bench_import
import bench_instructions
import bench_known_findings
import bench_large_garbage
import bench_latency
import bench_memory
import bench_never_freed
import bench_pictures
import bench_pyperformance
import bench_pytest
import bench_scan
import bench_training
from measure import Figure, table

QUESTIONS = [
    ("Garbage without tensors", bench_garbage),
    ("Instructions per unreachable object", bench_instructions),
    ("Programs of pyperformance", bench_pyperformance),
    ("Known findings", bench_known_findings),
    ("Start of a watch, and its first finding", bench_latency),
    ("A small training loop", bench_training),
    ("A million unreachable objects, a thousand owners", bench_large_garbage),
    ("Growth, and a dense component", bench_growth),
    ("Scans without a collection", bench_scan),
    ("Paths to live objects, 400,000 objects", bench_census),
    ("The account of the memory, 400,000 objects", bench_memory),
    ("Cycles that no collection frees", bench_never_freed),
    ("Against torch's detector", bench_against_torch),
    ("Pictures", bench_pictures),
    ("The pytest plugin", bench_pytest),
    ("Import", bench_import),
]


def circumstances() -> dict[str, str]:
    """Describe the machine and the software versions, without identifying the host or its user."""
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    ]
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "processor": f"{models[0] if models else platform.machine()}, {len(models)} cores",
        "python": f"CPython {platform.python_version()}",
        "torch": f"torch {version('torch')}",
        "cyclewatch": f"cyclewatch {cyclewatch_version()}",
    }


def cyclewatch_version() -> str:
    import cyclewatch

    return cyclewatch.__version__


def put_into_page(page: Path, section: str, text: str) -> None:
    """Replace the text between the two marker lines of `section`."""
    first, last = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    before, begin, rest = page.read_text(encoding="utf-8").partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise SystemExit(f"{page.name} does not have the lines {first} and {last}")
    page.write_text(f"{before}{first}\n{text}\n{last}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to check that they run")
    parser.add_argument("--page", type=Path, help="update the tables in this Markdown page")
    options = parser.parse_args()

    where = circumstances()
    sections = ["Measured " + ", ".join(where.values()) + "."]
    figures: list[Figure] = []
    print(sections[0])
    for title, benchmark in QUESTIONS:
        answers = benchmark.measure(options.quick)
        if not answers:
            continue  # a tool that it needs is not installed
        figures += answers
        sections += [f"### {title}", table(answers)]
        print(f"\n{sections[-2]}\n\n{sections[-1]}", flush=True)
    if options.page is not None:
        put_into_page(options.page, "measured", "\n\n".join(sections))
    missed = sum(figure.met is False for figure in figures)
    print(f"\n{missed} goals missed" if missed else "\nall goals met", file=sys.stderr)


if __name__ == "__main__":
    main()
