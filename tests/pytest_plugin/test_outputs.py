# SPDX-License-Identifier: Apache-2.0
"""The report of the run, JUnit XML, SARIF, GitHub annotations, the summary."""

import json
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import pytest

import cyclewatch
from cyclewatch.pytest_plugin import sarif
from cyclewatch.pytest_plugin.loops import NEW, Loop

HERE = Path(__file__).resolve().parent
SCHEMA = HERE.parents[1] / "viewer" / "node_modules" / "@microsoft" / "jest-sarif"

KINDS = ("buffers", "tensors")

LEAKS = """
import loops
import pytest

def test_engine():
    loops.Engine(1000)

def test_engine_again():
    loops.Engine(1000)

def test_trainer():
    loops.Trainer(5000)

@pytest.mark.allow_tensor_cycles(reason="by design")
def test_allowed():
    engine = loops.Engine(3)
    engine.callback = lambda: engine
"""


NOWHERE = Loop(
    signature="cw1-0000000000000000",
    title="Engine.me -> Engine",
    pattern="self-reference",
    headline="Engine refers to itself.",
    card="#1  4.0 MiB in 1 loop",
    held_bytes=2**22,
    attributed_bytes=2**22,
    signatures={"cw1-0000000000000000": 1},
    occurrences=1,
    verdict=NEW,
    reason="",
    nodeid="",
    when="",
    path="",
    line=0,
)


def test_summary_lists_the_heaviest_first(run):
    result = run("--cyclewatch", test_it=LEAKS)
    result.stdout.fnmatch_lines(
        [
            "*= cyclewatch =*",
            "  4.9 KiB  Trainer.loss -> ...  test_it.py::test_trainer",
            "  2.0 KiB in 2 loops  Engine*  test_it.py::test_engine and 1 more",
            "      3 B  Engine*  test_it.py::test_allowed  [[]allowed: by design]",
            "cyclewatch: 4 loops (3 findings), 6.8 KiB, 0 known (baseline), 1 allowed",
        ],
        consecutive=True,
    )


def test_report_holds_the_loops_of_the_whole_run(run, project):
    result = run("--cyclewatch", "--cyclewatch-report=out", test_it=LEAKS)
    path = project.path / "out" / "cyclewatch.html"
    # In the text of the failure, and at the end.
    result.stdout.fnmatch_lines([f"report: {path}", "*= cyclewatch =*", f"report: {path}"])
    for suffix in (".html", ".json"):
        report = cyclewatch.Report.load(path.with_suffix(suffix))
        assert [finding.held_bytes for finding in report.findings] == [5000, 2000, 3]


def test_junit_xml_carries_properties(run, project):
    run("--cyclewatch", "--junitxml=junit.xml", test_it=LEAKS)
    root = xml.etree.ElementTree.parse(project.path / "junit.xml").getroot()
    cases = {case.get("name"): case for case in root.iter("testcase")}
    properties = {
        name: [(each.get("name"), each.get("value")) for each in case.iter("property")]
        for name, case in cases.items()
    }
    ((name, value),) = properties["test_trainer"]
    assert name == "cyclewatch.new"
    assert value.startswith("cw1-")
    assert value.endswith("5000 bytes: Trainer.loss -> <lambda>.closure:self -> Trainer")
    assert [name for name, _ in properties["test_allowed"]] == ["cyclewatch.allowed"]
    message = cases["test_trainer"].find("failure").get("message")
    assert message.startswith("Trainer.loss -> ... keeps 4.9 KiB")


def _type(result):
    """Of the instance whose loop a SARIF result tells of."""
    return result["message"]["text"].split()[0]


def test_sarif_has_a_result_for_each_new_loop_at_the_users_line(run, project):
    run("--cyclewatch", "--cyclewatch-sarif=out/loops.sarif", test_it=LEAKS)
    log = json.loads((project.path / "out" / "loops.sarif").read_text())
    (sarif_run,) = log["runs"]
    driver = sarif_run["tool"]["driver"]
    assert driver["name"] == "cyclewatch"
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)
    by_type = {}
    for result in sarif_run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] == "error"
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == "loops.py"
        assert physical["artifactLocation"]["uriBaseId"] in sarif_run["originalUriBaseIds"]
        assert physical["region"]["startLine"] == {"Engine": 4, "Trainer": 10}[_type(result)]
        assert result["partialFingerprints"]["cyclewatchSignature/v1"].startswith("cw1-")
        by_type[_type(result)] = result
    assert set(by_type) == {"Engine", "Trainer"}
    assert by_type["Engine"]["occurrenceCount"] == 2
    assert by_type["Engine"]["properties"]["tests"] == [
        "test_it.py::test_engine",
        "test_it.py::test_engine_again",
    ]


def test_sarif_of_a_clean_run_has_no_results(run, project):
    run("--cyclewatch", "--cyclewatch-sarif=loops.sarif", test_it="def test_clean(): pass")
    (sarif_run,) = json.loads((project.path / "loops.sarif").read_text())["runs"]
    assert sarif_run["results"] == []


def test_sarif_is_what_its_schema_says(run, project):
    if not SCHEMA.exists():
        pytest.skip("needs the npm packages of viewer/; scripts/bootstrap test installs them")
    run("--cyclewatch", "--cyclewatch-sarif=loops.sarif", test_it=LEAKS)
    run("--cyclewatch", "--cyclewatch-sarif=clean.sarif", test_it="def test_clean(): pass")
    # A loop of no test and no known place.
    sarif.write([NOWHERE], project.path / "nowhere.sarif")
    files = [project.path / f"{name}.sarif" for name in ("loops", "clean", "nowhere")]
    done = subprocess.run(
        ["node", HERE / "validate_sarif.cjs", *files],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == ""


def test_annotations_stand_at_the_users_line_once_each(run, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = run("--cyclewatch", test_it=LEAKS)
    commands = [line for line in result.outlines if line.startswith("::error")]
    assert len(commands) == 2
    engine, trainer = commands
    assert engine.startswith("::error file=loops.py,line=4,title=Tensor cycle%3A Engine._handlers")
    assert trainer.startswith("::error file=loops.py,line=10,title=Tensor cycle%3A Trainer.loss ->")
    assert "%0A    cut   closure:self" in trainer


def test_annotations_can_be_switched_off_and_on(run, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "::error" not in str(
        run("--cyclewatch", "--cyclewatch-github=off", test_it=LEAKS).stdout
    )
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert "::error" not in str(run("--cyclewatch").stdout)
    assert "::error" in str(run("--cyclewatch", "--cyclewatch-github=on").stdout)
