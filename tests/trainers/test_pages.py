# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of the pages about trainers, and checks that they report their leak."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cyclewatch.export.metric_table import CENSUS_METRICS, METRICS

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"
NEEDS = ("lightning", "transformers", "accelerate", "prometheus_client", "opentelemetry")


def programs():
    for name in ("lightning", "transformers", "metrics"):
        text = (GUIDE / f"{name}.md").read_text()
        for number, code in enumerate(re.findall(r"^```py\n(.*?)^```$", text, re.M | re.S)):
            yield pytest.param(code, id=f"{name}-{number}")


@pytest.mark.parametrize("code", programs())
def test_programs_run_and_report_their_leak(code, tmp_path):
    needed = [name for name in NEEDS if re.search(rf"^(import|from) {name}\b", code, re.M)]
    for name in needed:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name} (requirements-trainers.txt)")
    (tmp_path / "train.py").write_text(code)
    outcome = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert outcome.returncode == 0, outcome.stderr
    if "class Probe" in code:
        assert "through Probe keep" in outcome.stderr, outcome.stderr
        assert list(tmp_path.glob("reports/cyclewatch-train-*.html"))


def test_the_table_of_metrics_is_complete():
    rows = re.findall(
        r"^\| `(cyclewatch/\w+)` \| (\w+) \| (.*) \|$", (GUIDE / "metrics.md").read_text(), re.M
    )
    assert {name: (unit, meaning) for name, unit, meaning in rows} == METRICS | CENSUS_METRICS
