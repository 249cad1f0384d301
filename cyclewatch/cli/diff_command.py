# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch diff``: compares two runs."""

from __future__ import annotations

import json

from cyclewatch import _native
from cyclewatch.cli import comparison, inputs, terminal
from cyclewatch.cli.failures import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from cyclewatch.cli.comparison import Change


def main(arguments: argparse.Namespace) -> int:
    """Print the changes. With --fail, return Status.NO if a finding is new or has grown."""
    before, after = inputs.load_pair(arguments.before, arguments.after)
    if arguments.fail:
        comparison.require_examined(after, arguments.after)
    changes = comparison.compare(before, after)
    by_kind = {kind: [each for each in changes if each.kind == kind] for kind in comparison.KINDS}
    if arguments.json:
        data = {kind: [each._asdict() for each in found] for kind, found in by_kind.items()}
        terminal.raw(json.dumps(data, indent=1) + "\n")
    else:
        terminal.show(_table(by_kind))
    worse = by_kind["new"] or by_kind["grown"]
    return Status.NO if arguments.fail and worse else Status.OK


def _table(by_kind: dict[str, list[Change]]) -> str:
    lines = [", ".join(f"{len(found)} {kind}" for kind, found in by_kind.items())]
    for kind, found in by_kind.items():
        if kind == "same":
            continue
        for each in found:
            lines += [
                "",
                f"{kind:<7}{_amount(each.bytes_before, each.count_before)} -> "
                f"{_amount(each.bytes_after, each.count_after)}   {each.signature}",
                f"       {each.title}",
            ]
    return "\n".join(lines)


def _amount(size: int, count: int) -> str:
    if count == 0:
        return "nothing"
    return f"{_native.format_bytes(size)} in {count} cycle{'s' if count > 1 else ''}"
