# SPDX-License-Identifier: Apache-2.0
"""Summary, report, JUnit XML, SARIF and GitHub annotations; files that cannot be written."""

import json
import math
import os
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import pytest

import cyclewatch
from cyclewatch import writing
from cyclewatch.pytest_plugin.code_quality import write_code_quality
from cyclewatch.pytest_plugin.records import NEW, CycleRecord, grouped
from cyclewatch.pytest_plugin.sarif import write_sarif

HERE = Path(__file__).resolve().parent
SCHEMA = HERE.parents[1] / "viewer" / "node_modules" / "@microsoft" / "jest-sarif"

CLEAN = "def test_clean(): pass\n"
LEAK = "def test_leak():\n    leaky.Engine(1000)\n"
LEAKS = """
def test_engine():
    leaky.Engine(1000)

def test_engine_again():
    leaky.Engine(1000)

def test_trainer():
    leaky.Trainer(5000)

@pytest.mark.allow_tensor_cycles(reason="by design")
def test_allowed():
    engine = leaky.Engine(3)
    engine.callback = lambda: engine
"""

# Has neither a test nor a location.
UNATTRIBUTED = CycleRecord(
    signature="cw1-0000000000000000",
    cause="cwc1-0000000000000000",
    title="Engine.me -> Engine",
    pattern="self-reference",
    headline="Engine refers to itself.",
    card="#1  4.0 MiB",
    retained_bytes=2**22,
    attributed_bytes=2**22,
    signatures={"cw1-0000000000000000": 1},
    occurrences=1,
    status=NEW,
    reason="",
    fails=True,
    nodeid="",
    path="",
    line=0,
    source=None,
)


def test_summary_lists_the_largest_first(run):
    run("--cyclewatch", test_it=LEAKS).stdout.fnmatch_lines(
        [
            "*= cyclewatch =*",
            "  4.9 KiB  Trainer.loss -> ...  test_it.py::test_trainer",
            "  2.0 KiB in 2 cycles  Engine*  test_it.py::test_engine and 1 more",
            "           test_it.py: test_engine, test_engine_again",
            "      3 B  Engine*  test_it.py::test_allowed  [[]allowed: by design]",
            "cyclewatch: 4 cycles (3 findings), 6.8 KiB, 0 known (baseline), 1 allowed",
        ],
        consecutive=True,
    )


def test_report_has_the_findings_of_all_tests(run, project):
    result = run("--cyclewatch", "--cyclewatch-report=out", test_it=LEAKS)
    path = project.path / "out" / "cyclewatch.html"
    # In the failure and in the summary.
    result.stdout.fnmatch_lines([f"report: {path}", "*= cyclewatch =*", f"report: {path}"])
    for suffix in (".html", ".json"):
        report = cyclewatch.Report.load(path.with_suffix(suffix))
        assert [finding.retained_bytes for finding in report.findings] == [5000, 2000, 3]


def test_junit_xml_has_the_message_and_properties(run, project):
    run("--cyclewatch", "--junitxml=junit.xml", test_it=LEAKS)
    root = xml.etree.ElementTree.parse(project.path / "junit.xml").getroot()
    cases = {case.get("name"): case for case in root.iter("testcase")}
    (trainer,) = cases["test_trainer"].iter("property")
    assert trainer.get("name") == "cyclewatch.new"
    assert trainer.get("value").startswith("cw1-")
    title = "Trainer.loss -> <lambda>.closure:self -> Trainer"
    assert trainer.get("value").endswith(f"5000 bytes: {title}")
    (allowed,) = cases["test_allowed"].iter("property")
    assert allowed.get("name") == "cyclewatch.allowed"
    message = cases["test_trainer"].find("failure").get("message")
    assert message == "Trainer.loss -> ... keeps 4.9 KiB"


