# SPDX-License-Identifier: Apache-2.0
"""Reads a pickle that contains only data, without running any code that the file names.

Only the opcodes that create dicts, lists, tuples, strings, numbers, booleans and None are known.
Every other opcode, such as those that import a name or call a function, is refused by name. The
``pickle`` module is not used: its memo grows to the largest index in the file, and it hashes keys
of any type. Nothing here recurses, so that the nesting depth of the data does not matter.
"""

from __future__ import annotations

import struct
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# A snapshot of 4 million events is about as large as the largest file that is read.
MAX_BYTES = 256 << 20
MAX_CONTAINERS = 4_000_000
MAX_VALUES = 20_000_000  # strings, numbers and containers
MAX_OPCODES = 100_000_000
_MAX_OPEN_MARKS = 100
_MAX_INTEGER_BYTES = 16
_PROTOCOLS = range(2, 6)
_MAX_NAME = 200  # characters of a refused name in a message


class SnapshotFormatError(Exception):
    """The file is not a snapshot, or contains more than data. The message says which."""


class _Ended(Exception):  # noqa: N818
    """STOP was reached."""


def load(data: bytes) -> Any:
    """Return the object that `data` contains.

    Raises:
        SnapshotFormatError: The data is truncated, invalid, too large, or not only data.
    """
    _check_start(data)
    reader = _Reader(data)
    try:
        reader.run()
    except (IndexError, KeyError, struct.error):
        if reader.at > len(data):
            raise _truncated(data) from None
        raise SnapshotFormatError(f"the pickle is damaged at byte {reader.at:,}") from None
    except UnicodeDecodeError:
        raise SnapshotFormatError(
            f"the pickle has a string that is not UTF-8 at byte {reader.at:,}"
        ) from None
    return reader.stack[-1]


def _truncated(data: bytes) -> SnapshotFormatError:
    return SnapshotFormatError(
        f"the pickle is truncated: it ends after {len(data):,} bytes, before its last opcode"
    )


