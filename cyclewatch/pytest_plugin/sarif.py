# SPDX-License-Identifier: Apache-2.0
"""New loops as SARIF 2.1.0, the format that code scanning services read."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cyclewatch import __version__
from cyclewatch._native import write_file
from cyclewatch.pytest_plugin.files import written

if TYPE_CHECKING:
    from pathlib import Path

    from cyclewatch.pytest_plugin.loops import Loop

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def write(loops: list[Loop], path: Path) -> None:
    """Write `loops` to `path`. Raises CannotWrite."""
    text = json.dumps(log_of(loops), indent=2, ensure_ascii=False) + "\n"
    with written("the SARIF file", path):
        # Half a surrogate pair, from a name that is no UTF-8, stays spelled as JSON spells it.
        write_file(path, text.encode(errors="backslashreplace"), replace=True)


def log_of(loops: list[Loop]) -> dict[str, Any]:
    """A SARIF log with one rule for each pattern and one result for each signature."""
    by_signature: dict[str, list[Loop]] = {}
    for loop in loops:
        by_signature.setdefault(loop["signature"], []).append(loop)
    patterns = sorted({loop["pattern"] for loop in loops})
    driver = {
        "name": "cyclewatch",
        "version": __version__,
        "rules": [{"id": pattern, "name": _pascal_case(pattern)} for pattern in patterns],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            "SRCROOT": {"description": {"text": "The root folder of the tests."}}
        },
        "results": [_result(group, patterns) for _, group in sorted(by_signature.items())],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(group: list[Loop], patterns: list[str]) -> dict[str, Any]:
    heaviest = max(group, key=lambda loop: loop["held_bytes"])
    result: dict[str, Any] = {
        "ruleId": heaviest["pattern"],
        "ruleIndex": patterns.index(heaviest["pattern"]),
        "level": "error",
        "message": {"text": f"{heaviest['headline']}\n\n{heaviest['card']}"},
        "partialFingerprints": {"cyclewatchSignature/v1": heaviest["signature"]},
        "occurrenceCount": sum(loop["occurrences"] for loop in group),
        "properties": {
            "heldBytes": sum(loop["held_bytes"] for loop in group),
            "tests": sorted({loop["nodeid"] for loop in group if loop["nodeid"]}),
        },
    }
    if heaviest["path"]:
        uri = quote(os.fsencode(heaviest["path"]))
        location = {
            "artifactLocation": {"uri": uri, "uriBaseId": "SRCROOT"},
            "region": {"startLine": heaviest["line"]},
        }
        result["locations"] = [{"physicalLocation": location}]
    return result


def _pascal_case(pattern: str) -> str:
    return "".join(word.capitalize() for word in pattern.split("-"))
