# SPDX-License-Identifier: Apache-2.0
"""The file of loops that are known. Loops leave it; none is ever added to it behind your back.

One entry stands on one line, sorted by signature, and the last line of the object is its version:
so every entry ends with a comma, and two branches that change different entries merge line by
line. A file that kept both sides' lines of a conflict is a valid file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cyclewatch._native import write_file
from cyclewatch.pytest_plugin.files import written

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cyclewatch.pytest_plugin.loops import Loop

VERSION = 1
FIRST_REASON = "was there when the baseline was made"


class BaselineError(ValueError):
    """The file is no baseline; the message says where, and what to do."""


@dataclass(frozen=True)
class Entry:
    """One known loop: how often the whole run made it, a test that did, and why it may stay."""

    count: int
    test: str
    title: str
    reason: str

    def line(self, signature: str) -> str:
        """As it stands in the file, without the comma."""
        fields: dict[str, object] = {"count": self.count, "test": self.test, "title": self.title}
        fields["reason"] = self.reason
        return ": ".join(json.dumps(part, ensure_ascii=False) for part in (signature, fields))


class Baseline:
    """The entries by signature."""

    def __init__(self, entries: dict[str, Entry]) -> None:
        """Take `entries` as they are."""
        self.entries = entries

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """What `path` says; empty if there is no such file. Raises BaselineError."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls({})
        except UnicodeError:
            raise BaselineError(f"the baseline {path} cannot be read: it is no UTF-8") from None
        except OSError as error:
            why = error.strerror or error
            raise BaselineError(f"the baseline {path} cannot be read: {why}") from None
        entries: dict[str, Entry] = {}

        def add(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            for signature, fields in pairs:
                if isinstance(fields, dict):
                    _add_entry(entries, signature, fields)
            return dict(pairs)

        try:
            whole = json.loads(text, object_pairs_hook=add)
        except json.JSONDecodeError as error:
            remedy = (
                "keep the lines of both sides and remove the markers"
                if "<<<<<<<" in text
                else "put the line right, or remove the file and run --cyclewatch-update-baseline"
            )
            raise BaselineError(
                f"the baseline {path} is no JSON at line {error.lineno}: {error.msg}; {remedy}"
            ) from None
        except RecursionError:
            raise BaselineError(f"the baseline {path} is nested too deeply") from None
        except ValueError as error:
            raise BaselineError(f"the baseline {path} has a broken entry: {error}") from None
        if not isinstance(whole, dict) or whole.get("version") != VERSION:
            raise BaselineError(
                f'the baseline {path} does not say "version": {VERSION}; a newer cyclewatch may '
                "have written it"
            )
        return cls(entries)

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all. Raises CannotWrite."""
        lines = [entry.line(signature) for signature, entry in sorted(self.entries.items())]
        text = "{\n" + ",\n".join([*lines, f'"version": {VERSION}']) + "\n}\n"
        with written("the baseline", path):
            # Half a surrogate pair, which JSON can spell and UTF-8 cannot, stays spelled.
            write_file(path, text.encode(errors="backslashreplace"), replace=True)

    def without(self, vanished: Iterable[str], counts: dict[str, int]) -> Baseline:
        """Shrunk: `vanished` are gone, and a count is lowered where fewer loops were seen."""
        shrunk = dict(self.entries)
        for signature in vanished:
            del shrunk[signature]
        for signature, entry in shrunk.items():
            seen = counts.get(signature, 0) or entry.count
            shrunk[signature] = replace(entry, count=min(entry.count, seen))
        return Baseline(shrunk)


def first_baseline(loops: Iterable[Loop]) -> Baseline:
    """The baseline of a project that has none: all that is new in this run."""
    entries: dict[str, Entry] = {}
    for loop in loops:
        for signature, count in loop["signatures"].items():
            entry = Entry(count, loop["nodeid"], loop["title"], FIRST_REASON)
            earlier = entries.get(signature)
            if earlier is not None:
                # Tests run in any order under xdist: the first by name is the same in every run.
                entry = replace(
                    entry, count=entry.count + earlier.count, test=min(entry.test, earlier.test)
                )
            entries[signature] = entry
    return Baseline(entries)


def _add_entry(entries: dict[str, Entry], signature: str, fields: dict[str, Any]) -> None:
    reason = fields.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError(f"{signature!r} needs a reason")
    count = fields.get("count", 1)
    if type(count) is not int or count < 1:
        raise ValueError(f"the count of {signature!r} is a whole number from 1, not {count!r}")
    entry = Entry(
        count=count,
        test=str(fields.get("test", "")),
        title=str(fields.get("title", "")),
        reason=reason,
    )
    earlier = entries.get(signature)
    if earlier is not None and earlier.count > entry.count:
        entry = earlier
    entries[signature] = entry
