# SPDX-License-Identifier: Apache-2.0
"""Options, marks, the fixture, and assertions in tests."""

import pytest

from cyclewatch.settings.kinds import DECIMAL_BYTES
from cyclewatch.settings.table import PYTEST, settings_of

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


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("", "needs a reason*"),
        ("reason=' '", "needs a reason*"),
        (
            "'a', reason='b'",
            "has unknown arguments: 'a'; valid arguments: reason=, max_bytes= and*",
        ),
        ("reason='b', size=3", "has unknown arguments: size*"),
        ("reason='b', max_bytes='big'", "expects a size such as 4096, 64 KiB or 1 MB, not 'big'*"),
        ("reason='b', pattern=3", "expects the id of a pattern*"),
    ],
)
def test_invalid_allowance_fails_its_test(check, arguments, complaint):
    source = f"@pytest.mark.allow_tensor_cycles({arguments})\ndef test_allowed(): pass\n"
    result = check(source, errors=1)
    result.stdout.fnmatch_lines([f"*allow_tensor_cycles {complaint}"])


def test_marks_are_declared(run):
    run("--markers").stdout.fnmatch_lines(
        ["*no_tensor_cycles(never_freed=False):*", "*allow_tensor_cycles(reason*"]
    )


INSPECTS = """
{mark}
def test_inspects(tensor_cycles):
    leaky.Engine(1000)
    gc.collect()
    (finding,) = tensor_cycles.report().findings
    assert finding.retained_bytes == 1000
"""


def test_fixture_is_a_watch_and_allows_no_cycle(run):
    run(test_it=INSPECTS.format(mark="")).assert_outcomes(passed=1)
    run("--cyclewatch", test_it=INSPECTS.format(mark="")).assert_outcomes(failed=1)
    mark = "@pytest.mark.allow_tensor_cycles(reason='created to look at it')"
    run("--cyclewatch", test_it=INSPECTS.format(mark=mark)).assert_outcomes(passed=1)


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
def test_expectation_covers_only_its_own_cycle(check, more):
    check(EXPECTS + more, passed=more.startswith("def"), failed=1)


def test_failing_assertion_is_reported_once(check):
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


LEAK = "def test_leak():\n    leaky.Engine(1000)"


def test_command_line_overrides_the_ini_file(run, project):
    project.makeini("[pytest]\ncyclewatch = fail\ncyclewatch_devices = cpu\n")
    run(test_it=LEAK).assert_outcomes(failed=1)
    run("--cyclewatch=off").assert_outcomes(passed=1)
    run("--cyclewatch-devices=cuda").assert_outcomes(passed=1)


def test_booleans_in_the_ini_file(run, project):
    project.makepyprojecttoml(
        """
        [tool.pytest.ini_options]
        cyclewatch = "fail"
        cyclewatch_baseline = "known.json"
        cyclewatch_update_baseline = true
        cyclewatch_strict_baseline = "false"
        """
    )
    run(test_it=LEAK).assert_outcomes(failed=1)
    assert (project.path / "known.json").exists()
    run().assert_outcomes(passed=1)


def test_every_flag_has_an_ini_key_and_no_default(pytestconfig):
    for option in settings_of(PYTEST):
        assert option.key == option.option(PYTEST)[2:].replace("-", "_")
        assert pytestconfig.getini(option.key) is None
        assert pytestconfig.getoption(option.key) is None


@pytest.mark.parametrize(
    ("ini", "complaint"),
    [
        ("cyclewatch = sometimes", "cyclewatch in *: expects fail, warn or off, not 'sometimes'*"),
        (
            "cyclewatch_min_bytes = lots",
            "cyclewatch_min_bytes in *: expects a size such as * not 'lots'*",
        ),
        ("cyclewatch_repeat = 0", "cyclewatch_repeat in *: expects a positive integer, not '0'"),
        ("cyclewatch_strict_baseline = maybe", "*expects 1 or 0, or true or false, not 'maybe'"),
        ("cyclewatch_update_baseline = true", "*need --cyclewatch-baseline=FILE"),
        ("addopts = --cyclewatch=sometimes", "*--cyclewatch=fail/--cyclewatch=warn*sometimes*"),
        ("addopts = --cyclewatch-report=", "--cyclewatch-report: expects a path, not ''"),
        (
            "addopts = --cyclewatch --cyclewatch-devices=toaster",
            "--cyclewatch-devices: *toaster*",
        ),
    ],
)
def test_invalid_value_ends_the_run(run, project, ini, complaint):
    project.makeini(f"[pytest]\n{ini}\n")
    result = run(test_it=LEAK)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{complaint}"])


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("4096", 4096), ("1 MB", 10**6), ("1.5 KiB", 1536), ("2gib", 2**31), ("7 B", 7)],
)
def test_sizes(text, number):
    assert DECIMAL_BYTES.read(text) == number


@pytest.mark.parametrize("text", ["", "MB", "-1", "1 TB", "1e3", "1 MB or so"])
def test_invalid_sizes(text):
    with pytest.raises(ValueError, match="expects a size"):
        DECIMAL_BYTES.read(text)


def test_plugin_imports_nothing_if_off(project):
    project.makepyfile(
        test_it="""
import sys

def test_nothing_is_there():
    ours = {name for name in sys.modules if name.startswith("cyclewatch")}
    modules = ["pytest_plugin", "pytest_plugin.options", "settings"]
    modules += ["settings.arguments", "settings.kinds", "settings.table"]
    assert ours == {"cyclewatch", *(f"cyclewatch.{module}" for module in modules)}
"""
    )
    project.runpytest_subprocess("-pno:cacheprovider").assert_outcomes(passed=1)


def test_plugin_can_be_disabled(project):
    project.makepyfile(test_it="def test_it(): pass")
    result = project.runpytest_subprocess("-pno:cyclewatch", "--cyclewatch=fail")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    project.runpytest_subprocess("-pno:cyclewatch").assert_outcomes(passed=1)
