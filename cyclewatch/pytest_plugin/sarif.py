# SPDX-License-Identifier: Apache-2.0
"""Writes new cycles as SARIF 2.1.0, the format that code scanning services read."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cyclewatch import __version__, patterns
from cyclewatch._native import clean_text, write_file

if TYPE_CHECKING:
    from pathlib import Path

    from cyclewatch.pytest_plugin.records import CycleRecord, RecordGroup

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def write_sarif(groups: list[RecordGroup], path: Path) -> None:
    """Write one result for each of `groups` to `path`. Raises OSError."""
    text = json.dumps(sarif_log(groups), indent=2, ensure_ascii=False) + "\n"
    # A lone surrogate, from a name that is not UTF-8, is written as a JSON escape.
    write_file(path, text.encode(errors="backslashreplace"), replace=True)


def sarif_log(groups: list[RecordGroup]) -> dict[str, Any]:
    """A SARIF log with one rule for each pattern and one result for each group."""
    by_cause = sorted(groups, key=lambda group: group.largest["cause"])
    ids = sorted({group.largest["pattern"] for group in groups})
    driver = {
        "name": "cyclewatch",
        "version": __version__,
        "rules": [_rule(pattern) for pattern in ids],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            "SRCROOT": {"description": {"text": "The root folder of the tests."}}
        },
        "results": [_result(group, ids) for group in by_cause],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(pattern_id: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": pattern_id, "name": _pascal_case(pattern_id)}
    pattern = next((each for each in patterns() if each.id == pattern_id), None)
    if pattern is None:
        return rule
    rule["shortDescription"] = {"text": f"{clean_text(pattern.title)}."}
    rule["fullDescription"] = {"text": f"Found: {clean_text(pattern.shape)}."}
    code = {"Creates the cycle": pattern.before, "Does not": pattern.after}
    if all(code.values()):
        text = "\n\n".join(f"{title}:\n\n{each.strip()}" for title, each in code.items())
        marked = "\n\n".join(
            f"{title}:\n\n```python\n{each.strip()}\n```" for title, each in code.items()
        )
        rule["help"] = {"text": text, "markdown": marked}
    return rule


def _result(group: RecordGroup, rules: list[str]) -> dict[str, Any]:
    largest = group.largest
    result: dict[str, Any] = {
        "ruleId": largest["pattern"],
        "ruleIndex": rules.index(largest["pattern"]),
        "level": group.level,
        "message": {"text": f"{largest['headline']}\n\n{largest['card']}"},
        "partialFingerprints": {
            "cyclewatchCause/v1": largest["cause"],
            "cyclewatchSignature/v1": largest["signature"],
        },
        "occurrenceCount": group.occurrences,
        "properties": {"retainedBytes": group.retained_bytes, "tests": group.tests},
    }
    if largest["path"]:
        result["locations"] = [{"physicalLocation": _location(largest)}]
    return result


def _location(record: CycleRecord) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": record["line"]}
    location = {
        "artifactLocation": {"uri": quote(os.fsencode(record["path"])), "uriBaseId": "SRCROOT"},
        "region": region,
    }
    source = record["source"]
    if source is not None:
        if source["columns"] is not None:
            region["startColumn"], region["endColumn"] = source["columns"]
            start, end = (column - 1 for column in source["columns"])
            region["snippet"] = {"text": source["line"][start:end]}
        else:
            region["snippet"] = {"text": source["line"]}
        location["contextRegion"] = {
            "startLine": source["first_line"],
            "endLine": source["first_line"] + len(source["lines"]) - 1,
            "snippet": {"text": "\n".join(source["lines"])},
        }
    return location


def _pascal_case(pattern: str) -> str:
    return "".join(word.capitalize() for word in pattern.split("-"))
