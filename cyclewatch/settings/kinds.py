# SPDX-License-Identifier: Apache-2.0
"""The kinds of values that settings have, and how each is written as text."""

from __future__ import annotations

# Importing typing would take longer than importing this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_YES = ("1", "true", "yes", "on")
_NO = ("", "0", "false", "no", "off")


class Kind:
    """A kind of values.

    Attributes:
        unit: Stands for the value in help texts; "" for a switch.
        expects: Describes the valid values in error messages.
    """

    __slots__ = ("_convert", "expects", "unit")

    def __init__(self, unit: str, expects: str, convert: Callable[[str], object]) -> None:
        """`convert` raises ValueError or OverflowError for an invalid word."""
        self.unit = unit
        self.expects = expects
        self._convert = convert

    def read(self, word: str) -> object:
        """Convert a word. Raises ValueError with a sentence for the user."""
        try:
            return self._convert(word)
        except (ValueError, OverflowError):
            raise ValueError(f"expects {self.expects}, not {word!r}") from None


def is_yes(word: str) -> bool:
    """Whether `word` switches a setting on."""
    return word.lower() in _YES


def is_share(value: float) -> bool:
    """Whether `value` is a share of wall time."""
    return 0 < value <= 1


def one_of(*words: str) -> Kind:
    """A choice of words."""
    listed = f"{', '.join(words[:-1])} or {words[-1]}"
    return Kind("|".join(words), listed, lambda word: words[words.index(word)])


def _switch(word: str) -> bool:
    if word.lower() not in _YES + _NO:
        raise ValueError
    return is_yes(word)


def _byte_count(word: str) -> int:
    # All units are powers of 1024.
    text = word.strip().lower().removesuffix("b").removesuffix("i")
    factor = 1
    if text[-1:] in "kmgt" and text[:-1]:
        factor = 1024 ** ("kmgt".index(text[-1]) + 1)
        text = text[:-1]
    count = int(float(text) * factor)
    if not 0 <= count < 1 << 64:
        raise ValueError
    return count


def _decimal_byte_count(word: str) -> int:
    import re

    units = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
    units |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", word)
    if found is None or found[2].upper() not in units:
        raise ValueError
    return int(float(found[1]) * units[found[2].upper()])


def _share(word: str) -> float:
    value = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
    if not is_share(value):
        raise ValueError
    return value


def _seconds(word: str) -> float:
    value = float(word)
    if not 0.001 <= value <= 1e9:
        raise ValueError
    return value


def _columns(word: str) -> int:
    if not word.isdecimal() or not 40 <= int(word) <= 10_000:
        raise ValueError
    return int(word)


def _count(word: str) -> int:
    if not word.strip().isdecimal() or int(word) == 0:
        raise ValueError
    return int(word)


def _steps(word: str) -> list[int]:
    first, colon, last = word.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise ValueError
    return [int(first), int(last)]


def _names(word: str) -> list[str]:
    return word.replace(",", " ").split()


def _path(word: str) -> str:
    if not word:
        raise ValueError
    return word


SWITCH = Kind("", "1 or 0, or true or false", _switch)
TEXT = Kind("TEXT", "text", str)
PATH = Kind("PATH", "a path", _path)
NAMES = Kind("NAMES", "a comma-separated list of names", _names)
BYTES = Kind("BYTES", "a number of bytes such as 64K or 1.5M", _byte_count)
# In pytest's options, KB and MB are powers of 1000.
DECIMAL_BYTES = Kind("SIZE", "a size such as 4096, 64 KiB or 1 MB", _decimal_byte_count)
SHARE = Kind("SHARE", "a share above 0 and at most 1, such as 0.01 or 1%", _share)
SECONDS = Kind("SECONDS", "a number of seconds from 0.001 to 1e9", _seconds)
SECONDS_OR_NEVER = Kind(
    "SECONDS",
    "0 or a number of seconds from 0.001 to 1e9",
    lambda word: 0.0 if float(word) == 0 else _seconds(word),
)
COUNT = Kind("N", "a positive integer", _count)
COLUMNS = Kind("COLUMNS", "a number of columns from 40 to 10000", _columns)
STEPS = Kind("FIRST:LAST", "the first and the last step, such as 10:15", _steps)
