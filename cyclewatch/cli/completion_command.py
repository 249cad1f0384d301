# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch completion``: prints the completion script that shtab generates."""

from __future__ import annotations

from cyclewatch.cli import parser, terminal
from cyclewatch.cli.failures import Failure, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_FILES = ("AFTER", "BEFORE", "FILE", "PATH", "PROGRAM")  # arguments completed with files


def main(arguments: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab
    except ImportError:
        raise Failure("completion needs shtab: pip install shtab") from None
    if arguments.shell not in shtab.SUPPORTED_SHELLS:
        known = ", ".join(shtab.SUPPORTED_SHELLS)
        raise Failure(
            f"no completion for {arguments.shell}; supported shells: {known}", Status.USAGE
        )
    root = parser.make_parser()
    for command in parser.commands(root).values():
        for action in command._actions:
            if action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    terminal.raw(shtab.complete(root, arguments.shell) + "\n")
    return Status.OK
