# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch merge``: merges reports."""

from __future__ import annotations

from cyclewatch.cli import convert_command, inputs, outputs, terminal
from cyclewatch.cli.failures import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_MOST_REPORTS = 1000  # the largest job for which the time and memory of a merged page are measured


def main(arguments: argparse.Namespace) -> int:
    """Write the merged report."""
    to = convert_command.format_or_json(arguments.output)
    outputs.refuse_to_replace(arguments.output or "-", arguments.force)
    report, names = inputs.load_job(arguments.files)
    if len(names) > _MOST_REPORTS:
        terminal.note(
            f"merged {len(names):,} reports; to compare many jobs, append each of them to a "
            "dataset with cyclewatch convert --to parquet"
        )
    outputs.write(arguments.output or "-", convert_command.rendered(report, to), arguments.force)
    return Status.OK
