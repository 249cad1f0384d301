# SPDX-License-Identifier: Apache-2.0
"""--cyclewatch-never-freed and the mark no_tensor_cycles(never_freed=True)."""

import sysconfig

import pytest

# Imported now, because pytester unloads modules that were first imported by an in-process run.
pytest.importorskip("numpy", reason="the cycles lead through NumPy arrays")

pytestmark = pytest.mark.skipif(
    sysconfig.get_config_var("Py_GIL_DISABLED") == 1,
    reason="the search does not support free-threaded builds",
)

GRID = """
import numpy

class Grid:
    def __init__(self):
        self.buffer = leaky.Buffer(4096)
        self.cells = numpy.full(3, self)
"""
TESTS = """
def test_leaks():
    Grid()

def test_is_clean():
    leaky.Buffer(100)

@pytest.fixture
def grid():
    return Grid()

def test_fixture_leaks(grid):
    pass
"""


def test_option_fails_the_test_that_created_the_cycle(run):
    result = run("--cyclewatch", "--cyclewatch-never-freed", apart=True, test_it=GRID + TESTS)
    result.assert_outcomes(failed=1, passed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_fixture_leaks*",
            "*FAILURES*",
            "*test_leaks*",
            "*hidden from the collector: no collection will free this*",
        ]
    )
    run("--cyclewatch", apart=True, test_it=GRID + TESTS).assert_outcomes(passed=3)


def test_ini_key_and_minimum_size(run, project):
    project.makeini("[pytest]\ncyclewatch = fail\ncyclewatch_never_freed = true\n")
    run(apart=True, test_it=GRID + TESTS).assert_outcomes(failed=1, passed=2, errors=1)
    run("--cyclewatch-min-bytes=8 KiB", apart=True, test_it=GRID + TESTS).assert_outcomes(passed=3)


def test_option_implies_the_checks_unless_a_mode_is_given(run, project):
    tests = GRID + TESTS
    run("--cyclewatch-never-freed", apart=True, test_it=tests).assert_outcomes(
        failed=1, passed=2, errors=1
    )
    run("--cyclewatch-never-freed", "--cyclewatch=off", apart=True, test_it=tests).assert_outcomes(
        passed=3
    )
    project.makeini("[pytest]\ncyclewatch = warn\n")
    run("--cyclewatch-never-freed", apart=True, test_it=tests).assert_outcomes(passed=3)
    project.makeini("[pytest]\ncyclewatch_never_freed = true\n")
    run(apart=True, test_it=tests).assert_outcomes(passed=3)


MARKED = """
def test_not_examined():
    Grid()

@pytest.mark.no_tensor_cycles(never_freed=True)
def test_examined():
    Grid()

@pytest.mark.no_tensor_cycles(never_freed=True)
class TestBoth:
    def test_clean(self):
        pass

    @pytest.mark.no_tensor_cycles(never_freed=False)
    def test_nearest_mark_counts(self):
        Grid()

    def test_cycles_of_other_tests_are_left_out(self):
        pass

@pytest.mark.no_tensor_cycles
def test_default_is_the_option():
    Grid()
"""


def test_mark_enables_the_search_for_one_test(run):
    result = run(apart=True, test_it=GRID + MARKED)
    result.assert_outcomes(failed=1, passed=5)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_examined*"])


@pytest.mark.parametrize("arguments", ["True", "never=True", "never_freed=1"])
def test_invalid_argument_of_the_mark(run, arguments):
    source = f"@pytest.mark.no_tensor_cycles({arguments})\ndef test_it(): pass\n"
    result = run(apart=True, test_it=source)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"no_tensor_cycles takes only never_freed=*, not {arguments}"])


def test_repeated_body_reports_only_cycles_that_recur(run):
    source = "runs = []\ndef test_once():\n    runs.append(Grid() if not runs else 1)\n"
    source += "    runs[0] = 0\ndef test_always():\n    Grid()\n"
    options = ("--cyclewatch", "--cyclewatch-never-freed", "--cyclewatch-repeat=2")
    result = run(*options, apart=True, test_it=GRID + source)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_always*"])
