# SPDX-License-Identifier: Apache-2.0
"""Writes docs/gpu.md from the plan and the results of the last run on a device.

`page.py` rewrites the page; `page.py gpu.json` first stores the results of a run (run.py). Results
of a machine without a device are not stored.
"""

import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import plan  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gpu.md"
RESULTS = Path(__file__).with_name("gpu.json")
NOT_RUN = """\
**The kit is ready but has not run on a device yet**, because no machine with a GPU was available.
So far, all CUDA queries have been tested only against simulated libraries and without a driver
([reliability.md](reliability.md)).
"""


def between(text, name, contents):
    """Replace what is between the markers `name` in a page."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = text.partition(begin)
    after = rest.partition(end)[2]
    assert rest, f"{begin} is missing"
    return f"{before}{begin}\n{contents.strip()}\n{end}{after}"


def cell(value):
    """Format a value for a cell of a Markdown table."""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else text
    return text.replace("|", "\\|").replace("\n", " ")


def measured(results):
    """Describe a run: its machine, the outcomes, and what the checks have measured."""
    known = {
        "name": "{}",
        "memory.total": "{} MiB",
        "compute_cap": "compute capability {}",
        "driver_version": "driver {}",
        "python": "CPython {}",
    }
    machine = [
        known.get(key, key + " {}").format(value) for key, value in results["machine"].items()
    ]
    outcomes = [check["outcome"] for check in results["checks"]]
    counts = ", ".join(f"{outcomes.count(each)} {each}" for each in dict.fromkeys(outcomes))
    lines = [
        f"Run {results['date']} in {results['seconds']} seconds: {'; '.join(machine)}.",
        "",
        f"{len(outcomes)} checks: {counts}.",
        "",
        "| check | outcome | seconds | reason |",
        "|---|---|---|---|",
    ]
    for check in results["checks"]:
        row = (check["name"], check["outcome"], check["seconds"], check["reason"])
        lines.append(f"| {' | '.join(map(cell, row))} |")
    for check in results["checks"]:
        if check["results"]:
            lines += ["", f"**{check['name']}**", "", "| | |", "|---|---|"]
            lines += [
                f"| {cell(name)} | {cell(value)} |" for name, value in check["results"].items()
            ]
    return "\n".join(lines)


def requirements():
    """The table of all checks."""
    lines = ["| check | requirement on a device | on the CPU, in every test run |", "|---|---|---|"]
    for check in plan.CHECKS:
        lines.append(f"| `{check.name}` | {cell(check.requirement)} | {cell(check.on_cpu)} |")
    return "\n".join(lines)


def page(text, results):
    """Return the page `text` with the results, or with a note if there are none."""
    text = between(text, "measured", measured(results) if results else NOT_RUN)
    return between(text, "checks", requirements())


def main():
    """Store the results if they are from a device, and rewrite the page."""
    if len(sys.argv) > 1:
        run = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
        if run["device"]:
            shutil.copyfile(sys.argv[1], RESULTS)
        else:
            print("gpu-test: no CUDA device; docs/gpu.md keeps its results")
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else None
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
