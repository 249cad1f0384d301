# SPDX-License-Identifier: Apache-2.0
"""Repetition: only loops that recur are reported."""

KINDS = ("buffers", "tensors")

WARM_UP = """
import loops

STATE = {}

def test_warm_up():
    if not STATE:
        STATE["warm"] = True
        loops.Engine(1000)

def test_each_time():
    loops.Trainer(1000)
"""


def test_loop_of_a_warm_up_passes_and_one_that_recurs_fails(run):
    run("--cyclewatch", test_it=WARM_UP).assert_outcomes(failed=2)
    result = run("--cyclewatch", "--cyclewatch-repeat=3")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["#1  2.9 KiB in 3 loops*", "FAILED *::test_each_time - *"])


def test_each_kind_of_test_is_repeated_but_doctests(run):
    result = run(
        "--cyclewatch",
        "--cyclewatch-repeat=3",
        "--doctest-modules",
        "-p",
        "no:randomly",
        test_it='''
import unittest
import pytest

RUNS = []

def documented():
    """
    >>> RUNS.append("doctest")
    """

class Case(unittest.TestCase):
    def test_it(self):
        RUNS.append("unittest")

@pytest.mark.parametrize("name", ["a", "b"])
def test_parametrized(name):
    RUNS.append(name)

def test_zz_counts():
    if "counted" not in RUNS:
        RUNS.append("counted")
        assert sorted(RUNS) == sorted(["doctest", *["unittest"] * 3, *"aaabbb", "counted"])
''',
    )
    result.assert_outcomes(passed=5)


def test_failure_in_a_later_run_fails_the_test(run):
    result = run(
        "--cyclewatch",
        "--cyclewatch-repeat=2",
        test_it="""
RUNS = []

def test_second():
    RUNS.append(1)
    assert len(RUNS) < 2
""",
    )
    result.assert_outcomes(failed=1)
