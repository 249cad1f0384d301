# SPDX-License-Identifier: Apache-2.0
"""Validates the arguments of public functions. Does not import the extension."""

from __future__ import annotations

from _operator import index  # `operator` itself takes a millisecond to import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# Which warnings are repeated: only those of new findings, or all.
REPEATS = ("new", "each")


def integer_in(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Validate an integer argument, and convert it to an int.

    Raises:
        TypeError: `value` is not an integer, or it is a bool.
        ValueError: `value` is less than `least` or greater than `most`.
    """
    expected = f"{name} must be an integer from {least}" + ("" if most is None else f" to {most}")
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{expected}, not {value!r}")
    # Integers in the C++ code have 64 bits.
    if not least <= number <= ((1 << 63) - 1 if most is None else most):
        raise ValueError(f"{expected}, not {value!r}")
    return number


def check_boolean(name: str, value: Any) -> None:
    """Raise ValueError unless the argument is a bool."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, not {value!r}")


def names_in(value: str | Iterable[str], argument: str) -> list[str]:
    """Validate a name or an iterable of names."""
    names = [value] if isinstance(value, str) else value
    if isinstance(names, (bytes, bytearray)) or not hasattr(names, "__iter__"):
        raise TypeError(f"{argument} expects a name or a list of names, not {value!r}")
    names = list(names)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{argument} expects names, not {name!r}")
    return names
