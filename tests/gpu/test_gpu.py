# SPDX-License-Identifier: Apache-2.0
"""Runs on the CPU what the checks for a device can check there, and tests their runner."""

import importlib.util
import json
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import page  # noqa: E402
import plan  # noqa: E402
import run  # noqa: E402
import support  # noqa: E402

ON_CPU = [check for check in plan.CHECKS if check.on_cpu != plan.NOT_APPLICABLE]


@pytest.mark.parametrize("check", ON_CPU, ids=lambda check: check.name)
def test_check(torch_interpreter, check, tmp_path):
    program, *arguments = check.command(HERE, "cpu")
    # The process fails if an assertion of the check does.
    outcome = torch_interpreter.run(Path(program), *arguments, cwd=tmp_path, timeout=600)
    assert support.entries(outcome.stdout)[-1] == {"outcome": "passed", "reason": ""}


def functions_of(program):
    """The checks in a program."""
    spec = importlib.util.spec_from_file_location(f"gpu_{Path(program).stem}", HERE / program)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return set(module.CHECKS)


def test_the_plan_contains_every_check():
    pytest.importorskip("torch")
    planned = {}
    for check in plan.CHECKS:
        planned.setdefault(check.program, set()).add(check.function)
    assert planned == {program: functions_of(program) for program in planned}
    paths = [path for path in HERE.rglob("*.py") if path.name != Path(__file__).name]
    programs = [path for path in paths if "support.main(" in path.read_text()]
    assert {str(path.relative_to(HERE)) for path in programs} == planned.keys()
    names = [check.name for check in plan.CHECKS]
    assert len(set(names)) == len(names)


PROGRAMS = """
import os, signal, sys
import support

def passes(device):
    return {"answer": 42}

def fails(device):
    support.record(before="kept")
    raise AssertionError("the sum is wrong")

def crashes(device):
    support.record(before="kept")
    os.kill(os.getpid(), signal.SIGSEGV)

def hangs(device):
    support.record(before="kept")
    while True:
        signal.pause()

def needs_a_library(device):
    import no_such_library_at_all

CHECKS = {check.__name__: check for check in (passes, fails, crashes, hangs, needs_a_library)}
support.main(CHECKS)
"""


def outcomes_of(tmp_path, names, seconds=100, limit=60, **environment):
    """Run checks of PROGRAMS; return the outcomes by name."""
    program = tmp_path / "programs.py"
    program.write_text(PROGRAMS)
    runner = run.Runner(HERE, tmp_path, seconds)
    runner.environment.update(environment)
    checks = [plan.Check(str(program), name, "", limit=limit) for name in names]
    return {outcome.name: outcome for outcome in runner.run_all(checks, 2)}


def test_each_check_has_its_own_outcome(tmp_path):
    names = ("passes", "fails", "crashes", "needs_a_library")
    outcomes = outcomes_of(tmp_path, names, **{support.PROBLEM: ""})
    assert {name: each.outcome for name, each in outcomes.items()} == {
        "passes": "passed",
        "fails": "failed",
        "crashes": "failed",
        "needs_a_library": "missing",
    }
    assert list(outcomes) == list(names)
    assert outcomes["passes"].results == {"answer": 42}
    assert outcomes["fails"].results == outcomes["crashes"].results == {"before": "kept"}
    assert outcomes["fails"].reason == "AssertionError: the sum is wrong"
    assert "Segmentation fault" in outcomes["crashes"].output
    assert "no_such_library_at_all" in outcomes["needs_a_library"].reason


def test_a_check_that_hangs_loses_nothing(tmp_path):
    begin = time.monotonic()
    outcomes = outcomes_of(tmp_path, ("hangs", "passes"), limit=10, **{support.PROBLEM: ""})
    assert outcomes["hangs"].outcome == "timed out"
    assert outcomes["hangs"].results == {"before": "kept"}
    assert outcomes["passes"].outcome == "passed"
    assert time.monotonic() - begin < 60
    late = outcomes_of(tmp_path, ("passes",), seconds=0)
    assert late["passes"].outcome == "not run"


def test_without_a_device_every_check_says_so(tmp_path):
    outcomes = outcomes_of(tmp_path, ("passes", "fails"), **{support.PROBLEM: "no driver"})
    assert {each.outcome for each in outcomes.values()} == {"no device"}
    assert {each.reason for each in outcomes.values()} == {"no driver"}


def test_hidden_devices_are_no_devices(main_interpreter, tmp_path):
    names = ("last_errors", "query_times", "cupy_arrays")
    arguments = ("--json", tmp_path / "gpu.json", *names)
    outcome = main_interpreter.run(HERE / "run.py", *arguments, CUDA_VISIBLE_DEVICES="")
    results = json.loads((tmp_path / "gpu.json").read_text())
    assert not results["device"]
    assert [check["outcome"] for check in results["checks"]] == ["no device"] * 3, outcome.stdout
    assert all("NVIDIA driver" in check["reason"] for check in results["checks"])
    assert "3 no device" in outcome.stdout


def test_the_page_is_up_to_date():
    results = json.loads(page.RESULTS.read_text()) if page.RESULTS.exists() else None
    text = page.PAGE.read_text()
    assert page.page(text, results) == text, "run .venv/bin/python tests/gpu/page.py"


def test_the_page_contains_the_results():
    results = {
        "date": "2026-01-02",
        "seconds": 100,
        "machine": {"name": "Some GPU", "python": "3.12.1"},
        "checks": [
            {"name": "a", "outcome": "passed", "seconds": 1, "reason": "", "results": {"b": 1234}},
            {"name": "c", "outcome": "failed", "seconds": 2, "reason": "x | y", "results": {}},
        ],
    }
    text = page.page(page.PAGE.read_text(), results)
    assert "Some GPU; CPython 3.12.1" in text
    assert "2 checks: 1 passed, 1 failed." in text
    assert "| b | 1,234 |" in text
    assert "x \\| y" in text