def test_sarif_has_one_result_per_new_cycle(run, project):
    run("--cyclewatch", "--cyclewatch-sarif=out/new.sarif", test_it=LEAKS)
    (sarif_run,) = json.loads((project.path / "out" / "new.sarif").read_text())["runs"]
    driver = sarif_run["tool"]["driver"]
    assert driver["name"] == "cyclewatch"
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"].endswith(".")
        assert "lambda" in rule["help"]["markdown"]
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)
    by_type = {result["message"]["text"].split()[0]: result for result in sarif_run["results"]}
    assert sorted(by_type) == ["Engine", "Trainer"]
    for name, result in by_type.items():
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] == "error"
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == "leaky.py"
        assert physical["artifactLocation"]["uriBaseId"] in sarif_run["originalUriBaseIds"]
        assert physical["region"]["startLine"] == {"Engine": 4, "Trainer": 10}[name]
        assert result["partialFingerprints"]["cyclewatchSignature/v1"].startswith("cw1-")
    assert by_type["Engine"]["occurrenceCount"] == 2
    tests = ["test_it.py::test_engine", "test_it.py::test_engine_again"]
    assert by_type["Engine"]["properties"]["tests"] == tests


@pytest.mark.parametrize("options", [[], ["--cyclewatch-no-source"]])
def test_sarif_has_the_source(run, project, monkeypatch, options):
    # The files of the project are newer than this process.
    monkeypatch.setattr("cyclewatch.code.source_lines._process_start", math.inf)
    run("--cyclewatch", "--cyclewatch-sarif=new.sarif", *options, test_it=LEAKS)
    (sarif_run,) = json.loads((project.path / "new.sarif").read_text())["runs"]
    locations = [each["locations"][0]["physicalLocation"] for each in sarif_run["results"]]
    (engine,) = (each for each in locations if each["region"]["startLine"] == 4)
    if options:
        assert engine["region"] == {"startLine": 4}
        assert "contextRegion" not in engine
        return
    assert engine["region"]["snippet"]["text"] == "        self._handlers = [lambda: self]"
    assert engine["contextRegion"]["startLine"] == 3
    lines = engine["contextRegion"]["snippet"]["text"].split("\n")
    assert lines[:2] == ["        self.buffer = Buffer(size)", engine["region"]["snippet"]["text"]]
    assert engine["contextRegion"]["endLine"] == 2 + len(lines)


def test_sarif_is_valid(run, project, monkeypatch):
    monkeypatch.setattr("cyclewatch.code.source_lines._process_start", math.inf)
    run("--cyclewatch", "--cyclewatch-sarif=leaks.sarif", test_it=LEAKS)
    run("--cyclewatch", "--cyclewatch-sarif=clean.sarif", test_it=CLEAN)
    write_sarif(grouped([UNATTRIBUTED]), project.path / "unattributed.sarif")
    files = [project.path / f"{name}.sarif" for name in ("leaks", "clean", "unattributed")]
    counts = [len(json.loads(file.read_text())["runs"][0]["results"]) for file in files]
    assert counts == [2, 0, 1]
    if not SCHEMA.exists():
        pytest.skip("needs the npm packages of viewer/; scripts/bootstrap test installs them")
    done = subprocess.run(
        ["node", HERE / "validate_sarif.cjs", *files],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("option", "in_actions", "printed"),
    [("auto", "true", 2), ("auto", "false", 0), ("off", "true", 0), ("on", "false", 2)],
)
def test_annotations(run, monkeypatch, option, in_actions, printed):
    monkeypatch.setenv("GITHUB_ACTIONS", in_actions)
    result = run("--cyclewatch", f"--cyclewatch-github={option}", test_it=LEAKS)
    commands = [line for line in result.outlines if line.startswith("::error")]
    assert len(commands) == printed
    if printed:
        trainer, engine = commands
        title = "title=Tensor cycle%3A"
        assert engine.startswith(f"::error file=leaky.py,line=4,{title} Engine._handlers")
        assert trainer.startswith(f"::error file=leaky.py,line=10,{title} Trainer.loss ->")
        assert "%0A    cut   closure:self" in trainer


