# SPDX-License-Identifier: Apache-2.0
"""Writes a graph of named references as an HTML page with diagrams."""

from __future__ import annotations

import graphlib
import html

from cyclewatch import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cyclewatch.compat.torch_cycles import Node

_MOST_OBJECTS = 40  # in one diagram
_MOST_DIAGRAMS = 50

_STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem}
figure{margin:0 0 2.5rem;overflow:auto}
figcaption{margin-bottom:.5rem}
pre{overflow:auto;font-size:12px}
"""


def page(nodes: list[Node]) -> str:
    """The page; groups of connected objects are drawn separately, and equal groups only once."""
    groups: dict[object, list[list[int]]] = {}
    for members in _connected(nodes):
        groups.setdefault(_shape(nodes, members), []).append(members)
    figures = [_figure(nodes, equal) for equal in list(groups.values())[:_MOST_DIAGRAMS]]
    if len(groups) > _MOST_DIAGRAMS:
        figures.append(f"<p>{len(groups) - _MOST_DIAGRAMS} more groups are not drawn.</p>")
    title = "Objects that keep tensors alive"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{title}</h1>\n{''.join(figures)}</body></html>\n"
    )


def _connected(nodes: list[Node]) -> list[list[int]]:
    neighbours: list[list[int]] = [[] for _ in nodes]
    for at, node in enumerate(nodes):
        for _, to in node.referrents:
            neighbours[at].append(to)
            neighbours[to].append(at)
    groups, seen = [], set()
    for start in range(len(nodes)):
        if start in seen:
            continue
        seen.add(start)
        group = [start]  # grows while it is read
        for at in group:
            fresh = [each for each in dict.fromkeys(neighbours[at]) if each not in seen]
            seen.update(fresh)
            group += fresh
        groups.append(group)
    return groups


def _shape(nodes: list[Node], members: list[int]) -> object:
    positions = {at: position for position, at in enumerate(members)}
    return tuple(
        (
            nodes[at].label,
            nodes[at].context,
            nodes[at].root,
            tuple((name, positions[to]) for name, to in nodes[at].referrents),
        )
        for at in members
    )


def _figure(nodes: list[Node], equal: list[list[int]]) -> str:
    members = equal[0]
    clean = _native.clean_text  # names may contain surrogates
    ring, shown = _selection(nodes, members)
    positions = {at: position for position, at in enumerate(shown)}
    steps = set(zip(ring, [*ring[1:], *ring[:1]], strict=True))
    items = [
        (
            clean(nodes[at].label.replace("\n", " ")),
            clean(nodes[at].context or ""),
            at in ring,
            nodes[at].root,
        )
        for at in shown
    ]
    arrows = [
        (positions[at], positions[to], clean(name), (at, to) in steps)
        for at in shown
        for name, to in nodes[at].referrents
        if to in positions
    ]
    svg = _native.draw_graph(items, arrows, len(members) - len(shown))
    count = f"{len(equal)} groups" if len(equal) > 1 else "1 group"
    stacks = "".join(
        f"<details><summary>{html.escape(clean(nodes[at].label))} was allocated at</summary>"
        f"<pre>{_lines(nodes[at].context or '')}</pre></details>"
        for at in shown
        if nodes[at].context
    )
    size = len(members)
    caption = f"{count} of {size} object{'s' if size > 1 else ''}"
    return f"<figure><figcaption>{caption}</figcaption>\n{svg}{stacks}</figure>\n"


def _lines(text: str) -> str:
    return "\n".join(html.escape(_native.clean_text(line)) for line in text.splitlines())


def _selection(nodes: list[Node], members: list[int]) -> tuple[list[int], list[int]]:
    """A cycle, and the objects to draw: the cycle and shortest paths to tensors, if they fit."""
    if len(members) <= _MOST_OBJECTS:
        ring = _cycle(nodes, set(members))
        return ring, [*ring, *(at for at in members if at not in ring)]
    ring = _any_cycle(nodes, members)[:_MOST_OBJECTS]
    held = {to for at in members for _, to in nodes[at].referrents}
    came_from: dict[int, int | None] = dict.fromkeys(
        ring or [at for at in members if at not in held] or members[:1]
    )
    shown = dict.fromkeys(ring)
    for at in (reached := list(came_from)):  # grows while it is read
        path = []
        step: int | None = at
        while nodes[at].root and step is not None and step not in shown:
            path.append(step)
            step = came_from[step]
        if len(shown) + len(path) <= _MOST_OBJECTS:
            shown.update(dict.fromkeys(reversed(path)))
        fresh = [to for _, to in nodes[at].referrents if to not in came_from]
        came_from.update(dict.fromkeys(fresh, at))
        reached += dict.fromkeys(fresh)
    return ring, list(shown)


def _any_cycle(nodes: list[Node], members: list[int]) -> list[int]:
    """A cycle through one object that is on a cycle, in order; empty if there is none."""
    sorter = graphlib.TopologicalSorter(
        {at: [to for _, to in nodes[at].referrents if to != at] for at in members}
    )
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        return _cycle(nodes, set(members), error.args[1][:1])
    return []


def _cycle(nodes: list[Node], members: set[int], starts: list[int] | None = None) -> list[int]:
    """The shortest cycle through one of `starts`, in order; empty if there is none."""
    best: list[int] = []
    for start in members if starts is None else starts:
        came_from: dict[int, int] = {}
        reached = [start]  # grows while it is read
        for at in reached:
            for _, to in nodes[at].referrents:
                if to in members and to not in came_from:
                    came_from[to] = at
                    reached.append(to)
            if start in came_from:
                break
        if start in came_from:
            path = [came_from[start]]
            while path[-1] != start:
                path.append(came_from[path[-1]])
            if not best or len(path) < len(best):
                best = path[::-1]
    return best
