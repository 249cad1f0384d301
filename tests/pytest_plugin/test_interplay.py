# SPDX-License-Identifier: Apache-2.0
"""Other kinds of tests, and other plugins, find a loop treated as any failure."""

import pytest

import cyclewatch

KINDS = ("buffers", "tensors")

TWO = """
import loops

def test_leak():
    loops.Engine()

def test_clean():
    pass
"""


def test_last_failed_runs_the_leaking_test_again(project):
    project.makepyfile(test_it=TWO)
    options = ("-pno:hypothesispytest", "-pno:asyncio", "--cyclewatch=fail")
    project.runpytest_inprocess(*options).assert_outcomes(passed=1, failed=1)
    project.runpytest_inprocess(*options, "--lf").assert_outcomes(failed=1)


def test_all_warnings_as_errors_change_nothing(run):
    run("--cyclewatch", "-W", "error", test_it=TWO).assert_outcomes(passed=1, failed=1)


def test_expected_failure_may_be_a_loop(run):
    result = run(
        "--cyclewatch",
        test_it="""
import loops
import pytest

@pytest.mark.xfail(reason="known")
def test_expected():
    loops.Engine()

@pytest.mark.xfail(raises=ZeroDivisionError)
def test_expected_for_another_reason():
    loops.Engine()

@pytest.mark.skip
def test_skipped():
    loops.Engine()

def test_skips():
    engine = loops.Engine()
    pytest.skip("later")
""",
    )
    result.assert_outcomes(xfailed=1, failed=1, skipped=2)


