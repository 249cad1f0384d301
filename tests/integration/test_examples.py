# SPDX-License-Identifier: Apache-2.0
"""Runs the example programs as a user would."""

import re
from pathlib import Path

import cyclewatch

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ITERATIONS = 3
SIDE = 64
TENSOR_BYTES = SIDE * SIDE * 4


def run_example(torch_interpreter, name, folder):
    """The output of an example and its report."""
    outcome = torch_interpreter.run(
        EXAMPLES / f"{name}.py",
        *("--iterations", ITERATIONS, "--size", SIDE, "--device", "cpu"),
        cwd=folder,
    )
    (path,) = folder.glob("cyclewatch-*.html")
    assert str(path) in outcome.stdout
    return outcome.stdout, cyclewatch.Report.load(path)


def test_simple(torch_interpreter, tmp_path):
    output, report = run_example(torch_interpreter, "simple", tmp_path)
    (finding,) = report.findings
    assert finding.occurrences == ITERATIONS
    assert report.retained_bytes == finding.retained_bytes == ITERATIONS * 2 * TENSOR_BYTES
    assert {(step.holder, step.label) for step in finding.cycle} == {("__main__.Node", ".peer")}
    assert finding.cut.label == ".peer"
    assert finding.title in output


def test_awaitable(torch_interpreter, tmp_path):
    output, report = run_example(torch_interpreter, "awaitable", tmp_path)
    (finding,) = report.findings
    assert finding.occurrences == ITERATIONS
    assert finding.retained_bytes == ITERATIONS * TENSOR_BYTES
    assert finding.cut.label == "closure:self"
    assert finding.cut.target == "__main__.AwaitableTensorWithViewCallback"
    source = (EXAMPLES / "awaitable.py").read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(source, 1) if "lambda ret" in text)
    assert finding.cut.location == f"{EXAMPLES / 'awaitable.py'}:{line}"
    assert "closure:self" in output
    assert re.search(rf"awaitable\.py:{line}\b", output)
