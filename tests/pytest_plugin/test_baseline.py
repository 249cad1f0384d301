# SPDX-License-Identifier: Apache-2.0
"""The ratchet: known loops pass, new ones fail, and the file only shrinks."""

import json
import subprocess

import pytest

from cyclewatch.pytest_plugin.baseline import Baseline, BaselineError, Entry

KINDS = ("buffers", "tensors")

OLD = """
import loops

def test_engine():
    loops.Engine(1000)
    loops.Engine(1000)

def test_trainer():
    loops.Trainer(2000)
"""

OPTIONS = ("--cyclewatch", "--cyclewatch-baseline=known.json")
UPDATE = (*OPTIONS, "--cyclewatch-update-baseline")
STRICT = (*OPTIONS, "--cyclewatch-strict-baseline")
BOTH = (*STRICT, "--cyclewatch-update-baseline")


@pytest.fixture
def baseline(run, project):
    """The path of a baseline that knows Engine's and Trainer's loops."""
    run(*UPDATE, test_it=OLD).assert_outcomes(failed=2)
    return project.path / "known.json"


def entries(path):
    whole = json.loads(path.read_text())
    assert whole.pop("version") == 1
    return whole


def test_first_baseline_holds_what_is_new_one_line_each(baseline):
    lines = baseline.read_text().splitlines()
    assert (lines[0], lines[-2], lines[-1]) == ("{", '"version": 1', "}")
    assert lines[1:-2] == sorted(lines[1:-2])
    assert all(line.endswith("},") for line in lines[1:-2])
    by_test = {entry["test"]: entry for entry in entries(baseline).values()}
    engine = by_test["test_it.py::test_engine"]
    assert engine["count"] == 2
    assert engine["title"].startswith("Engine._handlers -> ")
    assert engine["reason"]


def test_known_loops_pass_and_are_counted(run, baseline):
    result = run(*STRICT)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*[[]known: was there when the baseline was made]",
            "cyclewatch: 3 loops (2 findings), 3.9 KiB, 3 known (baseline), 0 allowed",
        ]
    )
    assert result.ret == 0


def test_known_loop_may_move_to_another_test(run, baseline):
    moved = OLD.replace("test_trainer", "test_renamed")
    run(*OPTIONS, test_it=moved).assert_outcomes(passed=2)


def test_new_loop_fails_and_is_not_added(run, baseline):
    before = baseline.read_text()
    new = (
        OLD
        + """
def test_new():
    engine = loops.Engine()
    engine.callback = lambda: engine
"""
    )
    result = run(*UPDATE, test_it=new)
    result.assert_outcomes(passed=2, failed=1)
    assert baseline.read_text() == before


def test_baseline_knows_each_class_of_a_merged_finding(run, project):
    both = """
import loops

class Other(loops.Trainer): pass
class Third(loops.Trainer): pass

def test_both():
    loops.Trainer(2000)
    Other(1000)
"""
    run(*UPDATE, test_it=both).assert_outcomes(failed=1)
    path = project.path / "known.json"
    assert sorted(entry["count"] for entry in entries(path).values()) == [1, 1]
    run(*STRICT, test_it=both).assert_outcomes(passed=1)
    alone = both.replace("loops.Trainer(2000)", "pass")
    result = run(*STRICT, test_it=alone)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["vanished: *Trainer.loss*"])
    third = both.replace("    loops.Trainer(2000)\n    Other", "    Third")
    run(*OPTIONS, test_it=third).assert_outcomes(failed=1)


def test_vanished_loop_fails_a_strict_run_only(run, baseline):
    mended = OLD.replace("loops.Trainer(2000)", "pass")
    result = run(*OPTIONS, test_it=mended)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["vanished: *Trainer.loss*", "1 of the baseline * are gone;*"])
    result = run(*STRICT)
    result.assert_outcomes(passed=2)
    assert result.ret == 1


def test_update_takes_a_vanished_loop_out(run, baseline):
    run(*UPDATE, test_it=OLD.replace("loops.Trainer(2000)", "pass"))
    assert [entry["test"] for entry in entries(baseline).values()] == ["test_it.py::test_engine"]
    # And it stays out.
    run(*UPDATE, test_it=OLD).assert_outcomes(passed=1, failed=1)
    assert len(entries(baseline)) == 1


def test_update_lowers_a_count_and_never_raises_it(run, baseline):
    def count():
        by_test = {entry["test"]: entry for entry in entries(baseline).values()}
        return by_test["test_it.py::test_engine"]["count"]

    run(*UPDATE, test_it=OLD.replace("loops.Engine(1000)\n    loops", "loops"))
    assert count() == 1
    run(*UPDATE, test_it=OLD)
    assert count() == 1


@pytest.mark.parametrize("narrowed", [("-k", "engine"), ("test_it.py::test_engine",)])
def test_run_of_some_tests_says_nothing_of_the_others(run, baseline, narrowed):
    result = run(*BOTH, *narrowed)
    assert result.ret == 0
    assert len(entries(baseline)) == 2


