# SPDX-License-Identifier: Apache-2.0
"""Runs CPython's test suite with and without a watch in every process and compares the outcomes.

Creates a virtual environment for each interpreter of the build, for the free-threaded interpreter,
and for later Python versions packaged by Debian. The .pth file of each environment starts a watch
in every process. Runs the modules of modules.txt with and without the watch. Some modules also run
with a collection at nearly every allocation.

If the outcome of a test differs, its module is run again several times. A difference is ignored if
the outcome also varies without a watch, or if a no-op callback in gc.callbacks has the same effect:
CPython creates a dict for any callback, which changes allocation counts.

With --watch scan, no outcomes are compared. Instead, a scan before each collection must find the
objects that the collection finds.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent / "matrix"))
import interpreters as matrix  # noqa: E402

WORK = ROOT / ".build" / "regrtest"
MODES = ("walk", "watch", "scan")  # of watch_everywhere.py
DEFAULT_MODES = ("walk", "watch")
FREE_THREADED = "3.14t"
PACKAGED = (FREE_THREADED, "3.14", "3.15")  # if the build has no interpreter of that version
RETRIES = 3


@dataclass(frozen=True)
class Case:
    """One test of one module."""

    module: str
    name: str


EXIT_STATUS = Case("", "exit status")  # of the whole run


@dataclass(frozen=True)
class Round:
    """The settings for one run of the test modules."""

    mode: str  # of watch_everywhere.py
    threshold: str = ""


def wanted_modules() -> tuple[list[str], list[str]]:
    """All modules, and the modules that also run with a gc threshold of 1."""
    lines = [line.split() for line in (HERE / "modules.txt").read_text().splitlines()]
    rows = [words for words in lines if words and not words[0].startswith("#")]
    return [words[0] for words in rows], [words[0] for words in rows if words[1:] == ["*"]]


def version_of(python: str) -> str:
    """The version, such as 3.12."""
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    command = [python, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def built_interpreters() -> dict[str, str]:
    """Every interpreter of the build, by version."""
    built = ROOT / ".build" / "dev" / "interpreters.txt"
    paths = [sys.executable, *(built.read_text().split() if built.exists() else [])]
    return {version_of(path): path for path in paths}


def packaged(version: str) -> Path:
    """Install the Debian packages of `version`; build the free-threaded version from source."""
    if version != FREE_THREADED:
        packages = (f"python{version}-dev", f"libpython{version}-testsuite")
        return matrix.debian_packages("sid", version, *packages)().executable
    (entry,) = (entry for entry in matrix.ENTRIES if entry.name == version)
    executable = entry.provide().executable
    library = executable.parents[1] / "lib" / f"python{version}"
    if not (library / "test").exists():
        archive = matrix.source_of("sid", "python3.14")
        options = ("-C", library, "--strip-components=2", "--wildcards", "*/Lib/test")
        matrix.run("tar", "-xf", archive, *options, log=matrix.MATRIX / "logs" / "tests.log")
    return executable


def packaged_interpreters(versions: list[str]) -> dict[str, str]:
    """Install an interpreter for each of `versions`, and build the extension for it."""
    found: dict[str, str] = {}
    for version in versions:
        try:
            executable = packaged(version)
        except matrix.UnavailableError as error:
            print(f"regrtest: no {version}: {error}", file=sys.stderr)
            continue
        found[version] = str(executable)
    if found:
        environment = {**os.environ, "CYCLEWATCH_MATRIX_PYTHONS": ";".join(found.values())}
        targets = [f"_native_{version}" for version in found]
        log = matrix.MATRIX / "logs" / "build-regrtest.log"
        matrix.run(ROOT / "scripts/build", "matrix", *targets, log=log, env=environment)
    return found


def interpreters(wanted: str | None) -> dict[str, str]:
    """Return the interpreters by version; if `wanted` is not None, only that version."""
    built = built_interpreters()
    packaged = [version for version in PACKAGED if version not in built]
    if wanted is not None:
        built = {version: path for version, path in built.items() if version == wanted}
        packaged = [version for version in packaged if version == wanted]
    return {**built, **packaged_interpreters(packaged)}


def prepared(python: str, version: str) -> Path:
    """Create an environment in which every process starts a watch."""
    home = WORK / version
    if not home.exists():
        subprocess.run([python, "-m", "venv", "--without-pip", home], check=True)
    site = home / "lib" / f"python{version}" / "site-packages"
    arrange(home / "bin" / "python", Round("off"))
    (site / "watch_everywhere.pth").write_text(f"{ROOT}\n{HERE}\nimport watch_everywhere\n")
    return home / "bin" / "python"


def arrange(python: Path, way: Round) -> None:
    """Select the kind of watch for new processes."""
    home = python.parents[1]
    (home / "watch").write_text(f"{way.mode} {way.threshold}")


def require_watch(python: Path) -> None:
    """Exit unless processes are actually watched: otherwise the comparison would be meaningless."""
    program = "import gc; print(sum('cyclewatch_gc_hook' in repr(entry) for entry in gc.callbacks))"
    expected = (("off", "0"), ("idle", "0"), ("walk", "1"), ("watch", "1"), ("scan", "1"))
    for mode, entries in expected:
        arrange(python, Round(mode))
        # An empty environment, which many tests pass to child processes.
        done = subprocess.run([python, "-c", program], env={}, capture_output=True, text=True)
        if done.stdout.strip() != entries or done.stderr:
            sys.exit(f"{python} cannot start a watch (is the build current?):\n{done.stderr}")


def run(python: Path, modules: list[str], way: Round, jobs: int) -> dict[Case, str]:
    """The outcome of every test, and the exit status."""
    arrange(python, way)
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        arguments = ["-m", "test", f"-j{jobs}", "--timeout", "900", "--junit-xml", str(results)]
        done = subprocess.run(
            [python, *arguments, *modules],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
        )
        if not results.exists():
            sys.exit(f"{python} -m test wrote no results:\n{done.stdout[-4000:]}{done.stderr}")
        return {**outcomes_of(results), EXIT_STATUS: str(done.returncode)}


def outcomes_of(results: Path) -> dict[Case, str]:
    """The outcome of each test in a JUnit file."""
    outcomes: dict[Case, str] = {}
    for case in ElementTree.parse(results).iter("testcase"):
        name = case.get("name", "")
        words = name.split(".")
        module = next((w for w in words if w.startswith("test_")), name)
        children = {child.tag for child in case}
        outcome = next(
            (tag for tag in ("error", "failure", "skipped") if tag in children), "passed"
        )
        # Subtests have separate entries: use the worst outcome.
        previous = outcomes.get(Case(module, name), "passed")
        order = ("passed", "skipped", "failure", "error")
        outcomes[Case(module, name)] = max(previous, outcome, key=order.index)
    return outcomes


def known_modules(python: Path, modules: list[str]) -> list[str]:
    """Return only the entries of `modules` that exist in this interpreter."""
    program = (
        "import importlib.util, sys\n"
        "def there(name):\n"
        "    try: return importlib.util.find_spec('test.' + name) is not None\n"
        "    except ImportError: return False\n"
        "print(*filter(there, sys.argv[1:]))"
    )
    command = [python, "-c", program, *modules]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def differing(before: dict[Case, str], after: dict[Case, str]) -> list[Case]:
    """Tests whose outcomes differ between the runs, or that are missing from one run."""
    cases = sorted(before.keys() | after.keys(), key=lambda case: (case.module, case.name))
    return [case for case in cases if before.get(case) != after.get(case)]


def confirmed(python: Path, cases: list[Case], way: Round) -> tuple[list[str], list[str]]:
    """Run the differing tests again, and return descriptions of the confirmed differences.

    The first list contains the differences that only a watch causes. The second list contains the
    differences that a no-op gc callback also causes.
    """
    modules = sorted({case.module for case in cases})
    modes = ("off", way.mode, "idle")
    seen: dict[tuple[Case, str], set[str]] = {
        (case, mode): set() for case in cases for mode in modes
    }
    for _ in range(RETRIES):
        for mode in modes:
            outcomes = run(python, modules, Round(mode, way.threshold), jobs=1)
            for case in cases:
                seen[case, mode].add(outcomes.get(case, "missing"))
    ours, inherent = [], []
    for case in cases:
        off, on, idle = (seen[case, mode] for mode in modes)
        if off & on:
            continue
        without, then = ("/".join(sorted(outcomes)) for outcomes in (off, on))
        if on & idle:
            inherent.append(f"{case.name}: {without} without, {then} with any gc callback")
        else:
            ours.append(f"{case.name}: {without} without, {then} with a watch")
    return ours, inherent


@dataclass(frozen=True)
class Line:
    """One row of the table."""

    way: str
    modules: int
    tests: int
    differences: list[str]
    inherent: list[str]


def compare(
    python: Path, modules: list[str], before: dict[Case, str], way: Round, jobs: int
) -> Line:
    """Run `modules` with the watch; compare the outcomes with `before`, the run without a watch."""
    after = run(python, modules, way, jobs)
    suspects = differing(before, after)
    if suspects == [EXIT_STATUS]:
        name = f"exit status: {before[EXIT_STATUS]} without, {after[EXIT_STATUS]} with a watch"
        return Line(way.mode, len(modules), len(before) - 1, [name], [])
    suspects = [case for case in suspects if case != EXIT_STATUS]
    for case in suspects:
        outcomes = [found.get(case, "missing") for found in (before, after)]
        print(f"regrtest: again: {case.name}: {' / '.join(outcomes)}", file=sys.stderr)
    differences, inherent = confirmed(python, suspects, way) if suspects else ([], [])
    name = way.mode + (f", threshold {way.threshold}" if way.threshold else "")
    return Line(name, len(modules), len(before) - 1, differences, inherent)


def compare_scans(python: Path, modules: list[str], way: Round, jobs: int) -> Line:
    """Run `modules` with a scan before each collection.

    The outcomes of the tests are not compared: the scans run in Python callbacks, which change
    allocation counts.
    """
    home = python.parents[1]
    compared, found = home / "comparisons", home / "differences"
    for file in (compared, found):
        file.unlink(missing_ok=True)
    after = run(python, modules, way, jobs)
    count = len(compared.read_text()) if compared.exists() else 0
    differences = found.read_text().splitlines() if found.exists() else []
    if count == 0:
        differences.append("no scan was compared")
    name = way.mode + (f", threshold {way.threshold}" if way.threshold else "")
    return Line(f"{name}: {count} with garbage", len(modules), len(after) - 1, differences, [])


def print_line(version: str, line: Line) -> None:
    """Print a Markdown row and the differences."""
    print(
        f"| {version} | {line.way} | {line.modules} | {line.tests} "
        f"| {len(line.differences)} | {len(line.inherent)} |",
        *line.differences,
        *line.inherent,
        sep="\n    ",
        flush=True,
    )


def main() -> int:
    """Return 0 if there are no differences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", "2")))
    parser.add_argument("--python", help="only this interpreter, such as 3.12 or 3.14t")
    parser.add_argument("--watch", choices=MODES, help="only this kind of watch")
    parser.add_argument("modules", nargs="*", help="only these; default: modules.txt")
    options = parser.parse_args()
    everything, often = wanted_modules()
    chosen = options.modules or everything
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Shells ignore SIGINT in background jobs, and tests that interrupt themselves would hang.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    modes = [options.watch] if options.watch else list(DEFAULT_MODES)
    failed = False
    print("| Python | watch | modules | tests | different | as with any gc callback |")
    print("|---|---|---|---|---|---|", flush=True)
    for version, path in interpreters(options.python).items():
        python = prepared(path, version)
        require_watch(python)
        modules = known_modules(python, chosen)
        frequent = [name for name in modules if name in often]
        for names, threshold in ((modules, ""), (frequent, "1")):
            if not names:
                continue
            before: dict[Case, str] = {}
            if modes != ["scan"]:
                before = run(python, names, Round("off", threshold), options.jobs)
            for mode in modes:
                way = Round(mode, threshold)
                if mode == "scan":
                    line = compare_scans(python, names, way, options.jobs)
                else:
                    line = compare(python, names, before, way, options.jobs)
                failed |= bool(line.differences)
                print_line(version, line)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
