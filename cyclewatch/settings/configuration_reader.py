# SPDX-License-Identifier: Apache-2.0
"""Checks the tables [[pattern]] and [[ignore]] of a configuration, and of the built-in patterns.

cmake/embed_patterns.py loads this file at build time, so it must not import the package.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Table = dict[str, Any]

LISTS = ("ignore", "pattern")  # the keys of the configuration

_PATTERN_KEYS = (
    *("id", "title", "shape", "explanation", "advice", "cost", "variants", "before", "after"),
    *("links", "tags", "library", "steps", "suggests"),
)
_STEP_KEYS = ("holder", "label", "target")
_SLOTS = ("holder", "target", "label", "variable")  # as in src/advice/slots.cpp
_SLOT = re.compile(r"\{([a-z_]+)\}")
_SIGNATURE = re.compile(r"cw1-.{16}")
_RELEASE = r"(\d{1,9}(?:\.\d{1,9})*)"
_VERSIONS = re.compile(rf"(?:>=\s*{_RELEASE})?\s*(,)?\s*(?:<\s*{_RELEASE})?")


def read(
    document: Table, known: Iterable[str] | None
) -> tuple[list[Table], list[Table], list[str]]:
    """Check all tables, and skip the invalid ones.

    Args:
        document: The configuration, of which only the lists "pattern" and "ignore" are read.
        known: The ids of the built-in patterns, if `document` is a user's configuration. A user's
            patterns must have a shape and an unused id.

    Returns:
        The valid patterns, with a value for each key; the valid suppressions; and one sentence for
        each problem.
    """
    ids = list(known or ())
    problems: list[str] = []

    def pattern(value: Any, name: str) -> Table:
        found = _pattern(value, name)
        if found["id"] in ids:
            raise ValueError(f'{name}.id = "{found["id"]}" is already used; choose another id')
        if known is not None and not (found["steps"] or found["suggests"]):
            raise ValueError(
                f'{name} does not describe a cycle; add steps = [{{holder = "...", label = "..."}}]'
            )
        if known is not None and found["variants"]:
            raise ValueError(
                f"{name} has variants, which only built-in patterns may have; "
                "write a pattern for each"
            )
        ids.append(found["id"])
        return found

    def suppression(value: Any, name: str) -> Table:
        keys = ("signature", "pattern", "reason")
        table = _table(value, name, keys)
        found = {key: _text(table, name, key) for key in keys}
        problem = problem_of(found, ids)
        if problem:
            raise ValueError(f"{name}: {problem}")
        return found

    def each(key: str, check: Callable[[Any, str], Table]) -> list[Table]:
        found = []
        try:
            values = _list(document, "", key)
        except ValueError as error:
            problems.append(str(error))
            values = []
        for number, value in enumerate(values):
            try:
                found.append(check(value, f"{key}[{number}]"))
            except ValueError as error:
                problems.append(str(error))
        return found

    patterns = each("pattern", pattern)
    return patterns, each("ignore", suppression), problems


def problem_of(suppression: Table, ids: Iterable[str]) -> str:
    """Describe what is wrong with a suppression; "" if it is valid. `ids`: of all patterns."""
    signature, pattern = suppression["signature"], suppression["pattern"]
    if not signature and not pattern:
        return "a signature or a pattern is required"
    if signature and not _SIGNATURE.fullmatch(signature):
        return f'"{signature}" is not a signature; copy it from the report: "cw1-" and 16 digits'
    if pattern and pattern not in ids:
        return f'"{pattern}" is not a pattern; the patterns are {", ".join(ids)}'
    if not suppression["reason"].strip():
        return "a reason is required: a few words on why the finding is acceptable"
    return ""


def _pattern(value: Any, name: str) -> Table:
    table = _table(value, name, _PATTERN_KEYS)
    found: Table = {key: _text(table, name, key, required=True) for key in ("id", "title")}
    found |= {key: _text(table, name, key) for key in ("shape", "before", "after")}
    _text(table, name, "explanation", required=True)
    words = _words(table, name, {})
    links, tags = _texts(table, name, "links"), _texts(table, name, "tags")
    for tag in tags:
        if tag != "benign":
            raise ValueError(
                f'{name}.tags has an unknown tag "{tag}"; the only tag is "benign" (for a leak of '
                'a library, use the key "library")'
            )
    steps = enumerate(_list(table, name, "steps"))
    variants = _table(table.get("variants", {}), f"{name}.variants")
    return found | {
        "words": words,
        "links": links,
        "benign": bool(tags),
        "library": _library(table["library"], f"{name}.library") if "library" in table else None,
        "steps": [_step(step, f"{name}.steps[{number}]") for number, step in steps],
        "suggests": _step(table["suggests"], f"{name}.suggests") if "suggests" in table else None,
        "variants": {
            key: _words(
                _table(value, f"{name}.variants.{key}", tuple(words)),
                f"{name}.variants.{key}",
                words,
            )
            for key, value in variants.items()
        },
    }


def _words(table: Table, name: str, inherited: dict[str, str]) -> dict[str, str]:
    words = {}
    for key in ("explanation", "advice", "cost"):
        words[key] = text = _text(table, name, key, inherited.get(key, ""))
        for slot in _SLOT.findall(text):
            if slot not in _SLOTS:
                slots = ", ".join(f"{{{each}}}" for each in _SLOTS)
                raise ValueError(
                    f"{name}.{key} has an unknown slot {{{slot}}}; the slots are {slots}"
                )
    return words


def _step(value: Any, name: str) -> tuple[str, ...]:
    table = _table(value, name, _STEP_KEYS)
    return tuple(_text(table, name, key, "*") for key in _STEP_KEYS)


def _library(value: Any, name: str) -> Table:
    keys = ("package", "versions")
    table = _table(value, name, keys)
    package, versions = (_text(table, name, key, required=True) for key in keys)
    found = _VERSIONS.fullmatch(versions.strip())
    if found is None or bool(found[2]) != bool(found[1] and found[3]) or not (found[1] or found[3]):
        raise ValueError(
            f'{name}.versions is not a version range; write, for example, ">=1.2,<1.4"'
        )
    return {
        "package": package,
        "versions": versions,
        "first": _release(found[1]),
        "fixed_in": _release(found[3]),
    }


def _release(text: str | None) -> list[int]:
    return [int(number) for number in text.split(".")] if text else []


def _table(value: Any, name: str, keys: tuple[str, ...] | None = None) -> Table:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not a table; write it as key = value lines")
    for key in value:
        if keys is not None and key not in keys:
            raise ValueError(f'{name} has no key "{key}"; the keys are {", ".join(keys)}')
    return value


def _text(table: Table, name: str, key: str, missing: str = "", *, required: bool = False) -> str:
    value = table.get(key, missing)
    if not isinstance(value, str):
        raise ValueError(f"{name}.{key} is not a string; put it in quotes")
    if required and not value:
        raise ValueError(f'{name} needs {key} = "..."')
    return value


def _list(table: Table, name: str, key: str) -> list[Any]:
    value = table.get(key, [])
    if not isinstance(value, list):
        path = f"{name}.{key}" if name else key
        raise ValueError(f"{path} is not a list; write it in square brackets")
    return value


def _texts(table: Table, name: str, key: str) -> list[str]:
    values = _list(table, name, key)
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name}.{key} has an entry that is not a string; put it in quotes")
    return values