@pytest.mark.parametrize(
    "before",
    [
        "pytest.skip('not today')",
        "pytest.xfail('known')",
        "assert False, 'before it makes a loop'",
        "pytest.exit('interrupted')",
    ],
)
def test_run_that_did_not_come_to_the_loop_does_not_say_that_it_is_gone(run, baseline, before):
    def hindered(text):
        return f"import pytest\n{OLD}".replace(text, f"    {before}\n{text}")

    result = run(*BOTH, test_it=hindered("    loops.Trainer(2000)"))
    assert "vanished" not in str(result.stdout)
    assert len(entries(baseline)) == 2
    # Nor does it of the tests that come after.
    run(*BOTH, test_it=hindered("    loops.Engine(1000)\n    loops"))
    assert len(entries(baseline)) == 2


def test_deselected_test_is_not_gone(run, baseline, project):
    project.makeconftest(
        """
def pytest_collection_modifyitems(config, items):
    config.hook.pytest_deselected(items=[items.pop()])
"""
    )
    result = run(*BOTH)
    result.assert_outcomes(passed=1, deselected=1)
    assert len(entries(baseline)) == 2


def test_run_of_marked_tests_only_does_not_speak_of_the_baseline(run, baseline):
    marked = "\nimport pytest\n@pytest.mark.no_tensor_cycles\ndef test_marked(): pass\n"
    result = run(*BOTH, "--cyclewatch=off", test_it=OLD + marked)
    result.assert_outcomes(passed=3)
    assert result.ret == 0
    assert len(entries(baseline)) == 2


def test_loop_of_a_test_that_is_gone_has_vanished(run, baseline):
    run(*UPDATE, test_it=OLD.split("def test_trainer")[0])
    assert len(entries(baseline)) == 1


def test_branches_that_mend_different_loops_merge_by_themselves(tmp_path):
    whole = {f"cw1-{number}": Entry(1, "t", "A", "r") for number in range(6)}
    versions = {
        "base": whole,
        "ours": {name: entry for name, entry in whole.items() if name != "cw1-0"},
        "theirs": {name: entry for name, entry in whole.items() if name != "cw1-5"},
    }
    for version, kept in versions.items():
        Baseline(kept).write(tmp_path / version)
    merge = ["git", "merge-file", "ours", "base", "theirs"]
    subprocess.run(merge, cwd=tmp_path, check=True, timeout=60)
    assert sorted(Baseline.read(tmp_path / "ours").entries) == sorted(whole)[1:-1]


def test_both_sides_of_a_merge_are_a_valid_file(tmp_path):
    path = tmp_path / "known.json"
    path.write_text(
        '{\n"a": {"count": 1, "test": "t", "title": "A", "reason": "ours"},\n'
        '"b": {"count": 3, "test": "t", "title": "B", "reason": "ours"},\n'
        '"b": {"count": 2, "test": "t", "title": "B", "reason": "theirs"},\n"version": 1\n}\n'
    )
    assert Baseline.read(path).entries == {
        "a": Entry(1, "t", "A", "ours"),
        "b": Entry(3, "t", "B", "ours"),
    }


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{\n<<<<<<< HEAD\n"version": 1}', "no JSON at line 2: .*keep the lines of both sides"),
        ("{", "no JSON at line 1: .*put the line right"),
        ("[]", 'does not say "version": 1'),
        ('{"version": 2}', 'does not say "version": 1'),
        ('{"a": {"count": 1}, "version": 1}', "broken entry: 'a' needs a reason"),
        ('{"a": {"count": "x", "reason": "r"}, "version": 1}', "broken entry"),
    ],
)
def test_broken_file_is_refused_with_the_remedy(tmp_path, text, complaint):
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(BaselineError, match=complaint):
        Baseline.read(path)


def test_broken_baseline_ends_the_run_with_a_sentence(run, project):
    (project.path / "known.json").write_text("{")
    result = run(*OPTIONS, test_it=OLD)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: the baseline *known.json is no JSON at line 1:*"])


def test_missing_baseline_is_told(run):
    result = run(*OPTIONS, test_it=OLD)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["there is no baseline *known.json yet; *"])


@pytest.mark.parametrize("narrowed", [("--collect-only",), ("-k", "nothing")])
def test_run_of_no_tests_makes_no_baseline_and_claims_nothing(run, project, narrowed):
    result = run(*UPDATE, *narrowed, test_it=OLD)
    result.stdout.fnmatch_lines(["the run did not come to its end, so no baseline was written"])
    assert not (project.path / "known.json").exists()
    assert "cyclewatch: 0 loops" not in str(run("--cyclewatch", *narrowed).stdout)


def test_interrupted_run_makes_no_baseline(run, project):
    ends = "\nimport pytest\ndef test_interrupted():\n    pytest.exit('interrupted')\n"
    result = run(*UPDATE, test_it=OLD + ends)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert not (project.path / "known.json").exists()
