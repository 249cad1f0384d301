# SPDX-License-Identifier: Apache-2.0
"""Compares two snapshots of the reachable tensors."""

from __future__ import annotations

import os
import time

from cyclewatch import _native
from cyclewatch.heap.retention import device_names, live_owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cyclewatch._native import LiveOwner

_ALL_GROUPS = (1 << 63) - 1

# Stands for any index or key in a path.
_ANY = "[x]"
# Type, device, shape, dtype and path of a group, and the indexes and keys of the path.
_Name = tuple[tuple[str, str, object, "str | None", str], tuple[str, ...]]


def census(*, devices: str | Iterable[str] = "all", device: str | None = None) -> Census:
    """Record all reachable tensors, grouped as in :func:`live_owners`.

    Take one census before and one after a step, and compare them to find growing tensors::

        before = cyclewatch.census()
        train_one_epoch()
        print(*cyclewatch.census().diff(before), sep="\\n")

    Args:
        devices: Include only tensors on these devices, as in :func:`warn_tensor_cycles`.
        device: The former name of `devices`.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A device is unknown.
        MemoryError: There is not enough memory for the list of tensors.

    Examples:
        >>> trainers = [Trainer()]
        >>> before = cyclewatch.census()
        >>> trainers.append(Trainer())
        >>> [growth] = cyclewatch.census().diff(before)
        >>> growth.nbytes, growth.count
        (4096, 1)
    """
    return Census(live_owners(_ALL_GROUPS, devices=device_names(devices, device), min_bytes=0))


