# SPDX-License-Identifier: Apache-2.0
"""Builds and tests the package for every available interpreter, and prints a table.

``make matrix`` tests all interpreters; arguments select interpreters by name. .build/matrix is
kept, so a second run rebuilds only what has changed. The exit status is 1 if a build or a test
fails; an unavailable interpreter is noted in the table.
"""

import dataclasses
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

from interpreters import ENTRIES, MATRIX, ROOT, UnavailableError, run

# Pure Python packages, shared by all interpreters.
PACKAGES = MATRIX / "packages"
PURE = (
    *("pytest", "pytest-asyncio", "pytest-rerunfailures", "pytest-xdist", "hypothesis"),
    "shtab",
)

# Libraries for LD_PRELOAD.
LIBRARIES = (
    *("backwards_clock", "failing_allocator", "failing_disk", "no_network"),
    *("simulated_cudart", "simulated_driver", "simulated_decoy"),
)
TESTS = ["tests/integration", "tests/unit"]
TESTS_WITH_TORCH = [*TESTS, "tests/corpus"]
TESTS_WITH_OWN_PACKAGES = [*TESTS_WITH_TORCH, "tests/pytest_plugin", "tests/trainers"]
REFUSED = ("3.13t",)  # rows whose extension raises ImportError
TESTS_WHERE_REFUSED = [
    "tests/integration/test_threads.py::test_unknown_free_threaded_version_is_refused"
]
OMITTED = ("--ignore=tests/integration/test_notebook.py",)  # needs nbclient
TESTS_OF_TORCH = [
    "tests/integration/test_exactness.py",
    "tests/integration/test_run.py",
    "tests/unit/tensors",
]

STRATEGY = """
import json, sys, sysconfig
import cyclewatch
try:
    with cyclewatch.watch(devices=("cpu",)) as w:
        pass
    strategy = w.report().processes[0].strategy
except ImportError as error:
    if "free-threaded" not in str(error):
        raise
    strategy = "refused"
free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
try:
    import torch
    version = torch.__version__
except ImportError:
    version = ""
gil = getattr(sys, "_is_gil_enabled", lambda: True)()
print(json.dumps([sys.version.split()[0], strategy, free, gil, version]))
"""


@dataclasses.dataclass
class Row:
    """The results of one interpreter."""

    name: str
    version: str = ""
    strategy: str = ""
    native: str = ""  # C++ tests
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    note: str = ""
    bad: bool = False

    def cells(self):
        """The cells of the table."""
        counts = [str(self.passed), str(self.failed), str(self.skipped)]
        if not self.passed + self.failed:
            counts = ["-", "-", "-"]
        return [self.name, self.version, self.strategy, self.native, *counts, self.note]


def install_packages():
    """Install the test tools in the versions listed in requirements-dev.txt."""
    pins = (ROOT / "requirements-dev.txt").read_text().splitlines()
    wanted = [pin for pin in pins if pin.split("==")[0] in PURE]
    done = PACKAGES / "installed.txt"
    if not done.exists() or done.read_text() != "\n".join(wanted):
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", PACKAGES]
        run(*command, "--upgrade", *wanted, log=MATRIX / "logs" / "packages.log")
        done.write_text("\n".join(wanted))


def suffix_of(name):
    """The suffix of an interpreter's CMake targets."""
    return "" if name == f"3.{sys.version_info.minor}" else f"_{name}"


def log_of_build(name):
    """Return the path of the build log, after deleting the log of an earlier run."""
    log = MATRIX / "logs" / f"build-{name}.log"
    log.unlink(missing_ok=True)
    return log


def build(provided):
    """Build for all interpreters in one build tree, and return the failures by interpreter name."""
    extra = [str(one.executable) for name, one in provided.items() if suffix_of(name)]
    environment = {**os.environ, "CYCLEWATCH_MATRIX_PYTHONS": ";".join(extra)}
    failures = {}
    run(
        ROOT / "scripts" / "build", "matrix", *LIBRARIES, log=log_of_build("tests"), env=environment
    )
    for name in provided:
        log = log_of_build(name)
        # Refused interpreters only need the extension.
        parts = ("_native",) if name in REFUSED else ("_native", "runtime_tests")
        targets = [f"{part}{suffix_of(name)}" for part in parts]
        try:
            run(ROOT / "scripts" / "build", "matrix", *targets, log=log, env=environment)
        except UnavailableError:
            failures[name] = f"does not build, see {log.relative_to(ROOT)}"
    return failures


def environment_of(provided):
    """Environment variables that let an interpreter import this package and the test tools."""
    variables = dict(os.environ)
    path = f"{ROOT}" if provided.packages else f"{ROOT}:{PACKAGES}"
    tools = str(provided.packages or PACKAGES)
    variables.update(PYTHONPATH=path, CYCLEWATCH_ONE_INTERPRETER="1")
    variables.update(CYCLEWATCH_TEST_TOOLS=tools, CYCLEWATCH_TEST_BUILD=str(MATRIX))
    # This machine's Python must not influence an unpacked interpreter.
    for name in ("PYTHONHOME", "VIRTUAL_ENV"):
        variables.pop(name, None)
    return variables


def native_tests(entry, provided):
    """Run the C++ tests, and return a summary and whether they failed."""
    program = MATRIX / "tests" / f"runtime_tests{suffix_of(entry.name)}"
    if not program.exists():
        return "no libpython", False
    outcome = subprocess.run(
        [*provided.started(program), "--gtest_brief=1"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**environment_of(provided), **provided.home()},
        timeout=1200,
    )
    (MATRIX / "logs" / f"native-{entry.name}.log").write_text(outcome.stdout + outcome.stderr)
    passed = re.search(r"PASSED\s+\]\s+(\d+) test", outcome.stdout)
    # --gtest_brief omits the number of failures.
    failed = set(re.findall(r"^\[  FAILED  \] ([\w./]+)", outcome.stdout, re.MULTILINE))
    text = f"{passed.group(1) if passed else 0} passed"
    if failed:
        text += f", {len(failed)} failed"
    if outcome.returncode < 0:
        text += f", signal {-outcome.returncode}"
    return text, outcome.returncode != 0


def python_tests(entry, provided, torch, tests):
    """Run pytest, and return the numbers of passed, failed and skipped tests."""
    results = MATRIX / "logs" / f"pytest-{entry.name}.xml"
    results.unlink(missing_ok=True)
    command = [str(provided.executable), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "not slow", f"--junitxml={results}", *tests]
    command += ["-n", os.environ.get("JOBS", "2"), "--dist", "loadfile"]
    command += OMITTED
    command += [] if torch else [f"--ignore={path}" for path in TESTS_OF_TORCH]
    log = MATRIX / "logs" / f"pytest-{entry.name}.log"
    with log.open("w") as out:
        status = subprocess.run(
            command,
            cwd=ROOT,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            env=environment_of(provided),
        ).returncode
    if not results.exists():
        raise UnavailableError(f"pytest ended with {status}, see {log.relative_to(ROOT)}")
    suite = xml.etree.ElementTree.parse(results).getroot().find("testsuite")
    total, skipped = int(suite.get("tests")), int(suite.get("skipped"))
    failed = int(suite.get("failures")) + int(suite.get("errors"))
    return total - failed - skipped, failed, skipped


def query(provided):
    """Run the script STRATEGY on an interpreter, and return its output."""
    outcome = subprocess.run(
        [str(provided.executable), "-c", STRATEGY],
        capture_output=True,
        text=True,
        env=environment_of(provided),
        stdin=subprocess.DEVNULL,
    )
    if outcome.returncode != 0:
        words = (outcome.stderr.strip().splitlines() or ["no output"])[-1]
        raise UnavailableError(f"ended with {outcome.returncode}: {words}")
    return json.loads(outcome.stdout.splitlines()[-1])


def examine(entry, provided):
    """Run all tests on one interpreter."""
    row = Row(entry.name, note=entry.note)
    try:
        row.version, row.strategy, free, gil, torch = query(provided)
        notes = [
            entry.note,
            entry.module_of and f"module of {entry.module_of}",
            "the GIL was enabled" if free and gil else "",
            torch and f"torch {torch}",
        ]
        row.note = "; ".join(filter(None, notes))
        refused = row.strategy == "refused"
        no_program = refused or entry.module_of
        row.native, native_bad = ("-", False) if no_program else native_tests(entry, provided)
        tests = TESTS_WITH_TORCH if torch else TESTS
        tests = TESTS_WITH_OWN_PACKAGES if provided.packages else tests
        tests = TESTS_WHERE_REFUSED if refused else tests
        counts = python_tests(entry, provided, bool(torch), tests)
        row.passed, row.failed, row.skipped = counts
        row.bad = native_bad or row.failed > 0 or (free and gil)
    except UnavailableError as error:
        row.note, row.bad = str(error), True
    return row


def print_table(rows):
    """Print an aligned Markdown table."""
    head = ["Python", "version", "strategy", "C++ tests", "passed", "failed", "skipped", "notes"]
    lines = [head, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def main():
    """Test all interpreters, or those whose names are given as arguments."""
    wanted = sys.argv[1:]
    entries = [entry for entry in ENTRIES if not wanted or entry.name in wanted]
    modules = {entry.module_of for entry in entries}
    bases = [entry for entry in ENTRIES if entry.name in modules and entry not in entries]
    rows, provided = {}, {}
    for entry in [*entries, *bases]:
        try:
            provided[entry.name] = entry.provide()
        except UnavailableError as error:
            rows[entry.name] = Row(entry.name, note=f"not tried: {error}")
    install_packages()
    failures = build(
        {
            entry.name: provided[entry.name]
            for entry in [*entries, *bases]
            if entry.name in provided and not entry.module_of
        }
    )
    for entry in entries:
        if entry.module_of and entry.module_of not in provided:
            rows[entry.name] = Row(entry.name, note=f"not tried: no {entry.module_of}")
        elif failure := failures.get(entry.module_of or entry.name):
            rows[entry.name] = Row(entry.name, note=failure, bad=True)
        elif entry.name in provided:
            print(f"matrix: {entry.name}", file=sys.stderr)
            rows[entry.name] = examine(entry, provided[entry.name])
    table = [rows[entry.name] for entry in entries]
    print_table(table)
    sys.exit(any(row.bad for row in table))


if __name__ == "__main__":
    main()
