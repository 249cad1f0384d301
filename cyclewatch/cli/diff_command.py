# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch diff``: compares two runs."""

from __future__ import annotations

import json

from cyclewatch import _native
from cyclewatch.cli import comparison, inputs, memory_comparison, terminal
from cyclewatch.cli.failures import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from cyclewatch.cli.comparison import Change
    from cyclewatch.cli.memory_comparison import AccountChange
    from cyclewatch.heap.live_census import Growth

_MAX_GROWTHS = 20  # groups that are printed


def main(arguments: argparse.Namespace) -> int:
    """Print the changes. With --fail, return Status.NO if a finding is new or has grown."""
    before, after = inputs.load_pair(arguments.before, arguments.after)
    if arguments.fail:
        comparison.require_examined(after, arguments.after)
    changes = comparison.compare(before, after)
    growths = comparison.live_growths(before, after)
    accounts = memory_comparison.compare(before, after)
    by_kind = {kind: [each for each in changes if each.kind == kind] for kind in comparison.KINDS}
    if arguments.json:
        data: dict[str, list[dict[str, object]]] = {
            kind: [each._asdict() for each in found] for kind, found in by_kind.items()
        }
        data["live"] = [_as_data(growth) for growth in growths]
        data["memory"] = [_account_data(account) for account in accounts]
        terminal.raw(json.dumps(data, indent=1) + "\n")
    else:
        has_census = comparison.lists_live_tensors(before) and comparison.lists_live_tensors(after)
        terminal.show(_table(by_kind) if changes else _without_findings(growths, has_census))
        if growths:
            terminal.show("\n".join(["", "Live tensors that have grown:", *_live_lines(growths)]))
        for account in accounts:
            terminal.show(f"\n{account}")
    worse = by_kind["new"] or by_kind["grown"]
    return Status.NO if arguments.fail and worse else Status.OK


def _without_findings(growths: list[Growth], has_census: bool) -> str:
    """The first line if neither report has findings."""
    if not has_census:
        return "No findings in either report."
    if not growths:
        return "No live tensors have grown; no findings in either report."
    size = _native.format_bytes(sum(each.nbytes for each in growths))
    groups = f"{len(growths)} group{'s' * (len(growths) != 1)}"
    return f"Live tensors: +{size} in {groups}; no findings in either report."


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


def _live_lines(growths: list[Growth]) -> list[str]:
    lines = [f"  {growth}" for growth in growths[:_MAX_GROWTHS]]
    if len(growths) > _MAX_GROWTHS:
        lines.append(f"  and {len(growths) - _MAX_GROWTHS} more groups")
    return lines


def _as_data(growth: Growth) -> dict[str, object]:
    owner = growth.owner
    return {
        "bytes": growth.nbytes,
        "count": growth.count,
        "type": owner.type,
        "device": owner.device,
        "held_by": [str(path) for path in owner.held_by],
    }


def _account_data(account: AccountChange) -> dict[str, object]:
    rows = [dict(zip(("use", "before", "after"), row, strict=True)) for row in account.rows]
    return {**account._asdict(), "rows": rows}


def _amount(size: int, count: int) -> str:
    if count == 0:
        return "nothing"
    return f"{_native.format_bytes(size)} in {count} cycle{'s' if count > 1 else ''}"
