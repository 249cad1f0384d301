# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch attach``: reports on a running process that does not use cyclewatch."""

from __future__ import annotations

from cyclewatch import _native
from cyclewatch.cli import convert_command, outputs, remote_process, terminal
from cyclewatch.cli.failures import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_MAX_LIVE_OWNERS = 100  # groups in the report
_EXAMINATION = "text = native.scan(2, True, devices, None, live_owners).to_json()"


def main(arguments: argparse.Namespace) -> int:
    """Write the report and print its path."""
    output = arguments.output or f"cyclewatch-attach-{arguments.pid}.html"
    to = convert_command.format_or_json(output)
    outputs.refuse_to_replace(output, arguments.force)
    if output != "-":
        outputs.refuse_unwritable(output)
    settings = {"devices": arguments.devices, "live_owners": _MAX_LIVE_OWNERS}
    data = remote_process.examine(
        "attach", arguments.pid, arguments.timeout, _EXAMINATION, settings
    )
    report = _native.load_report(data, f"the report of process {arguments.pid}")
    outputs.write(output, convert_command.rendered(report, to), arguments.force)
    if output != "-":
        terminal.show(output)
    return Status.OK
