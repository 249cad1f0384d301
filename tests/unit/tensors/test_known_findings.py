# SPDX-License-Identifier: Apache-2.0
"""Garbage whose structure has been analyzed before is only counted; the totals stay correct."""

import gc
import random
import tracemalloc

import pytest

import cyclewatch

torch = pytest.importorskip("torch")


class First:
    """An object of a cycle."""

    def refer(self):
        """A bound method of this object may be part of the cycle."""


class Second(First):
    """A different class with the same attributes as First."""


class Slotted:
    """An object without a dict."""

    __slots__ = ("held", "other", "tensor")

    def refer(self):
        """A bound method of this object may be part of the cycle."""


class Storing:
    """Assigns `other` and `held` in methods: their locations are known without tracemalloc."""

    __slots__ = ()

    def store_other(self, value):
        self.other = value

    def store_held(self, value):
        self.held = value


class StoringFirst(Storing, First):
    pass


class StoringSecond(Storing, Second):
    pass


class StoringSlotted(Storing, Slotted):
    __slots__ = ()


CLASSES = (StoringFirst, StoringSecond, StoringSlotted)
LINKS = ("other", "held")


def link(parent, child, name, way):
    """Make `parent` refer to `child`: directly or through a container, closure or bound method."""
    if way == "direct":
        value = child
    elif way == "list":
        value = [None] * len(name) + [child]
    elif way == "dict":
        value = {name: child, "name": 1}
    elif way == "closure":
        value = (lambda: child) if name == "other" else (lambda: (child, child))
    else:
        value = child.refer
    (parent.store_other if name == "other" else parent.store_held)(value)


def leak(choose):
    """Create and drop a random cycle of one to three objects with one or two tensors."""
    members = [choose.choice(CLASSES)() for _ in range(choose.randint(1, 3))]
    ways = ("direct", "direct", "list", "dict", "closure", "bound")
    for parent, child in zip(members, members[1:] + members[:1], strict=True):
        link(parent, child, choose.choice(LINKS), choose.choice(ways))
    tensor = torch.empty(choose.choice((4, 4, 8)))
    members[0].tensor = tensor if choose.random() < 0.8 else tensor.view(2, -1)
    if choose.random() < 0.2:
        members[-1].tensor = tensor if choose.random() < 0.5 else torch.empty(16)


def watched(work):
    """Run `work`, which collects its own garbage, under a watch, and return the report."""
    with cyclewatch.watch(devices="cpu", budget=1.0) as watch:
        work()
        return watch.report()


def facts(report):
    """Return the compared fields of each finding, by signature."""
    return {
        finding.signature: (
            finding.occurrences,
            finding.retained_bytes,
            finding.shared_bytes,
            finding.attributed_bytes,
            finding.collections,
            finding.title,
            finding.cut and (finding.cut.holder, finding.cut.label),
            sorted(
                (owner.nbytes, owner.shape, owner.path, owner.count) for owner in finding.owners
            ),
        )
        for finding in report.findings
    }


@pytest.mark.parametrize("seed", range(12))
def test_totals_do_not_depend_on_what_is_known(seed):
    def work():
        choose = random.Random(seed)
        kinds = [random.Random(choose.random()) for _ in range(4)]
        states = [kind.getstate() for kind in kinds]
        for _ in range(60):
            for _ in range(choose.choice((1, 1, 2, 5))):
                kind = choose.randrange(4) if choose.random() < 0.5 else 0
                kinds[kind].setstate(states[kind])
                leak(kinds[kind])
            gc.collect(0)

    known = watched(work)
    tracemalloc.start()  # the graphs contain allocation sites: no shape is known
    try:
        analyzed = watched(work)
    finally:
        tracemalloc.stop()
    assert facts(known) == facts(analyzed)
    assert known.retained_bytes == analyzed.retained_bytes
    assert [
        (collection.owners, [(part.signature, part.occurrences) for part in collection.findings])
        for collection in known.collections
    ] == [
        (collection.owners, [(part.signature, part.occurrences) for part in collection.findings])
        for collection in analyzed.collections
    ]


def pair(size=4, first="other", second="other", made=First):
    one, two = made(), made()
    setattr(one, first, two)
    setattr(two, second, one)
    one.tensor = torch.empty(size)
    return one


@pytest.mark.parametrize(
    "other",
    [
        {"first": "held"},
        {"made": Second},
        {"made": Slotted},
    ],
)
def test_other_names_are_another_finding(other):
    def work():
        for _ in range(3):
            pair()
            gc.collect(0)
            pair(**other)
            gc.collect(0)

    assert sorted(finding.occurrences for finding in watched(work).findings) == [3, 3]


def test_other_sizes_are_other_owners():
    def work():
        for size in (4, 8, 4, 8, 8):
            pair(size)
            gc.collect(0)

    (finding,) = watched(work).findings
    assert finding.retained_bytes == 2 * 16 + 3 * 32
    assert sorted((owner.shape, owner.count) for owner in finding.owners) == [
        ((4,), 2),
        ((8,), 3),
    ]


def test_a_modified_class_is_another_shape():
    class Renamed(First):
        pass

    def work():
        for name in ("One", "Two"):
            Renamed.__module__ = name  # not all versions notice a new __qualname__
            for _ in range(2):
                pair(made=Renamed)
                gc.collect(0)

    assert sorted(finding.occurrences for finding in watched(work).findings) == [2, 2]


class Reviving(First):
    """An object whose finalizer resurrects it if `survives` is set."""

    kept = ()

    def __del__(self):
        if getattr(self, "survives", False):
            Reviving.kept = (*Reviving.kept, self)


def test_resurrected_objects_are_not_counted():
    def work():
        for surviving in (0, 0, 1, 2, 0):
            for number in range(2):
                pair(made=Reviving).survives = number < surviving
            gc.collect(0)

    report = watched(work)
    (finding,) = report.findings
    assert finding.occurrences == 7
    assert finding.retained_bytes == report.retained_bytes == 7 * 16


def test_partly_resurrected_cycles_are_analyzed_the_next_time():
    with cyclewatch.watch(devices="cpu", budget=1.0) as watch:
        for survives in (False, False, True, True, False):
            one = pair()
            one.held = Reviving()
            one.held.tensor = torch.empty(8)
            one.held.survives = survives
            del one
            gc.collect(0)
        report = watch.report()
    (finding,) = report.findings
    assert report.retained_bytes == 3 * (16 + 32) + 2 * 16
    assert finding.occurrences == 4
    assert report.stats.skipped == {
        "cycles not analyzed: some of their objects were resurrected": 1
    }


def test_a_finding_ignored_later_stays_ignored():
    with cyclewatch.watch(devices="cpu", budget=1.0) as watch:
        for _ in range(2):
            pair(first="ignored_later")
            gc.collect(0)
        (finding,) = watch.report().findings
        cyclewatch.ignore(signature=finding.signature, reason="test")
        pair(first="ignored_later")
        gc.collect(0)
        (finding,) = watch.report().findings
    assert finding.status == "ignored"
    assert finding.occurrences == 3
