# SPDX-License-Identifier: Apache-2.0
"""Parses option values, and defines the settings of ``cyclewatch run``."""

from __future__ import annotations

from cyclewatch.arguments import REPEATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CONVERSIONS = ("text", "json", "dot", "svg", "png", "pdf", "html")


def byte_count(word: str) -> int:
    """Parse a size such as "64", "64K", "1.5MiB" or "2GB"; all units are powers of 1024."""
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
    """Parse a share of wall time, such as "0.01" or "1%"."""
    try:
        value = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise ValueError(f"a share above 0 and at most 1, such as 0.01 or 1%, not {word!r}")
    return value


def seconds(word: str) -> float:
    """Parse a number of seconds."""
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0.001 <= value <= 1e9:
        raise ValueError(f"a number of seconds from 0.001 to 1e9, not {word!r}")
    return value


def seconds_or_never(word: str) -> float:
    """Parse a number of seconds; 0 means never."""
    try:
        return 0.0 if float(word) == 0 else seconds(word)
    except ValueError:
        raise ValueError(f"0 or a number of seconds from 0.001 to 1e9, not {word!r}") from None


def columns(word: str) -> int:
    """Parse a number of columns."""
    if not word.isdecimal() or not 40 <= int(word) <= 10_000:
        raise ValueError(f"a number of columns from 40 to 10000, not {word!r}")
    return int(word)


def count(word: str) -> int:
    """Parse a positive integer."""
    if not word.isdecimal() or int(word) == 0:
        raise ValueError(f"a positive integer, not {word!r}")
    return int(word)


def step_range(word: str) -> list[int]:
    """Parse a first and a last step, such as "10:15"."""
    first, colon, last = word.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise ValueError(f"the first and the last step, such as 10:15, not {word!r}")
    return [int(first), int(last)]


def repeat(word: str) -> str:
    """Parse which warnings are repeated."""
    if word not in REPEATS:
        raise ValueError(f"{' or '.join(REPEATS)}, not {word!r}")
    return word


def names(word: str) -> list[str]:
    """Parse a comma-separated list."""
    return [name for name in word.split(",") if name]


# The settings of the process watch: converter (None for a boolean) and default. A converter raises
# ValueError with a description of valid values. For example, "min_bytes" is set by --min-bytes of
# ``cyclewatch run`` or by the environment variable CYCLEWATCH_MIN_BYTES.
WATCH_SETTINGS: dict[str, tuple[Callable[[str], object] | None, object]] = {
    "devices": (names, ["auto"]),
    "output": (str, None),
    "format": (names, None),
    "min_bytes": (byte_count, 0),
    "budget": (share, 0.01),
    "no_source": (None, False),
    "fail": (None, False),
    "collect_every": (seconds, None),
    "scan_every": (seconds_or_never, None),
    "census_every": (seconds, None),
    "steps": (step_range, None),
    "repeat": (repeat, "new"),
    "record_history": (count, 0),
    "snapshot": (None, False),
    "collect_at_exit": (None, False),
    "no_exit_scan": (None, False),
    "follow_fork": (None, False),
    "no_oom": (None, False),
    "warn": (None, False),
    "force": (None, False),
    "quiet": (None, False),
}


def variable(setting: str) -> str:
    """The name of the environment variable for a setting."""
    return f"CYCLEWATCH_{setting.upper()}"
