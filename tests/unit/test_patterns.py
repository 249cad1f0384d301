# SPDX-License-Identifier: Apache-2.0
"""The pattern catalog is complete, readable and consistent with the C++ code."""

import ast
import os
import re
import tomllib
from pathlib import Path

import pytest

import cyclewatch

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "src" / "advice" / "patterns.toml"
TABLE = ROOT / "src" / "analysis" / "evidence_weights.h"
ROW = re.compile(r'Evidence\s+k\w+\{\s*"([^"]+)",\s*"([^"]*)",\s*-?\d+\s*\}')
PUBLIC_CASE = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+")

PAGE = ROOT / "docs" / "patterns.md"
SWITCH = "CYCLEWATCH_UPDATE_PATTERNS"
HEAD = f"""\
# Patterns of cycles

Written by `{SWITCH}=1 pytest tests/unit/test_patterns.py` from
[patterns.toml](../src/advice/patterns.toml); do not edit. `Finding.pattern` is the name of one of
these patterns, `cyclewatch.patterns()` lists all of them, and [configuration.md](configuration.md)
explains how to add your own. The texts contain placeholders: `{{holder}}` and `{{target}}` are the
objects at the two ends of the reference to cut, `{{label}}` is the label of the reference, and
`{{variable}}` is the name in the label.
"""

ENTRIES = {entry["id"]: entry for entry in tomllib.loads(FILE.read_text())["pattern"]}
ROWS = ROW.findall(TABLE.read_text())


def test_every_weight_is_parsed():
    assert len(ROWS) == TABLE.read_text().count("constexpr Evidence")


def test_each_pattern_is_recognised_by_code_or_by_shape():
    recognised = {identifier for identifier, _ in ROWS}
    by_shape = {name for name, entry in ENTRIES.items() if "steps" in entry or "suggests" in entry}
    assert recognised | by_shape == set(ENTRIES)
    assert not recognised & by_shape


def test_variants_in_code_and_file_agree():
    in_file = {(name, v) for name, entry in ENTRIES.items() for v in entry.get("variants", {})}
    assert {row for row in ROWS if row[1]} == in_file


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_entry_is_complete(entry):
    assert entry["title"][0].isupper() or entry["title"].startswith("torch.")
    assert not entry["explanation"].endswith(".")
    if "steps" not in entry:
        assert entry["cost"]
    for words in (entry, *entry.get("variants", {}).values()):
        assert not words.get("cost", "").endswith(".")
        assert words.get("advice", ".").endswith((".", "`)."))
    assert entry["before"].strip() != entry["after"].strip()
    for snippet in (entry["before"], entry["after"]):
        ast.parse(snippet)
        assert len(snippet.splitlines()) <= 12
    for link in entry.get("links", []):
        assert PUBLIC_CASE.fullmatch(link)
    if "library" in entry:
        assert entry["links"], "a link must confirm that the library leaks"


def test_patterns_match_the_file():
    listed = cyclewatch.patterns()
    assert [pattern.id for pattern in listed] == list(ENTRIES)
    for pattern in listed:
        entry = ENTRIES[pattern.id]
        for name in ("title", "shape", "explanation", "advice", "before", "after"):
            assert getattr(pattern, name) == entry[name]
        assert pattern.links == entry.get("links", [])
    by_id = {pattern.id: pattern for pattern in listed}
    assert by_id["fx-graph-module"].tags == ["benign"]
    assert by_id["torch-fx-wrap-frame"].tags == ["library"]
    assert by_id["torch-fx-wrap-frame"].library == "torch >=2.1"
    assert by_id["back-pointer"].library is None
    assert repr(by_id["back-pointer"]) == "<Pattern back-pointer>"


def page_section(pattern):
    label = f" Known in `{pattern.library}`." if pattern.library else ""
    label += " By design: reported without a warning." if "benign" in pattern.tags else ""
    lines = [f"## {pattern.id}", "", f"**{pattern.title}.**{label}", ""]
    lines += [f"Shape: {pattern.shape}.", ""]
    lines += [f"Why: {pattern.explanation}.", "", f"Fix: {pattern.advice}", ""]
    lines += ["```python", "# before", pattern.before.strip(), "", "# after"]
    lines += [pattern.after.strip(), "```"]
    if pattern.links:
        cases = [f"[{link.removeprefix('https://github.com/')}]({link})" for link in pattern.links]
        lines += ["", "Public examples: " + ", ".join(cases) + "."]
    return "\n".join(lines) + "\n"


def test_page_of_patterns_is_current():
    text = "\n".join([HEAD, *map(page_section, cyclewatch.patterns())])
    if os.environ.get(SWITCH):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, f"run this test again with {SWITCH}=1"
