# SPDX-License-Identifier: Apache-2.0
"""What a failure looks like under each --tb, and in lists of failures."""

import pytest

SOURCE = """
import cyclewatch
import loops
import pytest

@pytest.fixture
def before():
    loops.Engine(1000)

@pytest.fixture
def after():
    yield
    loops.Engine(2000)

@pytest.fixture
def broken():
    loops.Engine(3000)
    raise ValueError("on its own")

def test_setup(before):
    pass

def test_call():
    loops.Engine(4000)
    loops.Trainer(500)

def test_assertion():
    with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
        loops.Engine(5000)

def test_teardown(after):
    pass

def test_broken(broken):
    pass
"""


def test_line_is_one_line_for_each_failure_in_whatever_phase(run, project):
    place = project.path / "loops.py"
    result = run("--cyclewatch", "--tb=line", test_it=SOURCE)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of test_setup*",
            f"{place}:4: Engine._handlers[[]0] -> ... keeps 1000 B",
            "*ERROR at teardown of test_teardown*",
            f"{place}:4: Engine._handlers[[]0] -> ... keeps 2.0 KiB",
            "*ERROR at setup of test_broken*",
            "E   ValueError: on its own",
            "*- cyclewatch -*",
            "Engine._handlers[[]0] -> ... keeps 2.9 KiB",
            "*= FAILURES =*",
            f"{place}:4: Engine._handlers[[]0] -> ... keeps 3.9 KiB (and 1 more)",
            f"{place}:4: Engine._handlers[[]0] -> ... keeps 4.9 KiB",
            "*= cyclewatch =*",
        ],
        consecutive=True,
    )


def test_line_leads_to_the_file_from_a_folder_below(run, project, monkeypatch):
    project.makeini("[pytest]\n")
    project.mkdir("below")
    project.makepyfile(test_it=SOURCE)
    monkeypatch.chdir(project.path / "below")
    result = run("--cyclewatch", "--tb=line", "../test_it.py")
    result.stdout.fnmatch_lines([f"{project.path / 'loops.py'}:4: Engine._handlers*"])


@pytest.mark.parametrize("style", ["auto", "long", "short", "native"])
def test_other_styles_show_the_card_once_for_each_failure(run, style):
    result = run("--cyclewatch", f"--tb={style}", test_it=SOURCE)
    # Two loops in test_call.
    cards = [line for line in result.outlines if "cut   closure:self of function" in line]
    assert len(cards) == 6
    assert "cyclewatch/pytest_plugin/verdicts.py" not in str(result.stdout)


def test_no_shows_the_summary_alone(run):
    result = run("--cyclewatch", "--tb=no", "-v", test_it=SOURCE)
    assert "cut   closure" not in str(result.stdout)
    result.stdout.fnmatch_lines(
        ["*= cyclewatch =*", "* in 5 loops  Engine*", "*500 B  Trainer*", "cyclewatch: *"],
        consecutive=True,
    )


def test_list_of_failures_has_one_line_for_each_in_ci_too(run, monkeypatch):
    monkeypatch.setenv("CI", "true")
    result = run("--cyclewatch", "-rA", test_it=SOURCE)
    lines = result.outlines
    listed = lines[lines.index(next(line for line in lines if "short test summary" in line)) + 1 :]
    # One test passed before its teardown failed.
    words = [line.split()[0] for line in listed[:-1]]
    assert sorted(words) == ["ERROR"] * 3 + ["FAILED"] * 2 + ["PASSED"]
    assert any(
        line.endswith("::test_call - Engine._handlers[0] -> ... keeps 3.9 KiB (and 1 more)")
        for line in listed
    )
