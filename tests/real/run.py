# SPDX-License-Identifier: Apache-2.0
"""Checks whether the first suggestion for each leak in a published library is the upstream fix.

Usage: run.py [--cases DIR]... [--cache DIR] [--json FILE] [--write] [--check] [NAME...]

Each case runs in its own process, with its pinned libraries. Prints a table. The exit status is 1
if the share of cases with the verdict `first` is below --needed. --check does not use cyclewatch: a
case is valid if it leaks tensors with the pinned version of its library but not with the `fixed`
version.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from libraries import InstallError, install, pins_of
from verdicts import VERDICTS, verdict

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
TIME_LIMIT = 400  # seconds, for one case

TABLE_HEAD = """\
| Case | Library | What upstream changed | First suggestion | Verdict |
|---|---|---|---|---|
"""

SHOWN = {
    "lightning_trainer_fit": "All loops and connectors of a Trainer refer back to it.",
    "pypsa_network": "Accessors and components refer back to the Network, "
    "and each component also refers to itself.",
    "openpyxl_workbook": "There are two levels of parents: worksheets refer back to the Workbook, "
    "and cells and views refer back to their worksheet.",
    "trimesh_permutate": "Reading certain attributes of the mesh creates "
    "helper objects that refer back to the mesh.",
    "anndata_circular": "The aligned mappings and the file manager refer back to their parent, "
    "the AnnData object.",
}


@dataclasses.dataclass
class Case:
    """One entry of a cases.toml."""

    name: str
    entry: dict


@dataclasses.dataclass
class Outcome:
    """The result of one case."""

    name: str
    verdict: str
    findings: list = dataclasses.field(default_factory=list)
    note: str = ""

    def line(self):
        """Return the line about this case for the terminal."""
        count = f"{len(self.findings):2} findings" if self.findings else ""
        return f"{self.name:32} {self.verdict:9} {count:12} {self.note}".rstrip()


class CaseError(Exception):
    """A case did not run to completion."""


def load_cases(folders, names):
    """Return the cases in `folders`; if `names` is not empty, only the named cases."""
    return [
        Case(name, entry)
        for folder in folders
        for name, entry in tomllib.loads((folder / "cases.toml").read_text()).items()
        if not names or name in names
    ]


def write_program(case, cache):
    """Write the program of `case` into the cache, and return its path."""
    path = cache.resolve() / "programs" / f"{case.name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(case.entry["program"])
    return path


def environment_of(case, libraries):
    """Return the environment variables of a case, with its libraries first in PYTHONPATH."""
    path = [str(libraries), os.environ.get("PYTHONPATH") or str(ROOT)]
    pairs = dict(pair.split("=", 1) for pair in case.entry.get("env", "").split())
    return {**os.environ, "OMP_NUM_THREADS": "1", **pairs, "PYTHONPATH": os.pathsep.join(path)}


def observe(case, cache, *options, fixed=False):
    """Return the result of observe.py for `case`. Raises CaseError or InstallError."""
    name = f"{case.name}-fixed" if fixed else case.name
    libraries = install(cache, name, pins_of(case.entry, fixed))
    # -P, so that a library does not import a module of this directory.
    python = [sys.executable, "-P", "-W", "ignore", FOLDER / "observe.py"]
    command = [*python, *options, write_program(case, cache)]
    variables = environment_of(case, libraries)
    pipes = {"capture_output": True, "text": True, "timeout": TIME_LIMIT}
    try:
        done = subprocess.run(command, env=variables, cwd=libraries, **pipes)
    except subprocess.TimeoutExpired as error:
        raise CaseError(f"not finished after {TIME_LIMIT} s") from error
    results = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not results:
        raise CaseError((done.stderr.strip().splitlines() or ["no output"])[-1])
    return json.loads(results[-1].removeprefix("RESULT "))


def judge(case, cache):
    """Run `case` under a watch."""
    try:
        findings = observe(case, cache)
    except (CaseError, InstallError) as error:
        return Outcome(case.name, "failed", note=str(error)[:150])
    note = " + ".join(findings[0]["cut"]) if findings else "nothing found"
    return Outcome(case.name, verdict(case.entry, findings), findings, note)


def check(case, cache):
    """Run `case` without a watch; run it again with the fixed library version if there is one."""
    try:
        leaked = observe(case, cache, "--count")
        fixed = observe(case, cache, "--count", fixed=True) if "fixed" in case.entry else None
    except (CaseError, InstallError) as error:
        return Outcome(case.name, "failed", note=str(error)[:150])
    good = leaked["uncollected"] > leaked["immortal"] and not (fixed and fixed["uncollected"])
    note = f"leaks {leaked}" + (f", fixed {fixed}" if fixed else "")
    return Outcome(case.name, "valid" if good else "invalid", note=note)


def summary(outcomes):
    """Return the summary line, which is printed last."""
    counts = collections.Counter(outcome.verdict for outcome in outcomes)
    shown = ("valid", "invalid", "failed") if counts.keys() & {"valid", "invalid"} else VERDICTS
    parts = ", ".join(f"{counts[one]} {one}" for one in shown)
    return f"real libraries: {len(outcomes)} cases: {parts}"


def parse_arguments():
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cache = Path.home() / ".cache" / "cyclewatch-real"
    parser.add_argument("--cases", type=Path, action="append", help="directory with a cases.toml")
    parser.add_argument("--cache", type=Path, default=cache, help="where libraries are installed")
    parser.add_argument(
        "--json", type=Path, help="write all suggestions of all findings to this file"
    )
    parser.add_argument("--needed", type=float, default=0.9, help="share that must be `first`")
    parser.add_argument("--write", action="store_true", help="write table.md and cards.md")
    parser.add_argument("--check", action="store_true", help="check the cases, not cyclewatch")
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args()


def cell(text):
    """Return `text` escaped for a table cell."""
    return " ".join(text.split()).replace("|", "\\|")


def row(name, entry, outcome):
    """Return one row of the table."""
    library = (entry.get("pip") or "torch==2.13.0").split()[0]
    suggestion = outcome.findings[0]["remedy"] if outcome.findings else outcome.note
    upstream = cell(entry["upstream"])
    return f"| `{name}` | {library} | {upstream} | {cell(suggestion)} | {outcome.verdict} |\n"


def write_table(path, entries, outcomes):
    """Write one row per case."""
    rows = [row(one.name, entries[one.name], one) for one in outcomes]
    path.write_text(TABLE_HEAD + "".join(rows))


def write_cards(path, outcomes):
    """For each case in SHOWN, write the card of its first finding."""
    parts = []
    for one in outcomes:
        if one.name in SHOWN and one.findings:
            card = one.findings[0]["card"]
            parts.append(f"### {one.name}\n\n{SHOWN[one.name]}\n\n```\n{card}\n```\n")
    if parts:
        path.write_text("\n".join(parts))


def main():
    """Run the chosen cases, JOBS at a time."""
    options = parse_arguments()
    cases = load_cases(options.cases or [FOLDER], options.names)
    run = check if options.check else judge
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for outcome in pool.map(lambda case: run(case, options.cache), cases):
            print(outcome.line(), flush=True)
            outcomes.append(outcome)
    print(summary(outcomes))
    if options.json:
        fields = {one.name: dataclasses.asdict(one) for one in outcomes}
        options.json.write_text(json.dumps(fields, indent=1) + "\n")
    if options.write:
        entries = {case.name: case.entry for case in cases}
        folder = (options.cases or [FOLDER])[0]
        write_table(folder / "table.md", entries, outcomes)
        write_cards(folder / "cards.md", outcomes)
    good = sum(outcome.verdict in ("first", "valid") for outcome in outcomes)
    sys.exit(good < (1 if options.check else options.needed) * len(outcomes))


if __name__ == "__main__":
    main()
