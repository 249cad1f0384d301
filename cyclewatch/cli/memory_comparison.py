# SPDX-License-Identifier: Apache-2.0
"""Compares what the memory is used for in two reports, for ``cyclewatch diff``."""

from __future__ import annotations

from typing import NamedTuple

from cyclewatch._native import clean_text
from cyclewatch.snapshots.text import difference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cyclewatch._native import Report

_LEAST = 0.01  # of the memory in use: smaller changes are omitted
_WHEN = {"request": "on request", "end": "at the end"}

Key = tuple[int, str, str]  # the rank, the device and the occasion
Line = tuple[str, str, int]  # the kind of use, its label and the bytes
Account = tuple[int, int, list[Line]]  # in use, the peak (0: unknown) and the lines


class AccountChange(NamedTuple):
    """How an account changed. A row is the label of a line, and its bytes before and after."""

    device: str
    occasion: str
    rank: int
    before: int
    after: int
    rows: list[tuple[str, int, int]]

    def __str__(self) -> str:
        rank = f"rank {self.rank}, " if self.rank >= 0 else ""
        when = _WHEN.get(self.occasion, self.occasion)
        head = f"Memory in use ({rank}{self.device}, {when}): {difference(self.before, self.after)}"
        rows = [f"  {difference(before, after)}  {label}" for label, before, after in self.rows]
        return "\n".join(clean_text(line) for line in [head, *rows])


def compare(before: Report, after: Report) -> list[AccountChange]:
    """The changes of the accounts that both reports have, if they are large enough to be shown."""
    old, new = _accounts(before), _accounts(after)
    changes = [_compared(key, old[key], new[key]) for key in new if key in old]
    return [each for each in changes if each.rows]


def _accounts(report: Report) -> dict[Key, Account]:
    """The last account of each kind; none if several processes have the same rank."""
    ranks = [-1 if each.rank is None else each.rank for each in report.processes]
    return {
        (rank, device, occasion): (in_use, peak, lines)
        for rank, device, occasion, in_use, peak, lines in report._accounts
        if ranks.count(rank) == 1
    }


def _compared(key: Key, before: Account, after: Account) -> AccountChange:
    rank, device, occasion = key
    in_use_before, peak_before, lines_before = before
    in_use_after, peak_after, lines_after = after
    old, new = ({kind: size for kind, _, size in lines} for lines in (lines_before, lines_after))
    labels = {kind: label for kind, label, _ in [*lines_before, *lines_after]}
    if peak_before and peak_after:  # both are known
        old["peak"], new["peak"], labels["peak"] = peak_before, peak_after, "peak"
    least = _LEAST * max(in_use_before, in_use_after)
    rows = [
        (label, old.get(kind, 0), new.get(kind, 0))
        for kind, label in labels.items()
        if abs(new.get(kind, 0) - old.get(kind, 0)) >= max(1, least)
    ]
    rows.sort(key=lambda row: -abs(row[2] - row[1]))
    return AccountChange(device, occasion, rank, in_use_before, in_use_after, rows)
