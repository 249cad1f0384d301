# SPDX-License-Identifier: Apache-2.0
"""What an option, an argument and a command are, and how words become their values."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Option(NamedTuple):
    """One option of a command. The parser, the manual and shell completion are made of these."""

    flags: tuple[str, ...]
    help: str
    metavar: str = ""  # of its value; none: a switch
    choices: tuple[str, ...] = ()
    convert: Callable[[str], object] = str  # ValueError says what is wrong with the word
    default: object = None
    repeated: bool = False
    # What the shell offers for the value: "file", "format", "device", or nothing.
    completes: str = ""
    environment: str = ""  # variable that stands for it where CYCLEWATCH=1 starts the watch
    is_last: bool = False  # what follows its value belongs to the program that is run

    @property
    def name(self) -> str:
        """The attribute that the parsed value is found under."""
        return self.flags[-1].lstrip("-").replace("-", "_")


class Argument(NamedTuple):
    """What a command takes beside options; `nargs` as argparse writes it."""

    name: str
    metavar: str
    help: str
    nargs: str | None = None  # None: exactly one
    choices: tuple[str, ...] = ()
    completes: str = "file"  # or "pattern", or nothing


class Command(NamedTuple):
    """One command."""

    name: str
    summary: str
    description: str
    options: tuple[Option, ...] = ()
    arguments: tuple[Argument, ...] = ()
    synopsis: tuple[str, ...] = ()  # where options and arguments alone do not say it

    @property
    def module(self) -> str:
        """The module of ``cyclewatch.cli`` that does it."""
        return f"{self.name}_command"


def byte_count(word: str) -> int:
    """ "64", "64K", "1.5MiB", "2GB": powers of 1024 whatever the spelling."""
    text = word.strip().lower().removesuffix("b").removesuffix("i")
    factor = 1
    if text[-1:] in "kmgt" and text[:-1]:
        factor = 1024 ** ("kmgt".index(text[-1]) + 1)
        text = text[:-1]
    try:
        count = int(float(text) * factor)
    except (ValueError, OverflowError):
        count = -1
    if not 0 <= count < 1 << 64:
        raise ValueError(f"a number of bytes such as 64K or 1.5M, not {word!r}")
    return count


def share(word: str) -> float:
    """A share of wall time: "0.01" or "1%"."""
    try:
        value = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise ValueError(f"a share above 0 and up to 1, such as 0.01 or 1%, not {word!r}")
    return value


def seconds(word: str) -> float:
    """A time span in seconds."""
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0.001 <= value <= 1e9:
        raise ValueError(f"a number of seconds from 0.001 to 1e9, not {word!r}")
    return value


def columns(word: str) -> int:
    """A width that a card can be laid out in."""
    if not word.isdecimal() or not 40 <= int(word) <= 10_000:
        raise ValueError(f"a number of columns from 40 to 10000, not {word!r}")
    return int(word)


def count(word: str) -> int:
    """How many."""
    if not word.isdecimal() or int(word) == 0:
        raise ValueError(f"a whole number above 0, not {word!r}")
    return int(word)


def names(word: str) -> list[str]:
    """Names with commas between them."""
    return [name for name in word.split(",") if name]
