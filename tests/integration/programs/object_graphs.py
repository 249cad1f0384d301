# SPDX-License-Identifier: Apache-2.0
"""Builds described object graphs under a watch and says what was reported of them.

A description is a list of nodes, each a dict:
    kind: one of KINDS;  age: "old", "middle" or "young";  kept: whether a root refers to it
    edges: positions of the nodes it refers to;
    storage: None, or the number of the storage it owns; a "block" always owns one
Nodes are made in the order of their age; a tuple can refer to nodes made before it only.

As a program: object_graphs.py FILE, where FILE holds a JSON list of [description, generation].
"""

import collections
import functools
import gc
import json
import sys

import cyclewatch

AGES = ("old", "middle", "young")
STORAGE_BYTES = (1, 64, 4096, 10**9)


class Instance:
    """Keeps what it refers to in attributes."""


class OwningInstance(Instance):
    """An instance that owns a storage."""


class Slots:
    """Keeps what it refers to in slots, one for each edge there can be."""

    __slots__ = ("__weakref__", "e0", "e1", "e2", "e3", "storage")


class OwningSlots(Slots):
    """An object with slots that owns a storage."""

    __slots__ = ()


# A type that the collector does not know; the real part is the number of the storage it owns.
Block = complex
assert not Block.__flags__ & (1 << 14), "Block is to have no GC header"


def make_closure():
    first = second = third = fourth = None
    return lambda: (first, second, third, fourth)


# Containers hold an empty list from the start, or the collector would not track them yet.
MAKERS = {
    "instance": lambda node: OwningInstance() if node["storage"] is not None else Instance(),
    "slots": lambda node: OwningSlots() if node["storage"] is not None else Slots(),
    "block": lambda node: Block(node["storage"]),
    "dict": lambda node: {"anchor": []},
    "list": lambda node: [[]],
    "set": lambda node: set(),
    "deque": lambda node: collections.deque([[]]),
    "closure": lambda node: make_closure(),
    "partial": lambda node: functools.partial(print, anchor=[]),
}
KINDS = (*MAKERS, "tuple")
OWNER_KINDS = ("instance", "slots", "block")


class Reference:
    """Makes what cannot be hashed an element of a set."""

    __slots__ = ("target",)

    def __init__(self, target):
        self.target = target


def connect(kind, holder, number, target):
    """Makes `holder` refer to `target`, by its reference of that number."""
    if kind == "instance":
        setattr(holder, f"e{number}", target)
    elif kind == "slots":
        setattr(holder, f"e{number}", target)
    elif kind == "dict":
        holder[f"e{number}"] = target
    elif kind in ("list", "deque"):
        holder.append(target)
    elif kind == "set":
        holder.add(target if isinstance(target, (Instance, Slots)) else Reference(target))
    elif kind == "closure":
        holder.__closure__[number].cell_contents = target
    elif kind == "partial":
        holder.keywords[f"e{number}"] = target


def in_order(description):
    """Positions of the nodes in the order they are made."""
    return sorted(range(len(description)), key=lambda i: (AGES.index(description[i]["age"]), i))


def edges_of(description):
    """For each node, the positions it really comes to refer to."""
    rank = {position: place for place, position in enumerate(in_order(description))}
    result = []
    for position, node in enumerate(description):
        edges = [] if node["kind"] == "block" else node["edges"]
        if node["kind"] == "tuple":
            edges = [target for target in edges if rank[target] < rank[position]]
        result.append(edges)
    return result


def build(description, make_owner=None):
    """The roots of the graph. What no root leads to is garbage on return, or gone already.

    `make_owner(storage)` makes the owning instances, where they are to be of another type.
    """
    edges = edges_of(description)
    objects = {}
    age = "old"
    for position in in_order(description):
        node = description[position]
        while age != node["age"]:
            gc.collect(1 if age == "old" else 0)
            age = AGES[AGES.index(age) + 1]
        if node["kind"] == "tuple":
            objects[position] = ([], *(objects[target] for target in edges[position]))
        elif make_owner is not None and node["kind"] == "instance" and node["storage"] is not None:
            objects[position] = make_owner(node["storage"])
        else:
            objects[position] = MAKERS[node["kind"]](node)
            if node["kind"] in OWNER_KINDS[:2] and node["storage"] is not None:
                objects[position].storage = node["storage"]
    for later in AGES[AGES.index(age) : -1]:
        gc.collect(1 if later == "old" else 0)
    for position, node in enumerate(description):
        for number, target in enumerate(edges[position]):
            connect(node["kind"], objects[position], number, objects[target])
    return [objects[position] for position, node in enumerate(description) if node["kept"]]


def expected(description, generation):
    """Positions of the nodes that must die in a collection of that generation, and that live on.

    From the description alone: what roots reach lives; of the rest, what nothing refers to is gone
    before; the collector finds unreachable what is young enough and reached from nothing else; and
    what only unreachable objects refer to goes with them.
    """
    everything = set(range(len(description)))
    edges = edges_of(description)
    holders = collections.defaultdict(set)
    for position, targets in enumerate(edges):
        for target in targets:
            holders[target].add(position)

    def reached(starts):
        seen, todo = set(starts), list(starts)
        while todo:
            for target in edges[todo.pop()]:
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    waiting = everything - reached({i for i in everything if description[i]["kept"]})
    gone = set()
    while freed := {i for i in waiting if not holders[i] & waiting}:
        waiting -= freed
        gone |= freed
    youngest = AGES[2 - generation :]
    looked_at = {
        i
        for i in waiting
        if description[i]["age"] in youngest and description[i]["kind"] != "block"
    }
    doomed = looked_at - reached(waiting - looked_at - blocks(description))
    while more := {i for i in waiting - doomed if holders[i] & waiting <= doomed}:
        doomed |= more
    return doomed, everything - doomed - gone


def blocks(description):
    """Positions of what the collector does not know: it refers to nothing, so holds nothing."""
    return {i for i, node in enumerate(description) if node["kind"] == "block"}


def owners_among(description, positions):
    """How many of them own a storage, and the bytes of these storages, each once."""
    owners = [i for i in positions if owns(description[i])]
    storages = {description[i]["storage"] for i in owners}
    return len(owners), sum(STORAGE_BYTES[storage] for storage in storages)


def owns(node):
    return node["kind"] in OWNER_KINDS and node["storage"] is not None


def read_storage(owner):
    """The reader: storages of one number are one piece of memory."""
    storage = int(owner.real) if isinstance(owner, Block) else owner.storage
    return {"device": "cpu", "nbytes": STORAGE_BYTES[storage], "data_ptr": 0x1000 + storage}


def register_owners():
    for owner_type in (OwningInstance, OwningSlots, Block):
        cyclewatch.register_owner(owner_type, read_storage)


def observed(description, generation, make_owner=None):
    """What the watch reports when the described graph is built and collected."""
    gc.disable()
    gc.collect()
    with cyclewatch.watch(devices=("cpu",), budget=1) as watch:
        roots = build(description, make_owner)
        before = watch.report()
        gc.collect(generation)
        after = watch.report()
    answer = {
        "owners": after.stats.owners - before.stats.owners,
        "bytes": after.retained_bytes - before.retained_bytes,
        "before": before.retained_bytes,
        "skipped": after.stats.skipped,
        "exclusive": sum(finding.retained_bytes for finding in after.findings),
        "shared": sum(finding.shared_bytes for finding in after.findings),
    }
    roots.clear()
    gc.collect()
    return answer


def main():
    register_owners()
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    gc.collect()
    gc.freeze()
    print(json.dumps([observed(*case) for case in cases]))


if __name__ == "__main__":
    main()
