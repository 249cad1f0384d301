# SPDX-License-Identifier: Apache-2.0
"""Options, on the command line and in the ini file; and what the plugin costs where it is off."""

import pytest

from cyclewatch.pytest_plugin.options import OPTIONS, parse_bytes

KINDS = ("buffers", "tensors")

LEAK = "import loops\ndef test_leak():\n    loops.Engine(1000)"


def test_ini_switches_the_plugin_on_and_the_command_line_off_again(run, project):
    project.makeini("[pytest]\ncyclewatch = fail\ncyclewatch_devices = cpu\n")
    run(test_it=LEAK).assert_outcomes(failed=1)
    run("--cyclewatch=off").assert_outcomes(passed=1)
    run("--cyclewatch-devices=cuda").assert_outcomes(passed=1)


def test_pyproject_works_like_an_ini_file(run, project):
    project.makepyprojecttoml(
        """
        [tool.pytest.ini_options]
        cyclewatch = "fail"
        cyclewatch_min_bytes = "2 KB"
        cyclewatch_clear_tracebacks = true
        """
    )
    run(test_it=LEAK).assert_outcomes(passed=1)


def test_every_flag_has_its_ini_key(pytestconfig):
    for option in OPTIONS:
        assert option.key == option.flag[2:].replace("-", "_")
        assert pytestconfig.getini(option.key) is None


@pytest.mark.parametrize(
    ("ini", "complaint"),
    [
        ("cyclewatch = sometimes", "cyclewatch in *: 'sometimes' is none of fail, warn, off*"),
        ("cyclewatch_min_bytes = lots", "cyclewatch_min_bytes in *: 'lots' is no size*"),
        ("cyclewatch_repeat = 0", "cyclewatch_repeat in *: '0' is no number of runs*"),
        ("cyclewatch_strict_baseline = maybe", "*'maybe' is neither true nor false"),
        ("cyclewatch_update_baseline = true", "*need --cyclewatch-baseline=FILE"),
    ],
)
def test_value_that_makes_no_sense_ends_the_run_with_a_sentence(run, project, ini, complaint):
    project.makeini(f"[pytest]\n{ini}\n")
    result = run(test_it=LEAK)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {complaint}"])


def test_path_may_follow_the_bare_flag(run, project):
    run("--cyclewatch", "test_it.py", test_it=LEAK).assert_outcomes(failed=1)
    project.makeini("[pytest]\naddopts = --cyclewatch\n")
    run("test_it.py").assert_outcomes(failed=1)
    run("--cyclewatch=off", "test_it.py").assert_outcomes(passed=1)


def test_unknown_mode_on_the_command_line_shows_the_known_ones(run):
    result = run("--cyclewatch=sometimes", test_it=LEAK)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--cyclewatch=fail/--cyclewatch=warn/--cyclewatch=off*sometimes*"]
    )


def test_unknown_device_ends_the_run_with_a_sentence(run):
    result = run("--cyclewatch", "--cyclewatch-devices=toaster", test_it=LEAK)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --cyclewatch-devices: *toaster*"])


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), (4096, 4096), ("1 MB", 10**6), ("1.5 KiB", 1536), ("2gib", 2**31), ("7 B", 7)],
)
def test_sizes(text, number):
    assert parse_bytes(text) == number


@pytest.mark.parametrize("text", ["", "MB", "-1", "1 TB", "1e3", "1 MB or so"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="is no size"):
        parse_bytes(text)


def test_plugin_that_is_off_imports_nothing(run, project):
    project.makepyfile(
        test_it="""
import sys

def test_nothing_is_there():
    ours = {name for name in sys.modules if name.startswith("cyclewatch")}
    assert ours == {"cyclewatch", "cyclewatch.pytest_plugin", "cyclewatch.pytest_plugin.options"}
"""
    )
    project.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_plugin_can_be_kept_out(run, project):
    project.makepyfile(test_it="def test_it(): pass")
    result = project.runpytest_subprocess("-p", "no:cyclewatch", "--cyclewatch=fail")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    project.runpytest_subprocess("-p", "no:cyclewatch").assert_outcomes(passed=1)
