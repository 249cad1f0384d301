# SPDX-License-Identifier: Apache-2.0
"""Reads the memory of this process, for experiments that verify where a library stores references.

An experiment makes a known number of references, and checks which word or count changes.
"""

from __future__ import annotations

import os
import struct

WORD = 8


class UnverifiedError(Exception):
    """An experiment had another result than expected."""


class Memory:
    """Reads the memory of this process. A wrong address raises an error instead of a fault."""

    def __init__(self) -> None:
        """Open the file. Raises UnverifiedError if this is not permitted."""
        try:
            self._file = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise UnverifiedError("the process cannot read its own memory") from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def words(self, address: int, count: int) -> tuple[int, ...]:
        """`count` words at `address`, fewer if the memory ends."""
        try:
            data = os.pread(self._file, WORD * count, address)
        except (OSError, OverflowError, ValueError) as error:
            raise UnverifiedError(f"no memory at {address:#x}") from error
        found = len(data) // WORD
        return struct.unpack(f"<{found}Q", data[: found * WORD])

    def word(self, address: int) -> int:
        """The word at `address`."""
        found = self.words(address, 1)
        if not found:
            raise UnverifiedError(f"no memory at {address:#x}")
        return found[0]

    def strong(self, address: int) -> int:
        """The strong references to the C++ object at `address`."""
        return self.word(address + WORD) & 0xFFFFFFFF


def check(condition: bool, what: str) -> None:
    """Raise UnverifiedError unless the condition is true."""
    if not condition:
        raise UnverifiedError(what)
