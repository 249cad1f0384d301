# SPDX-License-Identifier: Apache-2.0
"""Draws docs/images/canary.svg, the picture in docs/guide/how-it-works.md.

scripts/draw_canary.py writes the file; tests/unit/test_doc_examples.py compares it with the script.
"""

from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "canary.svg"

# The background makes the picture readable on a page of the other color scheme.
STYLE = """
svg { --ink: #1f2328; --muted: #59636e; --line: #818b98; --back: #ffffff; --box: #f1f3f5;
  --canary: #fff0b3; --owner: #d7ebff; --cycle: #c62828; --own: #0a7a3d }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e6edf3; --muted: #9da7b1; --line: #6e7681; --back: #161b22; --box: #262c34;
    --canary: #5c4a00; --owner: #123a5e; --cycle: #ff7b72; --own: #56d364 } }
text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: var(--ink); text-anchor: middle }
.small { font-size: 12px; fill: var(--muted) } .own { fill: var(--own) }
.left { text-anchor: start } .title { font-weight: 600 }
.page { fill: var(--back) } .box { fill: var(--box); stroke: var(--line) }
.canary { fill: var(--canary) } .owner { fill: var(--owner) }
.line { fill: none; stroke: var(--line); marker-end: url(#line) }
.both { marker-start: url(#line) }
.cycle { fill: none; stroke: var(--cycle); stroke-width: 2; marker-end: url(#cycle) }
.reads { fill: none; stroke: var(--own); stroke-width: 2; marker-end: url(#own) }
"""

PHASES = [
    ("gc callback", "“start”"),
    ("find unreachable", "objects"),
    ("weakref", "callbacks"),
    ("finalizers", "__del__"),
    ("free", "tp_clear"),
    ("gc callback", "“stop”"),
]
# The column of a phase, and what cyclewatch does in that phase.
OWN_STEPS = {
    0: ("tracks the canary,", "with a weak reference"),
    2: ("walks the list: all objects", "are intact"),
    5: ("checks which tensors", "were freed; reports"),
}
OBJECTS = [
    ("list head", ""),
    ("canary", "canary"),
    ("Trainer", ""),
    ("bound method", ""),
    ("Tensor", "owner"),
]


def text(x, y, words, style=""):
    """One line of text, centered at `x`."""
    return f'<text x="{x}" y="{y}" class="{style}">{escape(words)}</text>'


def box(x, y, width, height, style=""):
    """A rounded rectangle around the point `x`, `y`."""
    corner = f'x="{x - width // 2}" y="{y - height // 2}"'
    return f'<rect {corner} width="{width}" height="{height}" rx="6" class="box {style}"/>'


def path(drawing, style):
    """A line with an arrowhead."""
    return f'<path d="{drawing}" class="{style}"/>'


def arrowhead(name, color):
    """An SVG marker for the end of a line."""
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" '
        f'markerHeight="9" markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
        f'<path d="M0 0L10 5L0 10z" style="fill: var({color})"/></marker>'
    )


def timeline():
    """The phases of a collection, with cyclewatch's actions below them."""
    yield text(20, 30, "One garbage collection", "left title")
    for column, lines in enumerate(PHASES):
        x = 80 + 136 * column
        yield box(x, 66, 118, 44)
        yield text(x, 62, lines[0])
        yield text(x, 79, lines[1])
        if column:
            yield path(f"M{x - 76} 66H{x - 60}", "line")
        for row, line in enumerate(OWN_STEPS.get(column, ())):
            yield text(x, 108 + 16 * row, line, "small own")
    yield path("M352 132C352 180 322 186 302 219", "reads")


def unreachable_list():
    """The collector's list of unreachable objects, with the references between them."""
    yield text(20, 172, "The list of unreachable objects", "left title")
    for column, (name, style) in enumerate(OBJECTS):
        x = 80 + 170 * column
        yield box(x, 240, 118, 36, style)
        yield text(x, 245, name)
        if column:
            yield path(f"M{x - 109} 240H{x - 61}", "line both")
    yield path("M760 260C760 330 80 330 80 261", "line both")
    words = "doubly linked: from the canary, every unreachable object is reached"
    yield text(420, 329, words, "small")
    yield path("M215 221C200 190 285 190 275 221", "line")
    yield text(250, 282, "refers only to itself", "small")
    yield path("M440 221C450 196 570 196 580 220", "cycle")
    yield path("M580 259C570 284 450 284 440 260", "cycle")
    yield text(510, 195, ".hook", "small")
    yield text(510, 292, "__self__", "small")
    yield path("M400 221C410 166 740 166 752 220", "line")
    yield text(660, 176, ".batch", "small")


def picture():
    """The whole picture."""
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 840 350" width="840" height="350" '
        'role="img">',
        "<title>How cyclewatch sees the objects that a collection is about to free</title>",
        f"<style>{STYLE}</style>",
        "<defs>",
        arrowhead("line", "--line"),
        arrowhead("cycle", "--cycle"),
        arrowhead("own", "--own"),
        "</defs>",
        '<rect width="840" height="350" rx="8" class="page"/>',
        *timeline(),
        *unreachable_list(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
