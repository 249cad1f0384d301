# SPDX-License-Identifier: Apache-2.0
"""The marks, and the findings that an ``allow_tensor_cycles`` mark accepts."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from cyclewatch.settings.kinds import DECIMAL_BYTES

if TYPE_CHECKING:
    import pytest

    from cyclewatch import Finding


@dataclass(frozen=True)
class Allowance:
    """One ``allow_tensor_cycles`` mark."""

    reason: str
    max_bytes: int | None = None
    pattern: str | None = None

    def covers(self, finding: Finding) -> bool:
        """Whether the mark applies to the pattern of `finding`; sizes are not considered."""
        return self.pattern is None or fnmatchcase(finding.pattern, self.pattern)

    def allowed(self, findings: list[Finding]) -> list[Finding]:
        """Return all findings that the mark covers, or none if their total exceeds `max_bytes`."""
        covered = [finding for finding in findings if self.covers(finding)]
        total = sum(finding.attributed_bytes for finding in covered)
        return covered if self.max_bytes is None or total <= self.max_bytes else []


def mode_for(item: pytest.Item, mode: str) -> str:
    """The mode for `item`: "fail" if it is marked no_tensor_cycles, otherwise `mode`."""
    return "fail" if item.get_closest_marker("no_tensor_cycles") is not None else mode


def finds_never_freed(item: pytest.Item, default: bool) -> bool:
    """Whether to search for cycles that no collection frees, by the nearest mark that says so.

    Raises ValueError for a mark with an invalid argument.
    """
    for mark in item.iter_markers("no_tensor_cycles"):
        given = dict(mark.kwargs)
        found = given.pop("never_freed", None)
        if mark.args or given or not (found is None or isinstance(found, bool)):
            arguments = ", ".join(
                [*map(repr, mark.args), *(f"{key}={value!r}" for key, value in mark.kwargs.items())]
            )
            raise ValueError(
                f"no_tensor_cycles takes only never_freed=True or never_freed=False, not "
                f"{arguments}"
            )
        if found is not None:
            return found
    return default


def allowances(item: pytest.Item) -> list[Allowance]:
    """The ``allow_tensor_cycles`` marks of `item`, its class and its module, nearest first.

    Raises ValueError for a mark without a reason, or with an invalid argument.
    """
    return [_allowance(mark) for mark in item.iter_markers("allow_tensor_cycles")]


def _allowance(mark: pytest.Mark) -> Allowance:
    given = dict(mark.kwargs)
    reason = given.pop("reason", None)
    max_bytes = given.pop("max_bytes", None)
    pattern = given.pop("pattern", None)
    problem = None
    if mark.args or given:
        unknown = ", ".join([*map(repr, mark.args), *given])
        problem = (
            f"has unknown arguments: {unknown}; valid arguments: reason=, max_bytes= and pattern="
        )
    elif not isinstance(reason, str) or not reason.strip():
        problem = "needs a reason, such as reason='the cache is cleared at exit'"
    elif not (pattern is None or isinstance(pattern, str)):
        problem = f"expects the id of a pattern such as 'closure-captures-self', not {pattern!r}"
    elif max_bytes is not None:
        try:
            max_bytes = DECIMAL_BYTES.read(str(max_bytes))
        except ValueError as error:
            problem = f"{error} for max_bytes"
    if problem is not None:
        raise ValueError(f"allow_tensor_cycles {problem}")
    assert isinstance(reason, str)
    return Allowance(reason, max_bytes, pattern)