def test_parametrized_test_fails_for_its_own_parameter(run):
    result = run(
        "--cyclewatch",
        test_it="""
import loops
import pytest

@pytest.mark.parametrize("make", [loops.Engine, loops.Trainer, object])
def test_makes(make):
    make()
""",
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_makes[[]Engine] - Engine*"])
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_makes[[]Trainer] - Trainer*"])


def test_unittest_fails_as_a_function_does(run):
    result = run(
        "--cyclewatch",
        test_it="""
import unittest
import loops

class Case(unittest.TestCase):
    def setUp(self):
        self.engine = loops.Buffer(8)

    def test_leak(self):
        loops.Engine()

    def test_clean(self):
        pass

    def test_wrong(self):
        loops.Engine()
        self.fail("on its own")

    @unittest.expectedFailure
    def test_expected(self):
        loops.Engine()
        self.fail("as expected")
""",
    )
    result.assert_outcomes(passed=1, failed=2, xfailed=1)
    result.stdout.fnmatch_lines(["FAILED *::test_leak - Engine*", "FAILED *::test_wrong - *own"])


def test_doctest_fails_as_a_function_does(run):
    result = run(
        "--cyclewatch",
        "--doctest-modules",
        documented='''
def leaking():
    """
    >>> import loops
    >>> _ = loops.Engine()
    >>> _ = None
    """

def clean():
    """
    >>> 1 + 1
    2
    """
''',
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED documented.py::documented.leaking - Engine*"])


def test_async_test_fails_as_a_function_does(project):
    project.makepyfile(
        test_it="""
import asyncio
import loops
import pytest

@pytest.mark.asyncio
async def test_leak():
    loops.Engine()
    await asyncio.sleep(0)

@pytest.mark.asyncio
async def test_clean():
    await asyncio.sleep(0)
"""
    )
    result = project.runpytest_subprocess("--cyclewatch=fail", "-pno:hypothesispytest")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_leak - Engine*"])


def test_flaky_test_is_run_again(run):
    result = run(
        "--cyclewatch",
        "--reruns=2",
        test_it="""
import loops

RUNS = []

def test_warms_up():
    RUNS.append(1)
    if len(RUNS) == 1:
        loops.Engine()

def test_always():
    loops.Trainer()
""",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*1 failed, 1 passed, 3 rerun*"])


def test_rerun_is_not_blamed_for_what_the_first_run_s_exception_kept(run):
    result = run(
        "--cyclewatch",
        "--reruns=1",
        test_it="""
import loops

RUNS = []

def test_flaky():
    engine = loops.Engine() if not RUNS else None
    RUNS.append(engine is None)
    assert engine is None
""",
    )
    result.stdout.fnmatch_lines(["*1 passed, 1 rerun*"])


@pytest.mark.parametrize("dist", ["load", "each"])
def test_xdist_merges_all_workers(project, dist):
    project.makepyfile(
        test_it="""
import loops
import pytest

@pytest.mark.parametrize("number", range(4))
def test_leak(number):
    loops.Engine(1000)

def test_trainer():
    loops.Trainer(2000)

@pytest.mark.allow_tensor_cycles(reason="by design")
def test_allowed():
    loops.Trainer(500)
"""
    )
    result = project.runpytest_subprocess(
        "-pno:hypothesispytest",
        "-n2",
        f"--dist={dist}",
        "--cyclewatch=fail",
        "--cyclewatch-report=reports",
        "--cyclewatch-baseline=known.json",
        "--cyclewatch-update-baseline",
        "--cyclewatch-sarif=loops.sarif",
    )
    times = 2 if dist == "each" else 1
    result.assert_outcomes(passed=times, failed=5 * times)
    result.stdout.fnmatch_lines(
        [
            f"*{'7.8' if times == 2 else '3.9'} KiB in {4 * times} loops  Engine*and 3 more",
            "*Trainer.loss -> ...  test_it.py::test_allowed  [[]allowed: by design]",
            "wrote the baseline *known.json, findings: 2",
            "report: *cyclewatch.html",
            f"cyclewatch: {6 * times} loops (2 findings), *, 0 known (baseline), {times} allowed",
        ]
    )
    assert len(list((project.path / "reports").iterdir())) == 2
    assert (project.path / "loops.sarif").exists()


MARKED = """
import loops
import pytest

@pytest.mark.no_tensor_cycles
def test_marked():
    loops.Engine(1000)

def test_unmarked():
    loops.Engine(1000)
"""


def test_xdist_tells_of_marked_tests_in_a_run_that_is_off(project):
    project.makepyfile(test_it=MARKED)
    result = project.runpytest_subprocess(
        "-pno:hypothesispytest", "-n2", "--cyclewatch=off", "--cyclewatch-sarif=loops.sarif"
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["   1000 B  Engine*::test_marked", "cyclewatch: 1 loop, 1000 B, *"]
    )
    assert (project.path / "loops.sarif").exists()


def test_xdist_refuses_devices_before_a_worker_breaks_over_them(project):
    project.makepyfile(test_it=MARKED)
    result = project.runpytest_subprocess("-n1", "--cyclewatch=off", "--cyclewatch-devices=tpu9")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --cyclewatch-devices: unknown device 'tpu9'*"])


def test_xdist_ends_a_run_of_marked_tests_whose_file_cannot_be_written(project):
    project.makepyfile(test_it=MARKED)
    (project.path / "out").write_text("in the way")
    result = project.runpytest_subprocess(
        "-pno:hypothesispytest", "-n1", "--cyclewatch=off", "--cyclewatch-sarif=out/loops.sarif"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*Exit: --cyclewatch-sarif: *out is no folder*"])
    assert "INTERNALERROR" not in str(result.stdout)


def test_worker_that_dies_takes_no_failure_with_it(project):
    project.makepyfile(
        test_it="""
import os
import loops

def test_before():
    loops.Engine(1000)

def test_dies():
    os._exit(1)

def test_after():
    loops.Engine(1000)
"""
    )
    result = project.runpytest_subprocess(
        "-pno:hypothesispytest",
        "-n1",
        "--cyclewatch=fail",
        "--cyclewatch-report=reports",
    )
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "  2.0 KiB in 2 loops  Engine*",
            "report: *cyclewatch.html",
            "gw0 ended before its time; the report lacks what it saw",
            "cyclewatch: 2 loops (1 finding), *",
        ]
    )
    report = cyclewatch.Report.load(project.path / "reports" / "cyclewatch.json")
    assert [finding.occurrences for finding in report.findings] == [1]
