# SPDX-License-Identifier: Apache-2.0
"""Options, on the command line and in the ini file; and what the plugin imports when it is off."""

import pytest

from cyclewatch.pytest_plugin.options import OPTIONS, parse_bytes

LEAK = "def test_leak():\n    leaky.Engine(1000)"


def test_command_line_overrides_the_ini_file(run, project):
    project.makeini("[pytest]\ncyclewatch = fail\ncyclewatch_devices = cpu\n")
    run(test_it=LEAK).assert_outcomes(failed=1)
    run("--cyclewatch=off").assert_outcomes(passed=1)
    run("--cyclewatch-devices=cuda").assert_outcomes(passed=1)


def test_booleans_of_the_ini_file_are_read(run, project):
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


def test_every_flag_has_an_ini_key_and_no_default_that_hides_it(pytestconfig):
    for option in OPTIONS:
        assert option.key == option.flag[2:].replace("-", "_")
        assert pytestconfig.getini(option.key) is None
        assert pytestconfig.getoption(option.key) is None


@pytest.mark.parametrize(
    ("ini", "complaint"),
    [
        ("cyclewatch = sometimes", "cyclewatch in *: 'sometimes' is not one of fail, warn, off*"),
        ("cyclewatch_min_bytes = lots", "cyclewatch_min_bytes in *: 'lots' is not a size*"),
        ("cyclewatch_repeat = 0", "cyclewatch_repeat in *: '0' is not a positive integer"),
        ("cyclewatch_strict_baseline = maybe", "*'maybe' is not true or false"),
        ("cyclewatch_update_baseline = true", "*need --cyclewatch-baseline=FILE"),
        ("addopts = --cyclewatch=sometimes", "*--cyclewatch=fail/--cyclewatch=warn*sometimes*"),
        ("addopts = --cyclewatch-report=", "--cyclewatch-report: expects a path"),
        (
            "addopts = --cyclewatch --cyclewatch-devices=toaster",
            "--cyclewatch-devices: *toaster*",
        ),
    ],
)
def test_invalid_value_ends_the_run_with_a_sentence(run, project, ini, complaint):
    project.makeini(f"[pytest]\n{ini}\n")
    result = run(test_it=LEAK)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{complaint}"])


def test_path_may_follow_the_bare_flag(run):
    run("--cyclewatch", "test_it.py", test_it=LEAK).assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), (4096, 4096), ("1 MB", 10**6), ("1.5 KiB", 1536), ("2gib", 2**31), ("7 B", 7)],
)
def test_sizes(text, number):
    assert parse_bytes(text) == number


@pytest.mark.parametrize("text", ["", "MB", "-1", "1 TB", "1e3", "1 MB or so"])
def test_invalid_sizes(text):
    with pytest.raises(ValueError, match="is not a size"):
        parse_bytes(text)


def test_plugin_that_is_off_imports_nothing(project):
    project.makepyfile(
        test_it="""
import sys

def test_nothing_is_there():
    ours = {name for name in sys.modules if name.startswith("cyclewatch")}
    assert ours == {"cyclewatch", "cyclewatch.pytest_plugin", "cyclewatch.pytest_plugin.options"}
"""
    )
    project.runpytest_subprocess("-pno:cacheprovider").assert_outcomes(passed=1)


def test_plugin_can_be_disabled(project):
    project.makepyfile(test_it="def test_it(): pass")
    result = project.runpytest_subprocess("-pno:cyclewatch", "--cyclewatch=fail")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    project.runpytest_subprocess("-pno:cyclewatch").assert_outcomes(passed=1)
