# SPDX-License-Identifier: Apache-2.0
"""Tests that look for loops themselves: by an assertion, or with the fixture."""

import pytest

KINDS = ("buffers", "tensors")

HEAD = """
import gc
import unittest

import cyclewatch
import loops
import pytest
"""


def test_loop_that_an_assertion_was_expected_to_find_passes(run):
    result = run(
        "--cyclewatch",
        test_it=HEAD
        + """
def test_expects():
    with pytest.raises(cyclewatch.TensorCycleError):
        with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
            loops.Engine()

class Case(unittest.TestCase):
    def test_expects(self):
        with self.assertRaises(cyclewatch.TensorCycleError):
            with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
                loops.Engine()
""",
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*8.0 MiB in 2 loops  Engine*and 1 more  [[]expected: assert_no_tensor_cycles() *]",
            "cyclewatch: 2 loops (1 finding), 8.0 MiB, 0 known (baseline), 0 allowed, 2 expected",
        ]
    )


@pytest.mark.parametrize("more", ["loops.Trainer()", "loops.Engine()"])
def test_expectation_covers_no_other_loop_and_no_further_one(run, more):
    result = run(
        "--cyclewatch",
        test_it=HEAD
        + f"""
def test_expects_one():
    with pytest.raises(cyclewatch.TensorCycleError):
        with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
            loops.Engine()
    {more}

def test_innocent():
    pass
""",
    )
    result.assert_outcomes(passed=1, failed=1)
    kind = more[len("loops.") :].partition("(")[0]
    result.stdout.fnmatch_lines([f"FAILED test_it.py::test_expects_one - {kind}.*"])


def test_each_test_has_expectations_of_its_own(run):
    result = run(
        "--cyclewatch",
        test_it=HEAD
        + """
def test_expects():
    with pytest.raises(cyclewatch.TensorCycleError):
        with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
            loops.Engine()

def test_does_not():
    loops.Engine()
""",
    )
    result.assert_outcomes(passed=1, failed=1)


def test_assertion_that_fails_the_test_is_told_once_and_counts_as_new(run):
    result = run(
        "--cyclewatch",
        test_it=HEAD
        + """
def test_asserts():
    with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
        loops.Engine()

class Case(unittest.TestCase):
    def test_asserts(self):
        with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
            loops.Engine()
""",
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            ">       with cyclewatch.assert_no_tensor_cycles(devices=*",
            "E * cyclewatch.errors.TensorCycleError: Engine._handlers*",
            "FAILED test_it.py::test_asserts - Engine._handlers*",
            "FAILED test_it.py::Case::test_asserts - Engine._handlers*",
        ]
    )
    result.stdout.fnmatch_lines(
        ["cyclewatch: 2 loops (1 finding), 8.0 MiB, 0 known (baseline), 0 allowed"]
    )
    cards = [line for line in result.outlines if "cut   closure:self of function" in line]
    assert len(cards) == 2
    assert "def __exit__" not in str(result.stdout)


LOOKS = """
{mark}
def test_looks(tensor_cycles):
    loops.Engine()
    gc.collect()
    assert tensor_cycles.report().findings
"""


def test_fixture_alone_allows_nothing(run):
    run("--cyclewatch", test_it=HEAD + LOOKS.format(mark="")).assert_outcomes(failed=1)
    mark = "@pytest.mark.allow_tensor_cycles(reason='a loop to look at')"
    run("--cyclewatch", test_it=HEAD + LOOKS.format(mark=mark)).assert_outcomes(passed=1)
