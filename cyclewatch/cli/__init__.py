# SPDX-License-Identifier: Apache-2.0
"""The command ``cyclewatch``: the parser, and one module per command.

A command's module is imported when the command is used. Its function ``main(arguments) -> int``
returns the exit status.
"""

from __future__ import annotations

import importlib
import signal
import sys


def main(words: list[str] | None = None) -> int:
    """Run a command line and return the exit status."""
    # Imported late: autostart.py imports this package for options.py.
    from cyclewatch.cli import terminal
    from cyclewatch.cli.failures import Failure
    from cyclewatch.cli.parser import parse

    try:
        try:
            arguments = parse(sys.argv[1:] if words is None else words)
        except SystemExit:  # --help and --version have printed
            terminal.finish()
            raise
        command = importlib.import_module(f"cyclewatch.cli.{arguments.command}_command")
        status: int = command.main(arguments)
        terminal.finish()
        return status
    except Failure as failure:
        terminal.complain(str(failure))
        return failure.status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT  # the status that a shell reports
