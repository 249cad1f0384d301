# SPDX-License-Identifier: Apache-2.0
"""The comparison of instruction counts with the stored ones."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def baseline(monkeypatch):
    """The module of the benchmark."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = pytest.importorskip("instruction_baseline", reason="the benchmarks are not installed")
    yield module
    for name in ("instruction_baseline", "bench_instructions", "measure", "workloads"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("now", "rose"), [(90, False), (102.9, False), (103.1, True)])
def test_a_count_may_rise_by_three_percent(baseline, now, rose):
    lines = baseline.compare({"pairs": now}, {"pairs": 100})
    assert bool(lines) == rose
    if rose:
        assert "+3.1%" in lines[0]


def test_a_program_without_a_baseline_fails(baseline):
    assert baseline.compare({"pairs": 1}, {}) == ["two-object cycles: no baseline"]


def test_without_valgrind_nothing_is_compared(tmp_path):
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "instruction_baseline.py")],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": str(tmp_path)},
    )
    assert done.stdout == "Instructions are not compared: valgrind is not installed.\n"
