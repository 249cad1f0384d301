# SPDX-License-Identifier: Apache-2.0
"""Tests fail only for cycles not in the baseline; updating the file only removes entries."""

import json
import subprocess

import pytest

from cyclewatch.pytest_plugin.baseline import Baseline, BaselineError, Entry

OLD = """
def test_engine():
    leaky.Engine(1000)
    leaky.Engine(1000)

def test_trainer():
    leaky.Trainer(2000)
"""

OPTIONS = ("--cyclewatch", "--cyclewatch-baseline=known.json")
UPDATE = (*OPTIONS, "--cyclewatch-update-baseline")
STRICT = (*OPTIONS, "--cyclewatch-strict-baseline")
BOTH = (*STRICT, "--cyclewatch-update-baseline")


@pytest.fixture
def baseline(run, project):
    """The path of a baseline with the cycles of Engine and Trainer."""
    run(*UPDATE, test_it=OLD).assert_outcomes(failed=2)
    return project.path / "known.json"


def entries(path):
    whole = json.loads(path.read_text())
    assert whole.pop("version") == 2
    return whole


def test_first_baseline_has_one_line_per_new_cycle(baseline):
    lines = baseline.read_text().splitlines()
    assert (lines[0], lines[-2], lines[-1]) == ("{", '"version": 2', "}")
    assert lines[1:-2] == sorted(lines[1:-2])
    assert all(line.endswith("},") for line in lines[1:-2])
    by_test = {entry["test"]: entry for entry in entries(baseline).values()}
    engine = by_test["test_it.py::test_engine"]
    assert engine["count"] == 2
    assert engine["title"].startswith("Engine._handlers -> ")
    assert engine["reason"]


def test_known_cycles_pass_and_are_counted(run, baseline):
    result = run(*STRICT)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*[[]known: present when the baseline was created]",
            "cyclewatch: 3 cycles (2 findings), 3.9 KiB, 3 known (baseline), 0 allowed",
        ]
    )
    assert result.ret == 0


def test_new_cycle_fails_and_is_not_added(run, baseline):
    before = baseline.read_text()
    new = (
        OLD
        + """
def test_new():
    engine = leaky.Engine()
    engine.callback = lambda: engine
"""
    )
    result = run(*UPDATE, test_it=new)
    result.assert_outcomes(passed=2, failed=1)
    assert baseline.read_text() == before


def test_entry_holds_for_other_classes_tests_and_lines(run, project):
    both = """
class Other(leaky.Trainer): pass
class Third(leaky.Trainer): pass

def test_both():
    leaky.Trainer(2000)
    Other(1000)
"""
    run(*UPDATE, test_it=both).assert_outcomes(failed=1)
    assert [entry["count"] for entry in entries(project.path / "known.json").values()] == [2]
    run(*STRICT, test_it=both).assert_outcomes(passed=1)
    third = both.replace("    leaky.Trainer(2000)\n    Other", "    Third")
    third = third.replace("test_both", "test_third")
    leaky = (project.path / "leaky.py").read_text()
    project.makepyfile(leaky="# A comment moves all lines.\n\n" + leaky)
    # In a new process, because this one has imported the earlier file.
    run(*OPTIONS, test_it=third, apart=True).assert_outcomes(passed=1)
    # Another line with the same kind of cycle is another cause.
    project.makepyfile(
        leaky=leaky.replace("self.loss = lambda: self", "self.loss = lambda: [self]")
    )
    run(*OPTIONS, test_it=third, apart=True).assert_outcomes(failed=1)


def test_equal_lines_of_different_functions_are_different_causes(run, project):
    project.makepyfile(
        factory="""
import leaky

def plain(function):
    return function

class First(leaky.Trainer):
    def __init__(self):
        self.buffer = leaky.Buffer(1000)
        @plain
        def call(): return self
        self.call = call

class Second(leaky.Trainer):
    def __init__(self):
        self.buffer = leaky.Buffer(1000)
        @plain
        def call(): return self
        self.call = call
"""
    )
    first = "import factory\ndef test_it(): factory.First()\n"
    run(*UPDATE, test_it=first).assert_outcomes(failed=1)
    run(*OPTIONS, test_it=first).assert_outcomes(passed=1)
    run(*OPTIONS, test_it=first.replace("First", "Second")).assert_outcomes(failed=1)


def test_baseline_of_signatures_is_read(run, baseline):
    by_cause = entries(baseline)
    result = run("--cyclewatch", test_it=OLD)
    ids = [line.split()[1] for line in result.outlines if line.startswith("    id    cw1-")]
    old = dict(zip(ids, by_cause.values(), strict=True))
    baseline.write_text(json.dumps({**old, "version": 1}))
    run(*STRICT, test_it=OLD).assert_outcomes(passed=2)
    # A vanished entry is removed, and the others are kept as they are.
    run(*UPDATE, test_it=OLD.replace("leaky.Trainer(2000)", "pass")).assert_outcomes(passed=2)
    assert len(entries(baseline)) == 1


