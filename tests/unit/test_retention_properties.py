# SPDX-License-Identifier: Apache-2.0
"""why_alive() on random object graphs, compared with the observable effect of each cut."""

import gc
import sys
import types
import weakref
from collections import deque

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cyclewatch

NODES = 9
MODULES = ["random_even", "random_odd"]


class Node:
    """Refers to other nodes through attributes and through items of a list and a dict."""

    def __init__(self, number):
        self.number = number
        self.items = []
        self.entries = {}


# Each node has its own type, so that no two references of a path have the same text.
TYPES = [type(f"Node{number}", (Node,), {}) for number in range(NODES)]


class Graph:
    """A graph of nodes. Attributes of two modules refer only to the nodes in `roots`."""

    def __init__(self, edges, roots):
        self.edges = list(dict.fromkeys(edges))
        self.roots = dict.fromkeys(roots)
        self.modules = {name: types.ModuleType(name) for name in MODULES}
        nodes = [each(number) for number, each in enumerate(TYPES)]
        for source, kind, target in self.edges:
            if kind == "attribute":
                setattr(nodes[source], f"to_{target}", nodes[target])
            elif kind == "item":
                nodes[source].items.append(nodes[target])
            else:
                nodes[source].entries[f"to_{target}"] = nodes[target]
        for root in self.roots:
            setattr(self.modules[MODULES[root % 2]], f"root_{root}", nodes[root])
        self.references = [weakref.ref(node) for node in nodes]
        sys.modules.update(self.modules)

    def lengths(self):
        """The length of the shortest path to each node: attributes add 1, container items 2."""
        found = dict.fromkeys(self.roots, 1)
        pending = deque(self.roots)
        while pending:
            source = min(pending, key=found.__getitem__)
            pending.remove(source)
            for start, kind, target in self.edges:
                length = found[source] + (1 if kind == "attribute" else 2)
                if start == source and length < found.get(target, NODES * 3):
                    found[target] = length
                    pending.append(target)
        return found

    def module_of(self, path):
        """The module at the start of the path."""
        return self.modules[path.references[0].holder.removeprefix("module ")]

    def follow(self, path):
        """Follow the references of a path from its module, and return the object at the end."""
        value = self.module_of(path)
        for reference in path.references:
            value = step(value, reference.label)
        return value

    def remove(self, path):
        """Delete the reference to cut."""
        (at,) = (i for i, each in enumerate(path.references) if same(each, path.cut))
        holder = self.module_of(path)
        for reference in path.references[:at]:
            holder = step(holder, reference.label)
        delete(holder, path.references[at].label)


def same(reference, other):
    return (reference.holder, reference.label, reference.target) == (
        other.holder,
        other.label,
        other.target,
    )


def key_of(label):
    return label[2:-2] if label.startswith("['") else int(label[1:-1])


def step(value, label):
    return getattr(value, label[1:]) if label[0] == "." else value[key_of(label)]


def delete(holder, label):
    if label[0] == ".":
        delattr(holder, label[1:])
    else:
        del holder[key_of(label)]


nodes = st.integers(0, NODES - 1)
edges = st.lists(st.tuples(nodes, st.sampled_from(["attribute", "item", "entry"]), nodes))


def forget_modules():
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(autouse=True)
def no_automatic_collections():
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    forget_modules()


def check(graph, number, length):
    reference = graph.references[number]
    paths = cyclewatch.why_alive(reference, 3)
    if length is None:
        assert paths == []
        return
    assert paths[0].root.kind == "module global"
    assert len(paths[0].references) == length
    for path in paths:
        assert graph.follow(path) is reference()


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(edges=edges, roots=st.lists(nodes, max_size=3), number=nodes)
def test_paths_are_real_and_shortest(edges, roots, number):
    graph = Graph(edges, roots)
    if graph.references[number]() is not None:
        check(graph, number, graph.lengths().get(number))
    del graph
    forget_modules()
    gc.collect()


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(edges=edges, roots=st.lists(nodes, min_size=1, max_size=3), number=nodes)
def test_cut_frees_the_object_if_it_says_so(edges, roots, number):
    graph = Graph(edges, roots)
    reference = graph.references[number]
    paths = cyclewatch.why_alive(reference, 1)
    if not paths:
        return
    graph.remove(paths[0])
    gc.collect()
    is_freed = reference() is None
    assert paths[0].cut_frees == is_freed
    del graph
    forget_modules()
    gc.collect()