def test_code_quality_has_what_gitlab_requires(run, project):
    marked = LEAKS.replace("def test_trainer", "@pytest.mark.no_tensor_cycles\ndef test_trainer")
    run("--cyclewatch=warn", "--cyclewatch-gitlab=out/quality.json", test_it=marked)
    entries = json.loads((project.path / "out" / "quality.json").read_text())
    assert {(each["location"]["lines"]["begin"], each["severity"]) for each in entries} == {
        (4, "minor"),
        (10, "major"),
    }
    assert {each["location"]["path"] for each in entries} == {"leaky.py"}
    assert len({each["fingerprint"] for each in entries}) == 2
    assert all(each["check_name"].startswith("cyclewatch/") for each in entries)
    assert all(each["description"] for each in entries)


def test_code_quality_without_a_location_or_a_cycle(run, project):
    path = project.path / "quality.json"
    write_code_quality(grouped([UNATTRIBUTED]), path)
    (entry,) = json.loads(path.read_text())
    assert entry["location"] == {"path": ".", "lines": {"begin": 1}}
    run("--cyclewatch", "--cyclewatch-gitlab=quality.json", test_it=CLEAN)
    assert json.loads(path.read_text()) == []


@pytest.mark.parametrize(("option", "written"), [("auto", True), ("off", False)])
def test_job_summary(run, project, monkeypatch, option, written):
    summary = project.path / "summary.md"
    summary.write_text("earlier step\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    run("--cyclewatch", f"--cyclewatch-github={option}", test_it=LEAKS)
    first, *rest = summary.read_text().splitlines()
    assert first == "earlier step"
    assert bool(rest) == written
    if written:
        text = "\n".join(rest)
        assert rest[0] == "### cyclewatch: 2 tensor cycles"
        assert text.count("<details><summary>") == text.count("</pre>\n\n</details>") == 2
        assert "in leaky.py:10</summary>" in text
        card = text.split("<pre>")[1].split("</pre>")[0].splitlines()
        assert card[0].startswith("#1  ") and card[1].startswith("    Trainer")
        assert any(line.startswith("    cut   ") for line in card)
        assert "-&gt;" in text and "->" not in text  # names cannot become markup


def test_clean_tests_add_nothing_to_the_job_summary(run, project, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "summary.md"))
    run("--cyclewatch", "--cyclewatch-github=on", test_it="def test_clean():\n    pass\n")
    assert not (project.path / "summary.md").exists()


