# SPDX-License-Identifier: Apache-2.0
"""The marks, the fixture, and assertions inside tests."""

import pytest

MARKED = """
@pytest.mark.no_tensor_cycles
def test_marked():
    leaky.Engine()

def test_unmarked():
    leaky.Engine()
"""

ALLOWED = """
@pytest.fixture
def careless():
    leaky.Engine(1)
    yield
    leaky.Engine(1)

@pytest.mark.allow_tensor_cycles({arguments})
class TestAllowed:
    def test_allowed(self, careless):
        leaky.Engine(1000)
        leaky.Trainer(2000)
"""


@pytest.mark.parametrize("option", ["--strict-markers", "--cyclewatch=off", "--cyclewatch=warn"])
def test_marked_test_fails_in_every_mode(run, option):
    result = run(option, test_it=MARKED)
    warnings = 1 if option == "--cyclewatch=warn" else 0
    result.assert_outcomes(passed=1, failed=1, warnings=warnings)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_marked - Engine._handlers*"])


def test_allowed_cycles_pass_and_are_counted(check):
    result = check(ALLOWED.format(arguments="reason='by design'"), "-v", passed=1)
    result.stdout.fnmatch_lines(
        [
            "* 2.0 KiB  Trainer.loss -> ...  *::test_allowed  [[]allowed: by design]",
            "cyclewatch: 4 cycles (2 findings), 2.9 KiB, 0 known (baseline), 4 allowed",
        ]
    )


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [
        ("max_bytes='3000'", "passed"),
        ("max_bytes='2999'", "failed"),
        ("pattern='closure-*'", "passed"),
    ],
)
def test_allowance_is_limited_by_bytes_and_pattern(check, limit, outcome):
    check(ALLOWED.format(arguments=f"reason='by design', {limit}"), **{outcome: 1})


def test_allowance_covers_no_other_pattern_in_any_phase(check):
    other = ALLOWED.format(arguments="reason='by design', pattern='exception-*'")
    check(other, errors=2)  # at setup and teardown; the test is not called


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("", "needs a reason*"),
        ("reason=' '", "needs a reason*"),
        ("'a', reason='b'", "has unknown arguments: 'a'; valid are reason=, *"),
        ("reason='b', size=3", "has unknown arguments: size*"),
        ("reason='b', max_bytes='big'", "'big' is not a size*"),
        ("reason='b', pattern=3", "expects the id of a pattern*"),
    ],
)
def test_invalid_allowance_fails_its_test(check, arguments, complaint):
    source = f"@pytest.mark.allow_tensor_cycles({arguments})\ndef test_allowed(): pass\n"
    result = check(source, errors=1)
    result.stdout.fnmatch_lines([f"*allow_tensor_cycles {complaint}"])


def test_marks_are_declared(run):
    run("--markers").stdout.fnmatch_lines(["*no_tensor_cycles:*", "*allow_tensor_cycles(reason*"])


LOOKS = """
{mark}
def test_looks(tensor_cycles):
    leaky.Engine(1000)
    gc.collect()
    (finding,) = tensor_cycles.report().findings
    assert finding.retained_bytes == 1000
"""


def test_fixture_is_a_watch_and_allows_nothing(run):
    run(test_it=LOOKS.format(mark="")).assert_outcomes(passed=1)
    run("--cyclewatch", test_it=LOOKS.format(mark="")).assert_outcomes(failed=1)
    mark = "@pytest.mark.allow_tensor_cycles(reason='created to look at it')"
    run("--cyclewatch", test_it=LOOKS.format(mark=mark)).assert_outcomes(passed=1)


EXPECTS = """
def test_expects():
    with pytest.raises(cyclewatch.TensorCycleError):
        with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
            leaky.Engine()
"""


def test_expected_error_of_an_assertion_passes(check):
    case = """
class Case(unittest.TestCase):
    def test_expects(self):
        with self.assertRaises(cyclewatch.TensorCycleError):
            with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
                leaky.Engine()
"""
    result = check(EXPECTS + case, passed=2)
    result.stdout.fnmatch_lines(
        [
            "*8.0 MiB in 2 cycles  Engine*and 1 more  [[]expected: the test caught the error *]",
            "cyclewatch: 2 cycles (1 finding), 8.0 MiB, 0 known (baseline), 0 allowed, 2 expected",
        ]
    )


@pytest.mark.parametrize(
    "more", ["    leaky.Trainer()", "    leaky.Engine()", "def test_other():\n    leaky.Engine()"]
)
def test_expectation_covers_neither_other_cycles_nor_other_tests(check, more):
    check(EXPECTS + more, passed=more.startswith("def"), failed=1)


def test_assertion_that_fails_the_test_is_reported_once_as_new(check):
    result = check(
        """
def test_asserts():
    with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
        leaky.Engine()

class Case(unittest.TestCase):
    def test_asserts(self):
        with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
            leaky.Engine()
""",
        failed=2,
    )
    result.stdout.fnmatch_lines(
        [
            ">       with cyclewatch.assert_no_tensor_cycles(devices=*",
            "E * cyclewatch.errors.TensorCycleError: Engine._handlers*",
            "cyclewatch: 2 cycles (1 finding), 8.0 MiB, 0 known (baseline), 0 allowed",
            "FAILED test_it.py::test_asserts - Engine._handlers*",
            "FAILED test_it.py::Case::test_asserts - Engine._handlers*",
        ]
    )
    assert str(result.stdout).count("cut   closure:self of function") == 2
    assert "def __exit__" not in str(result.stdout)
