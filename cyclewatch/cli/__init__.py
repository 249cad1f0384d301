# SPDX-License-Identifier: Apache-2.0
"""The command ``cyclewatch``: one module per command, all described in one table (table.py).

A command's module has ``main(arguments) -> int``, which returns the exit status. It is imported
when it is asked for.
"""

from __future__ import annotations

import importlib
import signal
import sys

from cyclewatch.cli.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from cyclewatch.cli.options import Command


def main(words: list[str] | None = None) -> int:
    """Do what the command line says and return the exit status."""
    # Not before it is needed: CYCLEWATCH=1 has this package imported for its table in any program.
    from cyclewatch.cli import terminal

    try:
        command, arguments = _understand(sys.argv[1:] if words is None else words)
        module = importlib.import_module(f"cyclewatch.cli.{command.module}")
        status: int = module.main(arguments)
        terminal.finish()
        return status
    except Failure as failure:
        terminal.complain(str(failure))
        return failure.status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT  # as a shell reports it


def _understand(words: list[str]) -> tuple[Command, argparse.Namespace]:
    from cyclewatch.cli import terminal
    from cyclewatch.cli.parser import parse

    try:
        return parse(words)
    except SystemExit:  # --help and --version have printed
        terminal.finish()
        raise
