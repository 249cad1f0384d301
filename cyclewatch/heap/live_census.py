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

# Type, device, shape, dtype and path of a group.
_Kind = tuple[str, str, object, "str | None", str]


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
        only in indexes.

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
        earlier: dict[_Kind, tuple[int, int]] = {}
        for owner in before.owners:
            nbytes, count = earlier.get(kind_of(owner), (0, 0))
            earlier[kind_of(owner)] = (nbytes + owner.nbytes, count + owner.count)
        growths = []
        for owner in self.owners:
            nbytes, count = earlier.get(kind_of(owner), (0, 0))
            if owner.nbytes > nbytes:
                growths.append(Growth(owner, owner.nbytes - nbytes, owner.count - count))
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

    def __init__(self, owner: LiveOwner, nbytes: int, count: int) -> None:
        """Store the values."""
        self.owner = owner
        self.nbytes = nbytes
        self.count = count

    def __str__(self) -> str:
        owner = self.owner
        held = f", held by {owner.held_by[0]}" if owner.held_by else ""
        details = [owner.type]
        if owner.shape is not None:
            details.append(str(list(owner.shape)))
        if owner.dtype is not None:
            details.append(owner.dtype)
        return f"+{_native.format_bytes(self.nbytes)}  {self.count} x {' '.join(details)}{held}"

    def __repr__(self) -> str:
        return f"<Growth {self}>"


def kind_of(owner: LiveOwner) -> _Kind:
    """The key by which the groups of two censuses are matched."""
    import re  # late: `import cyclewatch` must be fast

    path = str(owner.held_by[0]) if owner.held_by else ""
    pattern = re.sub(r"\[\d+\]", "[x]", path)
    return (owner.type, owner.device, owner.shape, owner.dtype, pattern)