class Census:
    """A snapshot of the reachable tensors. Does not keep them alive.

    Attributes:
        owners: The groups, largest first.

    Examples:
        >>> trainers = [Trainer()]
        >>> cyclewatch.census().nbytes
        4096
    """

    def __init__(self, owners: list[LiveOwner]) -> None:
        """Store the groups."""
        self.owners = owners
        self._listed_at = time.monotonic()

    @property
    def nbytes(self) -> int:
        """Size of all storages in bytes, counting each once."""
        return sum(owner.nbytes for owner in self.owners)

    def diff(self, before: Census) -> list[Growth]:
        """Return the groups that have grown since an earlier census, largest growth first.

        Two groups match if their type, device, shape and dtype are equal and their paths differ
        only in indexes, or in keys that one of the censuses does not distinguish: the keys of a
        large dict, or those that a report hides.

        Raises:
            TypeError: `before` is not a Census.

        Examples:
            >>> before = cyclewatch.census()
            >>> trainer = Trainer()
            >>> print(cyclewatch.census().diff(before)[0])
            +4.0 KiB  1 x __main__.Buffer, held by module global __main__.trainer -> trainer.batch
        """
        if not isinstance(before, Census):
            raise TypeError(f"diff() expects a Census, not {type(before).__name__}")
        general = _general_names([*before.owners, *self.owners])
        earlier = _grouped(before.owners, general)
        growths = []
        for name, groups in _grouped(self.owners, general).items():
            matching = earlier.get(name, [])
            added = _nbytes(groups) - _nbytes(matching)
            if added > 0:
                owner = next((each for each in groups if _name_of(each) == name), groups[0])
                count = _count(groups)
                growths.append(Growth(owner, added, count - _count(matching), count))
        return sorted(growths, key=lambda growth: growth.nbytes, reverse=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the census to a file, replacing it, for :meth:`load` and ``cyclewatch diff``.

        The file is a JSON report without findings. It contains paths and the keys of dicts that the
        census shows, and, for ``cyclewatch snapshot --owners``, the addresses of the largest
        storages on CUDA devices, unless the census was loaded from a file.

        Raises:
            OSError: The file cannot be written.

        Examples:
            >>> trainer = Trainer()
            >>> cyclewatch.census().save("before.json")
            >>> cyclewatch.Census.load("before.json").nbytes
            4096
        """
        report = _native.census_report(self.owners, time.monotonic() - self._listed_at)
        _native.write_file(path, report.to_json().encode(), replace=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Census:
        """Read a census, or the last census of a JSON or HTML report.

        Raises:
            OSError: The file cannot be read.
            ReportFormatError: The file is not a report.
            ValueError: The report does not list live tensors.

        Examples:
            >>> cyclewatch.census().save("before.json")
            >>> trainer = Trainer()
            >>> print(*cyclewatch.census().diff(cyclewatch.Census.load("before.json")))
            +4.0 KiB  1 x __main__.Buffer, held by module global __main__.trainer -> trainer.batch
        """
        report = _native.Report.load(path)
        if not report.censuses:
            raise ValueError(f"{os.fspath(path)} does not list live tensors")
        return cls(report.live_owners)

    def __repr__(self) -> str:
        return f"<Census {_native.format_bytes(self.nbytes)} in {len(self.owners)} groups>"


class Growth:
    """A group of tensors that grew between two censuses.

    Attributes:
        owner: The group in the later census.
        nbytes: The number of additional bytes.
        count: The number of additional storages.

    Examples:
        >>> before = cyclewatch.census()
        >>> trainer = Trainer()
        >>> cyclewatch.census().diff(before)[0].owner.type
        '__main__.Buffer'
    """

    def __init__(self, owner: LiveOwner, nbytes: int, count: int, total: int) -> None:
        """Store the values. `total`: the number of storages in the later census."""
        self.owner = owner
        self.nbytes = nbytes
        self.count = count
        self._total = total

    def __str__(self) -> str:
        owner = self.owner
        held = ""
        if owner.held_by:
            path = str(owner.held_by[0])
            held = f", held by {path}{_native.similar_paths(path, self._total)}"
        details = [owner.type]
        if owner.shape is not None:
            details.append(str(list(owner.shape)))
        if owner.dtype is not None:
            details.append(owner.dtype)
        return f"+{_native.format_bytes(self.nbytes)}  {self.count} x {' '.join(details)}{held}"

    def __repr__(self) -> str:
        return f"<Growth {self}>"


def _name_of(owner: LiveOwner) -> _Name:
    path = owner.path
    keys: list[str] = []
    end = len(path)
    labels = [each.label for each in owner.held_by[0].references] if owner.held_by else []
    for label in reversed([each for each in labels if each.startswith("[")]):
        at = path.rfind(label, 0, end)
        if at < 0:
            label = _ANY
            at = path.rfind(label, 0, end)
        if at >= 0:
            # A hidden key is written as its type.
            keys.append(_ANY if label.startswith("[<") else label)
            path = f"{path[:at]}[]{path[at + len(label) :]}"
            end = at
    return (owner.type, owner.device, owner.shape, owner.dtype, path), tuple(reversed(keys))


def _general_names(owners: list[LiveOwner]) -> dict[_Name, _Name]:
    """Map the name of each group to the most general name of a group to which it may belong."""
    keys_of: dict[object, dict[tuple[str, ...], None]] = {}
    names = [_name_of(owner) for owner in owners]
    for kind, keys in names:
        keys_of.setdefault(kind, {})[keys] = None
    masks = {kind: {_mask_of(keys): None for keys in found} for kind, found in keys_of.items()}
    general = {}
    for kind, keys in names:
        found = keys
        for mask in sorted(masks[kind], key=sum):
            wider = tuple(_ANY if is_any else key for key, is_any in zip(found, mask, strict=True))
            found = wider if wider in keys_of[kind] else found
        general[kind, keys] = (kind, found)
    return general


def _mask_of(keys: tuple[str, ...]) -> tuple[bool, ...]:
    return tuple(key == _ANY for key in keys)


def _grouped(owners: list[LiveOwner], general: dict[_Name, _Name]) -> dict[_Name, list[LiveOwner]]:
    groups: dict[_Name, list[LiveOwner]] = {}
    for owner in owners:
        groups.setdefault(general[_name_of(owner)], []).append(owner)
    return groups


def _nbytes(owners: list[LiveOwner]) -> int:
    return sum(owner.nbytes for owner in owners)


def _count(owners: list[LiveOwner]) -> int:
    return sum(owner.count for owner in owners)
