# SPDX-License-Identifier: Apache-2.0
"""tests/real: verdicts, the keys of cases, and installation directories."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

REAL = Path(__file__).parents[1] / "real"
sys.path.append(str(REAL))

import libraries  # noqa: E402
from verdicts import verdict  # noqa: E402

CASE = {"first": r"\.parent\b", "alarming": r"\.children\b"}
UP, DOWN, OTHER = ".parent of pkg.Node", ".children of pkg.Node", ".root of pkg.Node"


def finding(cut, alternatives=(), status="new"):
    return {"cut": cut, "alternatives": list(alternatives), "status": status}


@pytest.mark.parametrize(
    ("expected", "findings"),
    [
        ("first", [finding([UP, UP], [DOWN])]),
        ("next", [finding([OTHER], [UP])]),
        ("next", [finding([UP, OTHER])]),
        ("next", [finding([], [UP])]),
        ("wrong", [finding([OTHER], [DOWN])]),
        ("wrong", [finding(["x.parent of pkg.Node"])]),
        ("wrong", [finding([OTHER]), finding([UP])]),
        ("alarming", [finding([UP, DOWN], [UP])]),
        ("first", [finding([DOWN], status="ignored"), finding([UP])]),
        ("first", [finding([UP], status="known")]),
        ("first", [finding(["slot:parent of pkg.Node"])]),
        ("alarming", [finding(["slot:children of pkg.Node"])]),
        ("failed", []),
    ],
)
def test_verdict(expected, findings):
    assert verdict(CASE, findings) == expected


def test_no_finding_is_alarming_without_a_pattern():
    assert verdict({"first": "x"}, [finding([DOWN])]) == "wrong"


@pytest.mark.parametrize("folder", [REAL, REAL / "unseen"], ids=["real", "unseen"])
def test_each_case_has_a_program_and_its_keys(folder):
    cases = tomllib.loads((folder / "cases.toml").read_text())
    needed = {"what", "pip", "first", "upstream", "program"}
    for name, case in cases.items():
        assert needed <= case.keys() <= needed | {"env", "alarming", "fixed"}, name
        assert "def leaky():" in case["program"], name
        compile(case["program"], name, "exec")
        assert all("==" in pin for pin in case.get("fixed", "").split()), name
        for key in ("first", "alarming"):
            re.compile(case.get(key, ""))


def test_fixed_pins_replace_those_of_the_same_project():
    case = {"pip": "a==1 b==2", "fixed": "b==3 c==4"}
    assert libraries.pins_of(case) == ["a==1", "b==2"]
    assert libraries.pins_of(case, fixed=True) == ["a==1", "b==3", "c==4"]


def test_changed_pins_use_another_folder(tmp_path):
    marker = tmp_path / "case" / "site-packages" / ".installed"
    assert libraries.folder_of(tmp_path, "case", ["a==1"]) == marker.parent
    marker.parent.mkdir(parents=True)
    marker.write_text("a==1")
    assert libraries.folder_of(tmp_path, "case", ["a==1"]) == marker.parent
    assert libraries.folder_of(tmp_path, "case", ["a==2"]) != marker.parent
