# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch attach``: a report of a running process that does not use cyclewatch."""

from __future__ import annotations

from cyclewatch import _native
from cyclewatch.cli import attaching, convert_command, outputs, terminal
from cyclewatch.cli.failures import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def main(arguments: argparse.Namespace) -> int:
    """Write the report and print its path."""
    output = arguments.output or f"cyclewatch-attach-{arguments.pid}.html"
    to = convert_command.format_or_json(output)
    outputs.refuse_to_replace(output, arguments.force)
    if output != "-":
        outputs.refuse_unwritable(output)
    data = attaching.examine(arguments.pid, arguments.devices, arguments.timeout)
    report = _native.load_report(data, f"the report of process {arguments.pid}")
    outputs.write(output, convert_command.rendered(report, to), arguments.force)
    if output != "-":
        terminal.show(output)
    return Status.OK