def test_a_job_summary_that_cannot_be_written_fails_no_test(run, project, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "missing" / "summary.md"))
    clean = "def test_clean():\n    pass\n"
    allowed = LEAKS.replace("def test_", "@pytest.mark.no_tensor_cycles\ndef test_")
    assert run("--cyclewatch", "--cyclewatch-github=on", test_it=clean).ret == 0
    result = run("--cyclewatch", "--cyclewatch-github=on", test_it=allowed)
    result.stdout.fnmatch_lines(["the job summary cannot be written: No such file or directory"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED  # because of the cycles


def test_warnings_are_not_errors(run, project, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    marked = LEAKS.replace("def test_trainer", "@pytest.mark.no_tensor_cycles\ndef test_trainer")
    result = run("--cyclewatch=warn", "--cyclewatch-sarif=new.sarif", test_it=marked)
    result.assert_outcomes(passed=3, failed=1, warnings=2)
    commands = [line for line in result.outlines if line.startswith("::")]
    assert [line.split()[0] for line in commands] == ["::error", "::warning"]
    (sarif_run,) = json.loads((project.path / "new.sarif").read_text())["runs"]
    levels = {each["message"]["text"].split()[0]: each["level"] for each in sarif_run["results"]}
    assert levels == {"Engine": "warning", "Trainer": "error"}


def test_file_name_in_an_annotation_is_text(run, project):
    name = "odd\x1b]0;name\x07"
    project.makepyfile(**{name: (project.path / "leaky.py").read_text()})
    odd = "import importlib\nodd = importlib.import_module('odd\\x1b]0;name\\x07')\n"
    result = run(
        "--cyclewatch", "--cyclewatch-github=on", test_it=odd + LEAK.replace("leaky", "odd")
    )
    (command,) = (line for line in result.outlines if line.startswith("::error"))
    assert "\x1b" not in command and "file=odd\ufffd]0;name\ufffd.py," in command


OPTIONS = {
    "report": ["--cyclewatch-report=out/deep"],
    "sarif": ["--cyclewatch-sarif=out/new.sarif"],
    "gitlab": ["--cyclewatch-gitlab=out/quality.json"],
    "baseline": ["--cyclewatch-baseline=out/known.json", "--cyclewatch-update-baseline"],
}
WHAT = {
    "report": "the report",
    "sarif": "the SARIF file",
    "gitlab": "the code quality report",
    "baseline": "the baseline",
}
# `out` does not exist when the run starts.
BLOCKS = "import pathlib\ndef test_blocks():\n    pathlib.Path('out').write_text('')\n"

each_file = pytest.mark.parametrize("file", OPTIONS)


@each_file
@pytest.mark.parametrize("obstacle", ["file", "folder", "permission"])
def test_invalid_path_ends_the_run_before_it_starts(run, project, monkeypatch, file, obstacle):
    if obstacle == "file":
        (project.path / "out").write_text("")
    elif obstacle == "folder":
        for name in ("new.sarif", "quality.json", "deep/cyclewatch.html", "known.json"):
            (project.path / "out" / name).mkdir(parents=True)
    else:
        # root is never denied permission.
        allowed, path = os.access, str(project.path)
        monkeypatch.setattr(writing.os, "access", lambda of, how: of != path and allowed(of, how))
    result = run("--cyclewatch", *OPTIONS[file], test_it=CLEAN)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line]
    assert line.startswith("ERROR: ")
    assert str(project.path) in line
    assert "test session starts" not in str(result.stdout)


def test_write_error_affects_no_other_file(run, project):
    options = [*OPTIONS["report"], *OPTIONS["baseline"], "--cyclewatch-sarif=new.sarif"]
    result = run("--cyclewatch", *options, test_it=BLOCKS + LEAK)
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "   1000 B  Engine._handlers*",
            "the baseline * cannot be written: *",
            "the report * cannot be written: *",
            "cyclewatch: 1 cycle, 1000 B,*",
        ]
    )
    assert (project.path / "new.sarif").exists()


@each_file
def test_full_disk_fails_a_passing_run_and_keeps_the_old_file(
    run, project, monkeypatch, failing_disk, file
):
    run("--cyclewatch", *OPTIONS[file], apart=True, test_it=CLEAN if file != "baseline" else LEAK)
    old = {path: path.read_bytes() for path in (project.path / "out").rglob("*") if path.is_file()}
    assert old
    monkeypatch.setenv("LD_PRELOAD", str(failing_disk))
    monkeypatch.setenv("FAILING_DISK", "1")
    result = run("--cyclewatch", *OPTIONS[file], apart=True, test_it=CLEAN)
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    (line,) = [line for line in result.outlines if "cannot be written" in line]
    assert line.startswith(f"{WHAT[file]} {project.path}/out/")
    assert line.endswith(" cannot be written: No space left on device")
    new = {path: path.read_bytes() for path in (project.path / "out").rglob("*") if path.is_file()}
    assert new == old


SAME_CAUSE = """
@pytest.mark.parametrize("size", range(1, 4))
def test_engine(size):
    leaky.Engine(size)

class Sub(leaky.Engine): ...

def test_other_class():
    Sub(100)
"""


def test_card_is_shown_once(check):
    result = check(SAME_CAUSE, failed=4)
    cards = [line for line in result.outlines if line.startswith("#1  ")]
    assert len(cards) == 1
    result.stdout.fnmatch_lines(
        [
            "id cw1-*; the card is in the failure of test_it.py::test_engine[[]1]",
            "*106 B in 4 cycles  *  test_it.py::test_engine[[]1] and 3 more",
            "           test_it.py: test_engine[[]1], test_engine[[]2], test_engine[[]3], "
            "test_other_class",
        ]
    )
