# SPDX-License-Identifier: Apache-2.0
"""Adds the settings of one place to an argument parser."""

from __future__ import annotations

import argparse

from cyclewatch.settings.table import settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cyclewatch.settings.kinds import Kind


def add_settings(parser: argparse.ArgumentParser, place: str) -> None:
    """Add an option for each setting that applies in `place`."""
    for setting in settings_of(place):
        flags = [each for each in (setting.short, setting.option(place)) if each]
        help = setting.help.replace("%", "%%")
        unit = setting.unit(place)
        if unit:
            kind = value_of(setting.kind(place))
            parser.add_argument(*flags, type=kind, default=setting.default, metavar=unit, help=help)
        else:
            parser.add_argument(*flags, action="store_true", help=help)


def value_of(kind: Kind) -> Callable[[str], object]:
    """The converter of `kind` for argparse, which hides the text of a ValueError."""

    def convert(word: str) -> object:
        try:
            return kind.read(word)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert
