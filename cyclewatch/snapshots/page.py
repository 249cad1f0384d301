# SPDX-License-Identifier: Apache-2.0
"""Writes the description of snapshots as one HTML page without scripts or network access."""

from __future__ import annotations

import html
import os

from cyclewatch._native import clean_text, format_bytes
from cyclewatch.snapshots import joined
from cyclewatch.snapshots.text import FREED_TITLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_WIDTH, _HEIGHT = 900, 220  # of the chart
_MAX_OWNERS = 5  # of the allocations of one call stack
_STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem}
table{border-collapse:collapse;margin:.5rem 0 1.5rem}
th,td{padding:.15rem .75rem .15rem 0;text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code,pre{font:13px/1.45 ui-monospace,monospace;overflow-wrap:anywhere}
pre{margin:.25rem 0;white-space:pre-wrap}
.bar{display:flex;height:1.5rem;margin:.5rem 0;background:#8883}
.allocated{background:#2a7f8e}.pending{background:#8a63b5}.fragmented{background:#c8553d}
.cached{background:#8f9aa5}.private{background:#b79b4f}
.key{display:inline-block;width:.8rem;height:.8rem;margin:0 .35rem 0 1rem}
.alert{border-left:4px solid #c8553d;padding:.25rem 1rem;margin:1rem 0}
svg{width:100%;height:auto}
.area{fill:#2a7f8e66;stroke:#2a7f8e}.oom{stroke:#c8553d;stroke-width:2}
svg text{font-size:12px;fill:currentColor}
"""
_USES = (
    ("allocated", "allocated"),
    ("pending", "waiting for another stream"),
    ("fragmented", "free in partly used segments"),
    ("cached", "cached whole segments"),
    ("private", "free in private pools"),
)


def page(described: dict[str, Any]) -> str:
    """The page for what :func:`cyclewatch.snapshots.data.describe` returns."""
    snapshots = described["snapshots"]
    title = "Device memory in " + ", ".join(os.path.basename(each["file"]) for each in snapshots)
    parts = [f"<h1>{_text(title)}</h1>"]
    if "owners_from" in described:
        parts.append(f"<p>{_text(joined.sentence(described['owners_from']))}</p>")
    for damage in filter(None, (each["damage"] for each in snapshots)):
        parts.append(f'<p class="alert">{_text(damage)}</p>')
    if "changes" in described:
        parts.append(f"<p>{_text(described['headline'])}</p>")
        parts += ["<h2>Changes, by call stack</h2>", _changes(described["changes"])]
    if "ranks" in described:
        parts += ["<h2>Ranks, most different first</h2>", _ranks(described)]
    for snapshot in reversed(snapshots):
        if len(snapshots) > 1:
            parts.append(f"<h2>{_text(snapshot['file'])}</h2>")
        parts += [_device(device) for device in snapshot["devices"]]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _device(device: dict[str, Any]) -> str:
    usage = device["usage"]
    parts = [f"<h3>{_text(device['headline'])}</h3>", _bar(usage)]
    parts += [_failure(device["failures"][-1], usage)] if device["failures"] else []
    if device["points"]:
        parts += ["<h4>Requested memory in use over the recorded time</h4>", _chart(device)]
    if device["owners"]:
        parts += ["<h4>Owners of the live allocations</h4>", _owners(device, "owners")]
    if device["freed"]:
        parts += [f"<h4>{FREED_TITLE}</h4>", _owners(device, "freed", "was ")]
    if device["allocations"]:
        parts += ["<h4>Largest live allocations</h4>", _allocations(device)]
    if len(device["pools"]) > 1:
        parts += ["<h4>Pools</h4>", _usages(device["pools"], "pool")]
    if usage["cached"] or usage["private"] or usage["fragmented"]:
        parts += ["<h4>Segments by size</h4>", _usages(device["segment_sizes"], "size")]
    return "\n".join(parts)


def _bar(usage: dict[str, int]) -> str:
    total = max(1, usage["reserved"])
    parts = "".join(
        f'<div class="{name}" style="width:{100 * usage[name] / total:.3f}%"></div>'
        for name, _ in _USES
    )
    keys = "".join(
        f'<span class="key {name}"></span>{_size(usage[name])} {words}'
        for name, words in _USES
        if usage[name]
    )
    return f'<div class="bar">{parts}</div><p>{keys}</p>'


def _failure(failure: dict[str, Any], usage: dict[str, int]) -> str:
    free = usage["cached"] + usage["private"] + usage["fragmented"]
    remedy = f": {failure['remedy']}" if failure["remedy"] else ""
    return (
        f'<div class="alert"><b>Out of memory</b>: {_size(failure["requested"])} requested, '
        f"{_size(failure['device_free'])} free on the device, {_size(free)} free in torch's "
        f"segments, largest free block {_size(usage['largest_free'])}<br>"
        f"{_text(failure['reason'] + remedy)}<br>{_stack(failure)}</div>"
    )


def _chart(device: dict[str, Any]) -> str:
    points = device["points"]
    end: float = max(1e-9, points[-1][0], *(each["at"] for each in device["failures"]))
    top = max(1, *(count for _, count in points))

    def x(at: float) -> float:
        return _WIDTH * at / end

    steps = [f"M0,{_HEIGHT}"]
    for at, count in points:
        steps.append(f"H{x(at):.1f}V{_HEIGHT - _HEIGHT * count / top:.1f}")
    steps.append(f"H{_WIDTH}V{_HEIGHT}Z")
    marks = "".join(
        f'<line class="oom" x1="{x(each["at"]):.1f}" x2="{x(each["at"]):.1f}" y1="0" '
        f'y2="{_HEIGHT}"><title>out of memory: {_size(each["requested"])} requested</title></line>'
        for each in device["failures"]
    )
    if marks:
        marks += f'<text x="{_WIDTH}" y="-4" text-anchor="end">red: out of memory</text>'
    unit = "s" if device["time_unit"] == "seconds" else "events"
    return (
        f'<svg viewBox="0 -18 {_WIDTH} {_HEIGHT + 38}" role="img" aria-label="memory over time">'
        f'<path class="area" d="{"".join(steps)}"/>{marks}'
        f'<text x="0" y="-4">peak {_size(device["peak"])}</text>'
        f'<text x="0" y="{_HEIGHT + 15}">0</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT + 15}" text-anchor="end">{end:,.6g} {unit}</text></svg>'
    )


def _owners(device: dict[str, Any], key: str, verb: str = "") -> str:
    rows = [
        [_size(each["bytes"]), f"{each['blocks']:,}", f"{verb}<code>{_text(each['owner'])}</code>"]
        for each in device[key]
    ]
    more = device[f"omitted_{key}"]
    return _table(["bytes", "blocks", "owner"], rows, 2) + (
        f"<p>{more:,} smaller groups are not shown.</p>" if more else ""
    )


def _allocations(device: dict[str, Any]) -> str:
    rows = [
        [
            _size(each["bytes"]),
            f"{each['blocks']:,}",
            _stack(each)
            + "".join(
                f"<div>owner: <code>{_text(owner['owner'])}</code></div>"
                for owner in each["owners"][:_MAX_OWNERS]
            ),
        ]
        for each in device["allocations"]
    ]
    more = device["omitted_allocations"]
    return _table(["bytes", "blocks", "allocated at"], rows, 2) + (
        f"<p>{more:,} smaller groups are not shown.</p>" if more else ""
    )


def _changes(changes: Sequence[dict[str, Any]]) -> str:
    rows = [
        [
            f"{'-' if each['growth'] < 0 else '+'}{_size(abs(each['growth']))}",
            f"{each['blocks_before']:,} → {each['blocks_after']:,}",
            _stack(each),
        ]
        for each in changes
    ]
    return _table(["change", "blocks", "allocated at"], rows, 2)


def _ranks(described: dict[str, Any]) -> str:
    is_pair = len(described["ranks"]) == 2
    key, name = ("other", "the other rank") if is_pair else ("median", "median")
    rows = [
        [
            _size(rank["allocated"]),
            _size(rank["distance"]),
            f"{_text(rank['rank'])}"
            + "".join(
                f"<br>{_size(each['bytes'])}, {name} {_size(each[key])}: {_stack(each)}"
                for each in rank["stacks"]
            ),
        ]
        for rank in described["ranks"]
    ]
    return _table(["allocated", "difference" if is_pair else "from the median", "rank"], rows, 2)


def _usages(usages: Iterable[dict[str, Any]], key: str) -> str:
    columns = (
        *("segments", "reserved", "allocated", "pending", "cached", "private"),
        "fragmented",
        "largest_free",
    )
    rows = [[*(f"{each[name]:,}" for name in columns), _text(str(each[key]))] for each in usages]
    return _table([*(name.replace("_", " ") for name in columns), key], rows, len(columns))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int) -> str:
    """A table; the cells contain HTML, and the first `numbers` columns are numbers."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=n' if at < numbers else ''}>{cell}</{tag}>"
            for at, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><tr>{cells('th', head)}</tr>{body}</table>"


def _stack(each: dict[str, Any]) -> str:
    """The location; the whole stack unfolds."""
    first = f"<code>{_text(each['location'])}</code>"
    if not each["stack"]:
        return first
    lines = "\n".join(f"{path}:{line} in {name}" for path, line, name in each["stack"])
    return f"<details><summary>{first}</summary><pre>{_text(lines)}</pre></details>"


def _size(count: int) -> str:
    return format_bytes(count)


def _text(text: str) -> str:
    """`text` as HTML, without control characters."""
    return "\n".join(html.escape(clean_text(line)) for line in text.split("\n"))
