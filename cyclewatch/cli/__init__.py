# SPDX-License-Identifier: Apache-2.0
"""The command ``cyclewatch``: one module per command, all described in one table (table.py).

A command's module has ``main(arguments) -> int``, which returns the exit status. It is imported
when it is asked for: ``cyclewatch run`` shares its process with somebody's program and brings
along as little as it can.
"""

from __future__ import annotations

import importlib
import os
import sys

from cyclewatch.cli.failures import Failure, Status
from cyclewatch.cli.parser import parse


def main(words: list[str] | None = None) -> int:
    """Do what the command line says and return the exit status."""
    try:
        command, arguments = parse(sys.argv[1:] if words is None else words)
        status = importlib.import_module(f"cyclewatch.cli.{command.module}").main(arguments)
        sys.stdout.flush()
        return int(status)
    except Failure as failure:
        from cyclewatch.cli import terminal

        terminal.complain(str(failure))
        return failure.status
    except BrokenPipeError:
        # Whoever read our output, such as a pager, has seen enough. Python would complain once
        # more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Status.OK
    except KeyboardInterrupt:
        from cyclewatch import _native

        _native.end_by_interrupt()