def _check_start(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise SnapshotFormatError(
            f"the file is larger than {MAX_BYTES >> 20} MiB; record fewer events "
            "(max_entries of torch.cuda.memory._record_memory_history)"
        )
    if data[:2] == b"PK":
        raise SnapshotFormatError(
            "it is a zip archive, as torch.save() writes; save the snapshot with "
            "torch.cuda.memory._dump_snapshot()"
        )
    if data[:2] == b"\x1f\x8b":
        raise SnapshotFormatError("it is compressed with gzip; decompress it first")
    if data[:1] in (b"(", b"}", b"]") and data.rstrip()[-1:] == b".":
        raise SnapshotFormatError(
            "it is a pickle of protocol 0 or 1, which torch does not write; store the data with "
            "pickle.dump(..., protocol=2) or higher"
        )
    if data[:1] != b"\x80" or len(data) < 2:
        raise SnapshotFormatError("it is not a pickle of protocol 2 to 5")
    if data[1] not in _PROTOCOLS:
        raise SnapshotFormatError(f"pickle protocol {data[1]} is not known; expected 2 to 5")


class _Reader:
    """The stack machine. `at` is the position of the next byte to read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 2
        self.stack: list[Any] = []
        self._outer: list[list[Any]] = []  # the stacks below each open mark
        self._memo: dict[int, Any] = {}
        self._containers = 0
        self._values = 0

    def run(self) -> None:
        """Execute opcodes up to STOP."""
        actions, data = _ACTIONS, self.data
        try:
            for _ in range(MAX_OPCODES):
                at = self.at
                self.at += 1
                opcode = data[at]
                actions[opcode](self)
        except _Ended:
            if self._outer or len(self.stack) != 1:
                raise IndexError from None
            return
        raise SnapshotFormatError(f"the pickle has more than {MAX_OPCODES:,} opcodes")

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        start, self.at = self.at, self.at + count
        if self.at > len(self.data):
            raise _truncated(self.data)
        return self.data[start : self.at]

    def push(self, value: object) -> None:
        """Push a new string or number."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise SnapshotFormatError(f"the pickle has more than {MAX_VALUES:,} values")
        self.stack.append(value)

    def push_container(self, value: object) -> None:
        """Push a new container."""
        self._containers += 1
        if self._containers > MAX_CONTAINERS:
            raise SnapshotFormatError(f"the pickle has more than {MAX_CONTAINERS:,} containers")
        self.push(value)

    def open_mark(self) -> None:
        """Begin a group of items."""
        if len(self._outer) == _MAX_OPEN_MARKS:
            raise SnapshotFormatError(f"the pickle has more than {_MAX_OPEN_MARKS} open marks")
        self._outer.append(self.stack)
        self.stack = []

    def close_mark(self) -> list[Any]:
        """End the group that was begun last, and return its items."""
        items, self.stack = self.stack, self._outer.pop()
        return items

    def remember(self, index: int) -> None:
        """Store the top of the stack in the memo."""
        self._memo[index] = self.stack[-1]

    def remember_next(self) -> None:
        """Store the top of the stack under the next index of the memo."""
        self._memo[len(self._memo)] = self.stack[-1]

    def recall(self, index: int) -> None:
        """Push a value of the memo."""
        self.stack.append(self._memo[index])

    def push_tuple(self, count: int) -> None:
        """Replace the last `count` values by a tuple."""
        if len(self.stack) < count:
            raise IndexError
        items = tuple(self.stack[-count:])
        del self.stack[-count:]
        self.push_container(items)

    def append(self, items: list[Any]) -> None:
        """Append to the list on top of the stack."""
        target = self.stack[-1]
        if type(target) is not list:
            raise SnapshotFormatError(f"the pickle appends to a {type(target).__name__}")
        target.extend(items)

    def set_items(self, items: list[Any]) -> None:
        """Add keys and values, alternating, to the dict on top of the stack."""
        target = self.stack[-1]
        if type(target) is not dict:
            raise SnapshotFormatError(f"the pickle sets items of a {type(target).__name__}")
        if len(items) % 2:
            raise IndexError
        for key, value in zip(islice(items, 0, None, 2), islice(items, 1, None, 2), strict=True):
            # The hash of a nested tuple can take exponential time.
            if type(key) is not str and type(key) is not int:
                raise SnapshotFormatError(f"the pickle has a {type(key).__name__} as a dict key")
            target[key] = value

    def pop_one(self) -> list[Any]:
        """Remove the top of the stack."""
        return [self.stack.pop()]

    def pop_two(self) -> list[Any]:
        """Remove the two last values."""
        value = self.stack.pop()
        return [self.stack.pop(), value]

    def line(self) -> str:
        """The text up to the end of the line, for a message."""
        end = self.data.find(b"\n", self.at, self.at + _MAX_NAME)
        start, self.at = self.at, end + 1
        return self.data[start:end].decode("utf-8", "replace") if end >= 0 else "?"


def _refuse(reader: _Reader) -> None:
    """Raise the error for an opcode that is not in the table."""
    import pickletools

    position = reader.at - 1
    known = {each.code: each for each in pickletools.opcodes}
    opcode = known.get(chr(reader.data[position]))
    if opcode is None:
        raise SnapshotFormatError(f"the pickle is damaged at byte {position:,}: unknown opcode")
    name = ""
    if opcode.name in ("GLOBAL", "INST"):
        name = f"{reader.line()}.{reader.line()}"
    elif opcode.name == "STACK_GLOBAL":
        name = ".".join(str(each)[:_MAX_NAME] for each in reader.stack[-2:] if type(each) is str)
    what = f"refers to {name}" if name else f"contains the opcode {opcode.name}"
    raise SnapshotFormatError(
        f"the pickle {what} at byte {position:,}; a snapshot contains only dicts, lists, tuples, "
        "strings and numbers"
    )


def _stop(_reader: _Reader) -> None:
    raise _Ended


def _number(format: str) -> Callable[[_Reader], Any]:
    """A function that reads a number."""
    unpack, size = struct.Struct(format).unpack_from, struct.calcsize(format)

    def read(reader: _Reader) -> Any:
        at = reader.at
        reader.at = at + size
        return unpack(reader.data, at)[0]

    return read


_UINT8, _UINT16, _UINT32, _UINT64 = map(_number, ("<B", "<H", "<I", "<Q"))
_INT32, _FLOAT = _number("<i"), _number(">d")


def _integer(reader: _Reader) -> int:
    size = _UINT8(reader)
    if size > _MAX_INTEGER_BYTES:
        raise SnapshotFormatError(f"the pickle has an integer of {size} bytes")
    return int.from_bytes(reader.take(size), "little", signed=True)


def _pushing(read: Callable[[_Reader], Any]) -> Callable[[_Reader], None]:
    return lambda reader: reader.push(read(reader))


def _string(read_size: Callable[[_Reader], Any]) -> Callable[[_Reader], None]:
    # "surrogatepass", as in the pickle module: file names may contain undecodable bytes.
    return lambda reader: reader.push(
        reader.take(read_size(reader)).decode("utf-8", "surrogatepass")
    )


_KNOWN: dict[bytes, Callable[[_Reader], Any]] = {
    b"h": lambda reader: reader.recall(_UINT8(reader)),  # BINGET
    b"j": lambda reader: reader.recall(_UINT32(reader)),  # LONG_BINGET
    b"K": _pushing(_UINT8),  # BININT1
    b"M": _pushing(_UINT16),  # BININT2
    b"J": _pushing(_INT32),  # BININT
    b"\x8a": _pushing(_integer),  # LONG1
    b"G": _pushing(_FLOAT),  # BINFLOAT
    b"X": _string(_UINT32),  # BINUNICODE
    b"\x8c": _string(_UINT8),  # SHORT_BINUNICODE
    b"\x8d": _string(_UINT64),  # BINUNICODE8
    b"N": lambda reader: reader.stack.append(None),  # NONE
    b"\x88": lambda reader: reader.stack.append(True),  # NEWTRUE
    b"\x89": lambda reader: reader.stack.append(False),  # NEWFALSE
    b"q": lambda reader: reader.remember(_UINT8(reader)),  # BINPUT
    b"r": lambda reader: reader.remember(_UINT32(reader)),  # LONG_BINPUT
    b"\x94": _Reader.remember_next,  # MEMOIZE
    b"(": _Reader.open_mark,  # MARK
    b"}": lambda reader: reader.push_container({}),  # EMPTY_DICT
    b"]": lambda reader: reader.push_container([]),  # EMPTY_LIST
    b")": lambda reader: reader.stack.append(()),  # EMPTY_TUPLE
    b"t": lambda reader: reader.push_container(tuple(reader.close_mark())),  # TUPLE
    b"\x85": lambda reader: reader.push_tuple(1),  # TUPLE1
    b"\x86": lambda reader: reader.push_tuple(2),  # TUPLE2
    b"\x87": lambda reader: reader.push_tuple(3),  # TUPLE3
    b"a": lambda reader: reader.append(reader.pop_one()),  # APPEND
    b"e": lambda reader: reader.append(reader.close_mark()),  # APPENDS
    b"s": lambda reader: reader.set_items(reader.pop_two()),  # SETITEM
    b"u": lambda reader: reader.set_items(reader.close_mark()),  # SETITEMS
    b"\x95": _UINT64,  # FRAME: only its length is skipped
    b".": _stop,  # STOP
}
_ACTIONS = tuple(_KNOWN.get(bytes([opcode]), _refuse) for opcode in range(256))
