# SPDX-License-Identifier: Apache-2.0
"""The Python owners of the blocks in a snapshot, by the addresses in a report of cyclewatch."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from cyclewatch.snapshots.owners import DEAD, FROZEN, REACHABLE, UNKNOWN, Owner, dead_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_CUDA = "cuda:"
# In microseconds. Reports round the time of their start to milliseconds.
_TIME_ERROR = 5_000
# A report may notice later that memory was freed.
_MOST_DELAY = 1_000_000
_MICROSECONDS = 1_000_000


class Listed(NamedTuple):
    """A storage in the report. `at`: in microseconds since the epoch; None if unknown."""

    at: float | None
    size: int
    owner: Owner


class ReportOwners:
    """The owners of the storages in a report, by device and address.

    An address alone identifies nothing, because torch uses it again after the storage was freed.
    Therefore the size must be equal, and what torch's history says about the address must agree.
    """

    unowned = (UNKNOWN, "not in the report")

    def __init__(self, report: Mapping[str, Any]) -> None:
        """Convert the JSON of a valid report."""
        start = _microseconds(report["processes"][0]["started_at"])
        findings = _findings(report["findings"])
        self._live: dict[tuple[int, int], Listed] = {}
        self._freed: dict[tuple[int, int], list[Listed]] = {}
        for group in report.get("addresses", ()):
            index = group["device"].removeprefix(_CUDA)
            if not index.isdecimal() or index == group["device"]:
                continue
            at = None if start is None else start + group["at"] * _MICROSECONDS
            for number, address in enumerate(group["addresses"]):
                owner = _owner(group, number, address, findings)
                listed = Listed(at, group["bytes"], owner)
                key = (int(index), address)
                if group["freed"]:
                    self._freed.setdefault(key, []).append(listed)
                elif key not in self._live or (self._live[key].at or 0) <= (at or 0):
                    self._live[key] = listed

    def __len__(self) -> int:
        """The number of addresses."""
        return len(self._live) + len(self._freed)

    def of_block(
        self, device: int, address: int, size: int, requested: int, allocated: float | None
    ) -> Owner | None:
        """The owner of a live block; None if the report does not contain it.

        `size`, `requested`: with and without rounding. `allocated`: when the block was allocated,
        in microseconds since the epoch; None if unknown.
        """
        listed = self._live.get((device, address))
        if listed is None or listed.size not in (requested, size):
            return None
        if allocated is not None and listed.at is not None and allocated > listed.at + _TIME_ERROR:
            return None  # another storage, at the same address
        return listed.owner

    def freed_at(self, device: int, address: int, size: int, time: float | None) -> Listed | None:
        """The storage, then unreachable, in a block that was freed at `time`.

        None if the report does not contain it, or if a time is unknown.
        """
        for listed in self._freed.get((device, address), ()):
            if (
                listed.size == size
                and listed.at is not None
                and time is not None
                and listed.at - _MOST_DELAY <= time <= listed.at + _TIME_ERROR
            ):
                return listed
        return None

    def was_freed(self, device: int, address: int) -> bool:
        """Whether freed_at() may know the address."""
        return (device, address) in self._freed


def _microseconds(text: str) -> float | None:
    try:
        return datetime.datetime.fromisoformat(text).timestamp() * _MICROSECONDS
    except (ValueError, OverflowError):
        return None


def _findings(findings: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """The state and the remedy of each finding, by the signatures of its variants, too."""
    known: dict[str, tuple[str, str]] = {}
    for each in findings:
        state = FROZEN if each["collected"] == "never" else DEAD
        signatures = [each["signature"], *(variant["signature"] for variant in each["variants"])]
        known.update(dict.fromkeys(signatures, (state, each["remedy"])))
    return known


def _owner(
    group: Mapping[str, Any],
    number: int,
    address: int,
    findings: Mapping[str, tuple[str, str]],
) -> Owner:
    signature: str = group["signature"]
    if not signature:
        path = group["paths"][number] if group["paths"] else ""
        return Owner(address, REACHABLE, f"{path or 'unknown'} ({group['category']})", "")
    state, remedy = findings.get(signature, (DEAD, ""))
    state = DEAD if group["freed"] else state
    return Owner(address, state, dead_text(state, signature, remedy), signature)
