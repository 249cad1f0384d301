# SPDX-License-Identifier: Apache-2.0
"""Stores one report for each process of a job in the job's torch.distributed store.

The keys begin with ``cyclewatch``. ``<rank>/processes`` counts the processes of a rank: there are
several if a rank was restarted, or started twice. ``<rank>/<number>`` describes the report of one
process, and ``<rank>/<number>/<chunk>`` contains its parts. A process replaces its own report only.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import weakref
import zlib
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch.distributed import Store  # type: ignore[attr-defined]

# A TCPStore closes the connection when it receives a value above 8 MiB.
_CHUNK_BYTES = 1 << 20
_MOST_PROCESSES = 16  # of one rank
_LARGEST_REPORT = 1 << 30
_MOST_CHUNKS = _LARGEST_REPORT // _CHUNK_BYTES
_LONGEST_VERSION = 40
_ANSWER_SECONDS = 5.0

# The greeting and a ping in the protocol of TCPStore. A server that does not know these requests
# closes the connection, which is an answer too.
_PING = struct.pack("=BIBI", 0, 0x3C85F7CE, 13, 0)

# The connection that this module opened: the process, the address and the store.
_connection: tuple[int, str, Store] | None = None
# For each store, by process and rank: the number of this process among those of the rank.
_numbers: weakref.WeakKeyDictionary[Store, dict[tuple[int, int], int]]
_numbers = weakref.WeakKeyDictionary()


class Published(NamedTuple):
    """A report as one process of a rank published it."""

    version: str  # of cyclewatch
    document: bytes  # JSON
    is_last: bool = False  # the process has ended its watch


class Unreadable(NamedTuple):
    """A report that this version of cyclewatch cannot read."""

    reason: str


def connect() -> Store:
    """Return a store that is connected to the job's TCPStore.

    The connection is our own: the process group of the program may have been destroyed, and a
    failure must not affect the connection that the program uses.

    Raises:
        ConnectionError: MASTER_ADDR or MASTER_PORT is not set, or the store does not answer.
    """
    global _connection
    host, port = os.environ.get("MASTER_ADDR", ""), os.environ.get("MASTER_PORT", "")
    if not host or not port.isdecimal():
        raise ConnectionError(
            "the job's store is unknown, because MASTER_ADDR and MASTER_PORT are not set; pass a "
            "store, or merge the report files"
        )
    address = f"{host}:{port}"
    _require_answer(host, int(port), address)
    if _connection is None or _connection[:2] != (os.getpid(), address):
        _connection = (os.getpid(), address, _open(host, int(port), address))
    return _connection[2]


def _require_answer(host: str, port: int, address: str) -> None:
    """Check that the store's server runs: a client of a stopped server would wait forever."""
    try:
        with socket.create_connection((host, port), timeout=_ANSWER_SECONDS) as connection:
            connection.sendall(_PING)
            connection.recv(1)
    except ConnectionResetError:
        return
    except OSError as error:
        raise ConnectionError(
            f"the job's store at {address} does not answer ({error}); merge the report files "
            "instead"
        ) from None


def _open(host: str, port: int, address: str) -> Store:
    from datetime import timedelta

    from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]

    try:
        store = TCPStore(
            host,
            port,
            is_master=False,
            timeout=timedelta(seconds=_ANSWER_SECONDS),
            wait_for_workers=False,
        )
    except RuntimeError as error:
        raise ConnectionError(f"cannot connect to the job's store at {address}: {error}") from None
    # The server survives when torchrun restarts the job, so reports of earlier attempts remain.
    run = os.environ.get("TORCHELASTIC_RUN_ID", "")
    return PrefixStore(f"{run}/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)


def publish(store: Store, rank: int, published: Published) -> None:
    """Write a report; it replaces the report that this process has written before.

    Raises:
        RuntimeError: The store failed.
    """
    numbers = _numbers.setdefault(store, {})
    process = (os.getpid(), rank)
    if process not in numbers:
        numbers[process] = store.add(_key(rank, "processes"), 1)
    number = numbers[process]
    packed = zlib.compress(published.document)
    chunks = range(0, len(packed), _CHUNK_BYTES)
    for index, start in enumerate(chunks):
        part = packed[start : start + _CHUNK_BYTES]
        store.set(_key(rank, number, index), part)  # type: ignore[arg-type]
    header = {
        "version": published.version,
        "chunks": len(chunks),
        "crc": zlib.crc32(packed),
        "last": published.is_last,
    }
    store.set(_key(rank, number), json.dumps(header))


def read(store: Store, rank: int) -> list[Published | Unreadable]:
    """Return the reports that the processes of a rank have published; waits for nothing.

    A report that is being replaced at this moment is not returned.

    Raises:
        RuntimeError: The store failed.
    """
    counter = _key(rank, "processes")
    if not store.check([counter]):
        return []
    count = min(store.add(counter, 0), _MOST_PROCESSES)
    reports = (_read_one(store, rank, number) for number in range(1, count + 1))
    return [report for report in reports if report is not None]


def _read_one(store: Store, rank: int, number: int) -> Published | Unreadable | None:
    if not store.check([_key(rank, number)]):
        return None
    version = "another version of cyclewatch"
    try:
        header = json.loads(store.get(_key(rank, number)))
        version = f"cyclewatch {str(header['version'])[:_LONGEST_VERSION]}"
        parts = [_key(rank, number, at) for at in range(min(header["chunks"], _MOST_CHUNKS))]
        if not store.check(parts):
            return None  # it is being replaced
        packed = b"".join(map(store.get, parts))
        if zlib.crc32(packed) != header["crc"]:
            return None  # it is being replaced
        document = zlib.decompressobj().decompress(packed, _LARGEST_REPORT)
    except (KeyError, TypeError, ValueError, zlib.error):
        return Unreadable(f"{version} published it in an unknown form")
    # Earlier versions do not say it.
    return Published(str(header["version"]), document, bool(header.get("last", True)))


def _key(*parts: object) -> str:
    return "/".join(["cyclewatch", *map(str, parts)])
