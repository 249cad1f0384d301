# SPDX-License-Identifier: Apache-2.0
"""Renders a report as a V8 heap snapshot, which the memory panel of Chrome DevTools can load.

Each finding is a child of the root and contains the objects and references of its diagram. Each
tensor has the size of its storage. The format stores nodes and edges in flat arrays, with
seven numbers per node and three per edge. Names are indices into a list of strings.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import cyclewatch

_NODE_FIELDS = ("type", "name", "id", "self_size", "edge_count", "trace_node_id", "detachedness")
_NODE_TYPES = (
    *("hidden", "array", "string", "object", "code", "closure", "regexp", "number", "native"),
    *("synthetic", "concatenated string", "sliced string", "symbol", "bigint", "object shape"),
)
_EDGE_FIELDS = ("type", "name_or_index", "to_node")
_EDGE_TYPES = ("context", "element", "property", "internal", "hidden", "shortcut", "weak")
_MAX_SIZE = (1 << 32) - 1  # DevTools stores sizes in 32 bits
# Reports contain only the sizes of storages. DevTools hides objects of size 0 and all objects that
# they retain.
_UNKNOWN_SIZE = 1


def render(report: cyclewatch.Report) -> str:
    """The report as a heap snapshot."""
    graph = _Graph()
    root = graph.add_node("synthetic", "")
    for finding in json.loads(report.to_json())["findings"]:
        top = graph.add_node("synthetic", f"{finding['signature']} {finding['title']}")
        graph.add_edge("element", len(graph.edges[root]) + 1, root, top)
        _add_picture(graph, top, finding["picture"])
    return graph.as_json()


def _add_picture(graph: _Graph, top: int, picture: dict[str, Any]) -> None:
    nodes = []
    for item in picture["items"]:
        size = item["bytes"] if item["owner"] else _UNKNOWN_SIZE
        kind = "native" if item["owner"] else "object"
        node = graph.add_node(kind, _name_of(item), size)
        nodes.append(node)
        if item["on_cycle"]:
            graph.add_edge("property", item["text"], top, node)
        # A larger storage is split into several nodes.
        for part in range(1, -(-size // _MAX_SIZE)):
            rest = graph.add_node("native", "rest of the storage", size - part * _MAX_SIZE)
            graph.add_edge("element", part, node, rest)
    for arrow in picture["arrows"]:
        label = f"{arrow['label']} (cut)" if arrow["cut"] else arrow["label"]
        graph.add_edge("property", label, nodes[arrow["from"]], nodes[arrow["to"]])


def _name_of(item: dict[str, Any]) -> str:
    # DevTools groups objects by name.
    text, detail = item["text"], item["detail"]
    return f"{text} ({detail})" if detail not in ("", text) else text


class _Graph:
    def __init__(self) -> None:
        self.nodes: list[tuple[str, str, int]] = []
        self.edges: list[list[tuple[str, str | int, int]]] = []

    def add_node(self, kind: str, name: str, size: int = 0) -> int:
        self.nodes.append((kind, name, min(size, _MAX_SIZE)))
        self.edges.append([])
        return len(self.nodes) - 1

    def add_edge(self, kind: str, name: str | int, source: int, target: int) -> None:
        self.edges[source].append((kind, name, target))

    def as_json(self) -> str:
        strings: dict[str, int] = {}

        def position(text: str) -> int:
            return strings.setdefault(text, len(strings))

        nodes: list[int] = []
        edges: list[int] = []
        for number, (kind, name, size) in enumerate(self.nodes):
            # V8 gives heap objects odd ids.
            nodes += [_NODE_TYPES.index(kind), position(name), 2 * number + 1, size]
            nodes += [len(self.edges[number]), 0, 0]
            for edge_kind, label, target in self.edges[number]:
                edges.append(_EDGE_TYPES.index(edge_kind))
                edges.append(label if isinstance(label, int) else position(label))
                edges.append(target * len(_NODE_FIELDS))
        return json.dumps(
            {
                "snapshot": {
                    "meta": _META,
                    "node_count": len(self.nodes),
                    "edge_count": len(edges) // len(_EDGE_FIELDS),
                    "trace_function_count": 0,
                },
                "nodes": nodes,
                "edges": edges,
                "trace_function_infos": [],
                "trace_tree": [],
                "samples": [],
                "locations": [],
                "strings": list(strings),
            },
            separators=(",", ":"),
        )


_META = {
    "node_fields": _NODE_FIELDS,
    "node_types": [_NODE_TYPES, "string", *["number"] * 5],
    "edge_fields": _EDGE_FIELDS,
    "edge_types": [_EDGE_TYPES, "string_or_number", "node"],
    "trace_function_info_fields": (
        *("function_id", "name", "script_name", "script_id", "line", "column"),
    ),
    "trace_node_fields": ["id", "function_info_index", "count", "size", "children"],
    "sample_fields": ["timestamp_us", "last_assigned_id"],
    "location_fields": ["object_index", "script_id", "line", "column"],
}