def test_reason_is_printed_as_text(run, baseline, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    text = baseline.read_text()
    forged = r'"reason": "a\n::error::forged\u001b]0;title\u0007\u009b31m"'
    baseline.write_text(text.replace('"reason": "present when the baseline was created"', forged))
    fixed = OLD.replace("leaky.Trainer(2000)", "pass")
    for test_it in (OLD, fixed):
        result = run(*OPTIONS, test_it=test_it)
        assert any("::error::forged" in line for line in result.outlines)
        assert not any(line.startswith("::") for line in result.outlines)
        assert not {"\x1b", "\x07", "\x9b"} & set("".join(result.outlines))


def test_vanished_cycle_fails_a_strict_run_only(run, baseline):
    fixed = OLD.replace("leaky.Trainer(2000)", "pass")
    result = run(*OPTIONS, test_it=fixed)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["vanished: *Trainer.loss*", "the baseline * has vanished entries: 1;*"]
    )
    result = run(*STRICT)
    result.assert_outcomes(passed=2)
    assert result.ret == 1


def test_update_removes_a_vanished_cycle(run, baseline):
    run(*UPDATE, test_it=OLD.replace("leaky.Trainer(2000)", "pass"))
    assert [entry["test"] for entry in entries(baseline).values()] == ["test_it.py::test_engine"]
    # Later updates do not add the entry again.
    run(*UPDATE, test_it=OLD).assert_outcomes(passed=1, failed=1)
    assert len(entries(baseline)) == 1


@pytest.mark.parametrize("narrowed", [("-k", "engine"), ("test_it.py::test_engine",)])
def test_deselected_tests_keep_their_entries(run, baseline, narrowed):
    result = run(*BOTH, *narrowed)
    assert result.ret == 0
    assert len(entries(baseline)) == 2


@pytest.mark.parametrize(
    "before",
    [
        "pytest.skip('not today')",
        "pytest.xfail('known')",
        "assert False, 'before it creates a cycle'",
        "pytest.exit('interrupted')",
    ],
)
def test_entry_of_a_test_that_did_not_finish_is_kept(run, baseline, before):
    def insert_before(text):
        return OLD.replace(text, f"    {before}\n{text}")

    result = run(*BOTH, test_it=insert_before("    leaky.Trainer(2000)"))
    assert "vanished: " not in str(result.stdout)
    assert len(entries(baseline)) == 2
    # The entries of later tests are kept, too.
    run(*BOTH, test_it=insert_before("    leaky.Engine(1000)\n    leaky"))
    assert len(entries(baseline)) == 2


def test_entry_of_a_test_deselected_by_a_plugin_is_kept(run, baseline, project):
    project.makeconftest(
        """
def pytest_collection_modifyitems(config, items):
    config.hook.pytest_deselected(items=[items.pop()])
"""
    )
    result = run(*BOTH)
    result.assert_outcomes(passed=1, deselected=1)
    assert len(entries(baseline)) == 2


def test_run_of_marked_tests_only_ignores_the_baseline(run, baseline):
    marked = "\n@pytest.mark.no_tensor_cycles\ndef test_marked(): pass\n"
    result = run(*BOTH, "--cyclewatch=off", test_it=OLD + marked)
    result.assert_outcomes(passed=3)
    assert result.ret == 0
    assert len(entries(baseline)) == 2


def test_branches_that_fix_different_cycles_merge_without_conflict(tmp_path):
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
        ('{\n<<<<<<< HEAD\n"version": 1}', "line 2 .*keep the lines of both sides"),
        ("{", "line 1 .*correct the file, or delete it"),
        ("[]", 'has no "version": 2'),
        ('{"version": 3}', 'has no "version": 2'),
        ('{"a": {"count": 1}, "version": 1}', "'a' needs a reason"),
        (
            '{"a": {"count": "x", "reason": "r"}, "version": 1}',
            "the count of 'a' must be a positive",
        ),
    ],
)
def test_invalid_file_is_rejected(tmp_path, text, complaint):
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(BaselineError, match=complaint):
        Baseline.read(path)


def test_invalid_baseline_ends_the_run(run, project):
    (project.path / "known.json").write_text("{")
    result = run(*OPTIONS, test_it=OLD)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: the baseline *known.json is not valid: *"])


@pytest.mark.parametrize("narrowed", [("--collect-only",), ("-k", "nothing")])
def test_run_without_tests_writes_no_baseline(run, project, narrowed):
    result = run(*UPDATE, *narrowed, test_it=OLD)
    result.stdout.fnmatch_lines(["the run was not complete, so no baseline was written"])
    assert not (project.path / "known.json").exists()
    assert "cyclewatch: 0 cycles" not in str(run("--cyclewatch", *narrowed).stdout)
