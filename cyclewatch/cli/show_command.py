# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch show``: prints cards."""

from __future__ import annotations

import itertools
import json
import re
import textwrap

import cyclewatch
from cyclewatch.cli import inputs, terminal
from cyclewatch.cli.failures import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_HEADING = re.compile(r"#(\d+)\s")


def main(arguments: argparse.Namespace) -> int:
    """Print the selected cards. Return Status.NO if a signature is not in any of the reports."""
    wanted = set(arguments.signature or ())
    reports = inputs.each_of(arguments.files)
    first = [*itertools.islice(reports, 2)]
    columns = terminal.width(arguments.width)
    for at, each in enumerate(itertools.chain(first, reports)):
        wanted.difference_update(*(finding.signatures for finding in each.report.findings))
        if arguments.json:
            data = json.dumps(_as_data(each, arguments), indent=1)
            terminal.raw(("," if at else "[") + "\n" + textwrap.indent(data, " "))
            continue
        if len(first) > 1:
            terminal.show(f"{'' if at == 0 else chr(10)}== {each.name}", arguments.color)
        terminal.show(_as_text(each.report, arguments, columns), arguments.color)
    if arguments.json:
        terminal.raw("\n]\n")
    if wanted:
        terminal.complain(f"no finding has the signature {', '.join(sorted(wanted))}")
        return Status.NO
    return Status.OK


def _chosen(report: cyclewatch.Report, arguments: argparse.Namespace) -> list[int]:
    """The 1-based positions of the findings to show."""
    ranks = [
        rank
        for rank, finding in enumerate(report.findings, 1)
        if not arguments.signature or not set(arguments.signature).isdisjoint(finding.signatures)
    ]
    return ranks[: arguments.top]


def _as_text(report: cyclewatch.Report, arguments: argparse.Namespace, columns: int) -> str:
    ranks = set(_chosen(report, arguments))
    parts = []
    for part in report.to_text(columns).rstrip("\n").split("\n\n"):
        heading = _HEADING.match(part)
        if heading is None or int(heading[1]) in ranks:
            parts.append(part)
    # Drop headings of sections without cards.
    parts = [
        part
        for part, following in zip(parts, [*parts[1:], ""], strict=True)
        if not part.endswith(":") or _HEADING.match(following)
    ]
    left_out = len(report.findings) - len(ranks)
    if left_out:
        parts.append(f"{left_out} more finding{'s' if left_out > 1 else ''} not shown")
    return "\n\n".join(parts)


def _as_data(each: inputs.Input, arguments: argparse.Namespace) -> dict[str, object]:
    report = json.loads(each.report.to_json())
    ranks = _chosen(each.report, arguments)
    report["findings"] = [report["findings"][rank - 1] for rank in ranks]
    return {"file": each.name, "report": report}
