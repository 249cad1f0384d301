# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch merge``: merges reports."""

from __future__ import annotations

from cyclewatch.cli import convert_command, inputs, outputs
from cyclewatch.cli.failures import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def main(arguments: argparse.Namespace) -> int:
    """Write the merged report."""
    to = convert_command.format_or_json(arguments.output)
    outputs.refuse_to_replace(arguments.output or "-", arguments.force)
    report = inputs.merged(inputs.load(arguments.files))
    outputs.write(arguments.output or "-", convert_command.rendered(report, to), arguments.force)
    return Status.OK
