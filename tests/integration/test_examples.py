# SPDX-License-Identifier: Apache-2.0
"""The example programs, run as a user runs them."""

import re
from pathlib import Path

import cyclewatch

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ITERATIONS = 3
SIDE = 64
TENSOR_BYTES = SIDE * SIDE * 4


def run_example(torch_interpreter, name, folder, *flags):
    """Return the output of the example and the reports it wrote."""
    outcome = torch_interpreter.run(
        EXAMPLES / f"{name}.py",
        *("--iterations", ITERATIONS, "--size", SIDE, "--device", "cpu", *flags),
        cwd=folder,
    )
    reports = sorted(folder.glob("cyclewatch-*.html"))
    return outcome.stdout, [cyclewatch.Report.load(path) for path in reports]


def line_of(name, text):
    """Return the line number of `text` in the example."""
    lines = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_simple_finds_the_two_nodes(torch_interpreter, tmp_path):
    output, (report,) = run_example(torch_interpreter, "simple", tmp_path)
    (finding,) = report.findings
    assert finding.occurrences == ITERATIONS
    assert finding.retained_bytes == ITERATIONS * 2 * TENSOR_BYTES
    assert report.retained_bytes == finding.retained_bytes
    assert {(step.holder, step.label) for step in finding.cycle} == {("__main__.Node", ".peer")}
    assert finding.cut.label == ".peer"
    assert finding.title in output
    assert str(next(tmp_path.glob("cyclewatch-simple-*.html"))) in output


def test_awaitable_names_the_captured_self_and_its_line(torch_interpreter, tmp_path):
    output, (report,) = run_example(torch_interpreter, "awaitable", tmp_path)
    (finding,) = report.findings
    assert finding.occurrences == ITERATIONS
    assert finding.retained_bytes == ITERATIONS * TENSOR_BYTES
    assert finding.cut.label == "closure:self"
    assert finding.cut.target == "__main__.AwaitableTensorWithViewCallback"
    line = line_of("awaitable", "lambda ret")
    assert finding.cut.location == f"{EXAMPLES / 'awaitable.py'}:{line}"
    assert "closure:self" in output
    assert re.search(rf"awaitable\.py:{line}\b", output)


def test_no_watch_prints_and_writes_nothing(torch_interpreter, tmp_path):
    output, reports = run_example(torch_interpreter, "simple", tmp_path, "--no-watch")
    assert output == ""
    assert reports == []
