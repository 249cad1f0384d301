# SPDX-License-Identifier: Apache-2.0
"""The command ``cyclewatch``: one module per command, all described in one table (table.py).

A command's module has ``main(arguments) -> int``, which returns the exit status. It is imported
when it is asked for: ``cyclewatch run`` shares its process with somebody's program and brings
along as little as it can.
"""

from __future__ import annotations

from cyclewatch.cli import startup as startup

# isort: split
import importlib
import sys

from cyclewatch.cli.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from cyclewatch.cli.options import Command


def main(words: list[str] | None = None) -> int | None:
    """Do what the command line says and return the exit status.

    None where the interpreter's prompt is to follow the program that was run.
    """
    # Not before it is needed: CYCLEWATCH=1 has this package imported for its table in any program.
    from cyclewatch.cli import terminal

    try:
        command, arguments = _understand(sys.argv[1:] if words is None else words)
        module = importlib.import_module(f"cyclewatch.cli.{command.module}")
        status: int | None = module.main(arguments)
        if command.name != "run":  # what that printed is the program's, and the interpreter's
            terminal.finish()
        return status
    except Failure as failure:
        terminal.complain(str(failure))
        return failure.status
    except KeyboardInterrupt:
        from cyclewatch import _native

        _native.end_by_interrupt()


def _understand(words: list[str]) -> tuple[Command, argparse.Namespace]:
    from cyclewatch.cli import terminal
    from cyclewatch.cli.parser import parse

    try:
        return parse(words)
    except SystemExit:  # --help and --version have printed
        terminal.finish()
        raise
