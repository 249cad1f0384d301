# SPDX-License-Identifier: Apache-2.0
"""Reads and writes the baseline file of known cycles, and removes vanished entries.

Entries are sorted by cause, one per line, and the version is the last line. Therefore every
entry ends with a comma, and branches that change different entries merge line by line. To resolve a
conflict, keep the lines of both sides; the result is valid.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from cyclewatch._native import write_file
from cyclewatch.pytest_plugin.records import KNOWN, NEW, CycleRecord

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from cyclewatch.pytest_plugin.options import Settings

VERSION = 2
_READABLE = (1, VERSION)  # in version 1, the keys are signatures
FIRST_REASON = "present when the baseline was created"


class BaselineError(ValueError):
    """The file is not a valid baseline."""


@dataclass(frozen=True)
class Entry:
    """A known cycle: its count in the first run, a test that created it, and the reason for
    accepting it."""

    count: int
    test: str
    title: str
    reason: str

    def line(self, signature: str) -> str:
        """The entry as a line of the file, without the comma."""
        fields: dict[str, object] = {"count": self.count, "test": self.test, "title": self.title}
        fields["reason"] = self.reason
        return ": ".join(json.dumps(part, ensure_ascii=False) for part in (signature, fields))


class Baseline:
    """The entries by cause or, if an earlier version wrote the file, by signature."""

    def __init__(self, entries: dict[str, Entry]) -> None:
        """Create a baseline with `entries`."""
        self.entries = entries

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Read `path`; return an empty baseline if it does not exist. Raises BaselineError."""
        entries: dict[str, Entry] = {}

        def add(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            for signature, fields in pairs:
                if isinstance(fields, dict):
                    _add_entry(entries, signature, fields)
            return dict(pairs)

        text = ""
        try:
            text = path.read_text(encoding="utf-8")
            whole = json.loads(text, object_pairs_hook=add)
        except FileNotFoundError:
            return cls({})
        except OSError as error:
            why = error.strerror or error
            raise BaselineError(f"the baseline {path} cannot be read: {why}") from None
        except (ValueError, RecursionError) as error:
            remedy = (
                "keep the lines of both sides and remove the conflict markers"
                if "<<<<<<<" in text
                else "correct the file, or delete it and run with --cyclewatch-update-baseline"
            )
            raise BaselineError(f"the baseline {path} is not valid: {error}; {remedy}") from None
        if not isinstance(whole, dict) or whole.get("version") not in _READABLE:
            raise BaselineError(
                f'the baseline {path} has no "version": {VERSION}; a newer cyclewatch may have '
                "written it"
            )
        return cls(entries)

    def write(self, path: Path) -> None:
        """Write the file atomically. Raises OSError."""
        lines = [entry.line(signature) for signature, entry in sorted(self.entries.items())]
        text = "{\n" + ",\n".join([*lines, f'"version": {VERSION}']) + "\n}\n"
        # A lone surrogate, which UTF-8 cannot encode, is written as a JSON escape.
        write_file(path, text.encode(errors="backslashreplace"), replace=True)


def _add_entry(entries: dict[str, Entry], signature: str, fields: dict[str, Any]) -> None:
    reason = fields.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError(f"{signature!r} needs a reason")
    count = fields.get("count", 1)
    if type(count) is not int or count < 1:
        raise ValueError(f"the count of {signature!r} must be a positive integer, not {count!r}")
    test, title = str(fields.get("test", "")), str(fields.get("title", ""))
    entry = Entry(count, test, title, reason)
    earlier = entries.get(signature, entry)
    entries[signature] = earlier if earlier.count > count else entry


def first_baseline(records: Iterable[CycleRecord]) -> Baseline:
    """A baseline of all new cycles of this run."""
    entries: dict[str, Entry] = {}
    for record in records:
        count = record["occurrences"]
        if count == 0:  # counted in the record of another test
            continue
        entry = Entry(count, record["nodeid"], record["title"], FIRST_REASON)
        earlier = entries.get(record["cause"])
        if earlier is not None:
            # Under xdist the order of tests varies, so the first one by name is used.
            first = min(entry, earlier, key=lambda each: (each.test, each.title))
            entry = replace(first, count=entry.count + earlier.count)
        entries[record["cause"]] = entry
    return Baseline(entries)


class BaselineUpdate:
    """Compares a run with the baseline, and creates or updates the file if requested."""

    def __init__(self, settings: Settings, baseline: Baseline) -> None:
        """`baseline` contains the entries of the file at the start of the run."""
        assert settings.baseline is not None
        self._path = settings.baseline
        self._baseline = baseline
        self._update = settings.update_baseline
        self._strict = settings.strict_baseline
        self._is_first = not self._path.exists()
        # Set if an entry has vanished under --cyclewatch-strict-baseline.
        self.fails = False

    def apply(
        self,
        records: list[CycleRecord],
        passed: Collection[str],
        collected: Collection[str],
        session: pytest.Session,
    ) -> list[str]:
        """Compare the baseline with the `records` of the run. Returns lines for the summary.

        Raises OSError if the file cannot be written. `passed` contains the tests that were checked
        and passed. Failed tests are excluded, because they may have stopped before they created
        their cycles. `collected` contains the collected tests that the baseline names, whether or
        not they ran.
        """
        if self._is_first:
            return self._create(records, session)
        seen = {
            each
            for record in records
            if record["status"] == KNOWN
            for each in (record["cause"], *record["signatures"])
        }
        vanished = {
            signature: entry
            for signature, entry in self._baseline.entries.items()
            if signature not in seen and _has_vanished(entry.test, passed, collected, session)
        }
        if not vanished:
            return []
        if self._update:
            kept = self._baseline.entries.items() - vanished.items()
            Baseline(dict(kept)).write(self._path)
            return [f"removed from the baseline {self._path}, vanished findings: {len(vanished)}"]
        self.fails = self._strict
        return [
            *(f"vanished: {entry.line(signature)}" for signature, entry in vanished.items()),
            f"the baseline {self._path} has vanished entries: {len(vanished)}; "
            "remove them with --cyclewatch-update-baseline",
        ]

    def _create(self, records: list[CycleRecord], session: pytest.Session) -> list[str]:
        if not self._update:
            return [
                f"there is no baseline {self._path} yet; --cyclewatch-update-baseline creates it"
            ]
        if not _is_complete(session):
            return ["the run was not complete, so no baseline was written"]
        first = first_baseline(record for record in records if record["status"] == NEW)
        first.write(self._path)
        return [f"wrote the baseline {self._path}, findings: {len(first.entries)}"]


def _has_vanished(
    test: str, passed: Collection[str], collected: Collection[str], session: pytest.Session
) -> bool:
    # Either the entry's test passed, or the test no longer exists and others in its file passed.
    if test in passed:
        return True
    config = session.config
    narrowed = getattr(config.option, "lf", False) or any("::" in each for each in config.args)
    if test in collected or narrowed or not _is_complete(session):
        return False
    file = test.split("::")[0]
    return any(node.startswith(f"{file}::") for node in passed)


def _is_complete(session: pytest.Session) -> bool:
    if session.config.getoption("collectonly", False):
        return False
    return session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
