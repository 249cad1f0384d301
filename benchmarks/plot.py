# SPDX-License-Identifier: Apache-2.0
"""Lines over time as an SVG, one panel above the other: all that the soak's picture needs."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, PANEL_HEIGHT = 760, 150
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 26, 12
FOOT = 34

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #333 }
.title { font-weight: 600 }
.grid { stroke: #ddd }
.goal { stroke: #c33; stroke-dasharray: 4 3 }
.mark { stroke: #888; stroke-dasharray: 2 3 }
.line { fill: none; stroke: #2563a8; stroke-width: 1.5 }
"""


@dataclass(frozen=True)
class Panel:
    """One line; the scale begins at zero, so that a small change looks small."""

    title: str
    values: Sequence[float]
    goal: float | None = None

    @property
    def top(self) -> float:
        return nice_top(max([*self.values, self.goal or 0.0, 1e-9]))


def nice_top(value: float) -> float:
    """The first of 1, 2, 5, 10, 20, 50 ... that is not below `value`."""
    step = 10.0**-9
    while True:
        for factor in (1, 2, 2.5, 5):
            if step * factor >= value:
                return step * factor
        step *= 10


def label(value: float) -> str:
    return f"{value:,.10g}"


def draw(
    unit: str,
    times: Sequence[float],
    panels: Sequence[Panel],
    mark: float | None = None,
    mark_words: str = "",
) -> str:
    """The picture; `mark` is a moment to be pointed out in every panel."""
    height = len(panels) * PANEL_HEIGHT + FOOT
    end = times[-1]

    def x(time: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * time / end

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' width="{WIDTH}" height="{height}" role="img">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, number * PANEL_HEIGHT, times, x)
    if mark is not None:
        parts += [
            f'<path class="mark" d="M{x(mark):.1f} {TOP}V{height - FOOT}"/>',
            f'<text x="{x(mark) + 4:.1f}" y="{TOP + 12}">{html.escape(mark_words)}</text>',
        ]
    ticks = 6
    for tick in range(ticks + 1):
        time = end * tick / ticks
        parts.append(
            f'<text x="{x(time):.1f}" y="{height - 16}" text-anchor="middle">'
            f"{label(round(time, 1))}</text>"
        )
    parts.append(
        f'<text x="{WIDTH / 2}" y="{height - 2}" text-anchor="middle">{html.escape(unit)}</text>'
    )
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _panel(panel: Panel, offset: float, times: Sequence[float], x) -> list[str]:
    low, high = offset + PANEL_HEIGHT - BOTTOM, offset + TOP
    top = panel.top

    def y(value: float) -> float:
        return low - (low - high) * value / top

    parts = [f'<text class="title" x="{LEFT}" y="{offset + 16}">{html.escape(panel.title)}</text>']
    for share in (0.0, 0.5, 1.0):
        at = y(top * share)
        parts += [
            f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>',
            f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{label(top * share)}</text>',
        ]
    if panel.goal is not None:
        parts.append(f'<path class="goal" d="M{LEFT} {y(panel.goal):.1f}H{WIDTH - RIGHT}"/>')
    points = " ".join(
        f"{x(time):.1f},{y(value):.1f}" for time, value in zip(times, panel.values, strict=True)
    )
    parts.append(f'<polyline class="line" points="{points}"/>')
    return parts
