# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch run``: replaces this process with python, in which autostart.py starts the watch."""

from __future__ import annotations

import json
import os
import sys

from cyclewatch.autostart import RUN_VARIABLE, script_name
from cyclewatch.cli import outputs
from cyclewatch.cli.failures import Failure, Status
from cyclewatch.process_watch import named_reports, report_file
from cyclewatch.settings.table import RUN, settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import NoReturn


def main(arguments: argparse.Namespace) -> NoReturn:
    """Replace this process. Does not return."""
    settings = {each.name: getattr(arguments, each.name) for each in settings_of(RUN)}
    words: list[str] = arguments.program
    first = words[0][:2] if words[0].startswith(("-m", "-c")) else words[0]
    script = script_name(first, words).removesuffix(".py")
    try:
        for path in named_reports(settings, script).values():
            outputs.refuse_to_replace(path, arguments.force)
        if arguments.output:
            outputs.refuse_unwritable(report_file(settings, script))
    except ValueError as error:
        raise Failure(str(error), Status.USAGE) from None
    if not hasattr(sys, "_cyclewatch_autostart"):
        raise Failure(
            "python did not load cyclewatch-autostart.pth, which starts the watch; install "
            "cyclewatch with pip and run python without -S",
        )
    os.environ[RUN_VARIABLE] = json.dumps([os.getpid(), settings])
    os.execv(sys.executable, [sys.executable, *_interpreter_options(), *words])


def _interpreter_options() -> list[str]:
    """The options for python: all arguments before the script, -m or -c."""
    options = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv)]
    # "-m" may be combined with other letters: python -Im cyclewatch.
    if options and options[-1][0] == "-" and options[-1][1] not in "WX" and options[-1][-1] in "mc":
        options[-1] = options[-1][:-1]
    return [option for option in options if option != "-"]
