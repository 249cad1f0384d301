# SPDX-License-Identifier: Apache-2.0
"""Builds object graphs from descriptions, and returns the numbers that a watch reports for them.

A description is a list of nodes, each a dict:
    kind: one of KINDS;  age: "old", "middle" or "young";  kept: whether a root refers to the node.
    edges: positions of the nodes that the node refers to.
    storage: None, or the number of the storage that the node owns; a "block" always owns one.
Nodes are created oldest first; a tuple can refer only to older nodes.

As a program: object_graphs.py FILE [frozen]; FILE contains a JSON list of
[description, generation].
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
    """References in attributes."""


class OwningInstance(Instance):
    """An instance that owns a storage."""


class Slots:
    """References in slots, one for each possible edge."""

    __slots__ = ("__weakref__", "e0", "e1", "e2", "e3", "storage")


class OwningSlots(Slots):
    """An object with slots that owns a storage."""

    __slots__ = ()


# A type without GC support; the real part is the number of its storage.
Block = complex
assert not Block.__flags__ & (1 << 14), "Block must not have a GC header"


def make_closure():
    first = second = third = fourth = None
    return lambda: (first, second, third, fourth)


# Containers initially contain a list: dicts and tuples of atomic objects are not tracked.
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
    """Wraps an unhashable object so that a set can contain it."""

    __slots__ = ("target",)

    def __init__(self, target):
        self.target = target


def connect(kind, holder, number, target):
    """Set reference `number` of `holder` to `target`."""
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
    """Positions of the nodes in creation order."""
    return sorted(range(len(description)), key=lambda i: (AGES.index(description[i]["age"]), i))


def edges_of(description):
    """For each node, the positions of the nodes to which it can refer, given its type."""
    rank = {position: place for place, position in enumerate(in_order(description))}
    result = []
    for position, node in enumerate(description):
        edges = [] if node["kind"] == "block" else node["edges"]
        if node["kind"] == "tuple":
            edges = [target for target in edges if rank[target] < rank[position]]
        result.append(edges)
    return result


def build(description, make_owner=None):
    """Build the graph and return its roots. All other objects are garbage or already freed.

    If given, `make_owner(storage)` creates the instances that own a storage.
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
    """Two sets: the nodes that a collection of `generation` must free, and the surviving nodes.

    The sets contain the positions of the nodes. Nodes reachable from roots survive. An unreachable
    node is freed immediately if no other node refers to it. The collector finds the unreachable
    nodes in the collected generations, and frees them together with the objects that only they keep
    alive.
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
    """Positions of the nodes that the collector does not track. They have no references."""
    return {i for i, node in enumerate(description) if node["kind"] == "block"}


def owners_among(description, positions):
    """The number of owners among `positions`, and the total size of their storages."""
    owners = [i for i in positions if owns(description[i])]
    storages = {description[i]["storage"] for i in owners}
    return len(owners), sum(STORAGE_BYTES[storage] for storage in storages)


def owns(node):
    return node["kind"] in OWNER_KINDS and node["storage"] is not None


def read_storage(owner):
    """The reader. Owners with the same storage number share their memory."""
    storage = int(owner.real) if isinstance(owner, Block) else owner.storage
    return {"device": "cpu", "nbytes": STORAGE_BYTES[storage], "data_ptr": 0x1000 + storage}


def register_owners():
    for owner_type in (OwningInstance, OwningSlots, Block):
        cyclewatch.register_owner(owner_type, read_storage)


def statistics(frozen):
    """The collector's statistics and, if `frozen`, the number of frozen objects (slow to count)."""
    return gc.get_stats(), gc.get_freeze_count() if frozen else None


def scanned(generation, frozen):
    """The results of a scan, and whether it left the collector's statistics unchanged."""
    before = statistics(frozen)
    report = cyclewatch.scan(generation=generation, frozen=frozen, devices=("cpu",))
    answer = {
        "owners": report.stats.owners,
        "bytes": report.retained_bytes,
        "collected": sorted({finding.collected for finding in report.findings}),
    }
    answer["untouched"] = statistics(frozen) == before
    answer["dead"] = cyclewatch.dead_bytes(generation=generation, frozen=frozen).get("cpu", 0)
    return answer


def observed(description, generation, make_owner=None):
    """Build, scan and collect the described graph, and return the reported numbers."""
    gc.disable()
    gc.collect()
    with cyclewatch.watch(devices=("cpu",), budget=1) as watch:
        roots = build(description, make_owner)
        before = watch.report()
        scan = scanned(generation, frozen=False)
        gc.collect(generation)
        after = watch.report()
    answer = {
        "scan": scan,
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


def observed_frozen(description):
    """Freeze the described graph, scan it and collect it after unfreezing."""
    gc.disable()
    gc.collect()
    roots = build(description)
    gc.freeze()
    scan = scanned(2, frozen=True)
    without_frozen = scanned(2, frozen=False)
    with cyclewatch.watch(devices=("cpu",), budget=1) as watch:
        gc.collect()
        frozen = watch.report().stats.owners
        gc.unfreeze()
        gc.collect()
        report = watch.report()
    roots.clear()
    return {
        "scan": scan,
        "without_frozen": without_frozen,
        "collected_while_frozen": frozen,
        "owners": report.stats.owners,
        "bytes": report.retained_bytes,
    }


def main():
    register_owners()
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    gc.collect()
    if sys.argv[2:] == ["frozen"]:
        answers = [observed_frozen(description) for description, _ in cases]
    else:
        gc.freeze()
        answers = [observed(*case) for case in cases]
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
