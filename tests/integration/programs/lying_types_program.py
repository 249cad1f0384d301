# SPDX-License-Identifier: Apache-2.0
"""Garbage of types that break the rules of tp_traverse. Prints what the collector said of it."""

import gc

import lying_types
from acts import Node, Owner, cycle, main


def in_a_cycle(kind):
    """An object of `kind`, tracked, on a cycle with a Node; the owner is its second reference."""
    node = Node()
    liar = lying_types.make(kind, node)
    node.liar = liar
    liar.second = Owner()


def beside_a_cycle(kind):
    """The same, untracked and held by garbage alone: only who follows references visits it."""
    liar = lying_types.untracked(kind, Node())
    liar.second = Owner()
    node = Node()
    node.me = node
    node.liar = liar


def now_and_later():
    return gc.collect(), gc.collect()


def in_all():
    return (sum(now_and_later()),)


def act_of(kind, *makers, collected=now_and_later):
    def act():
        for make in makers:
            make(kind)
            print(kind.__name__, *collected())
        cycle()
        print("after", gc.collect(), gc.garbage, gc.isenabled())

    return act


def living_owner_visited_twice():
    # Counting references finds as many from the garbage as there are: it lives nevertheless.
    alive = Owner()
    node = Node()
    node.me = node
    node.liar = lying_types.make(lying_types.Twice, alive)
    del node
    print("twice", gc.collect(), type(alive).__name__)
    cycle()
    print("after", gc.collect())


ACTS = {
    "living_owner_visited_twice": living_owner_visited_twice,
    # The collector itself crashes on a tracked object that visits NULL.
    "NullFirst": act_of(lying_types.NullFirst, beside_a_cycle),
    # What it makes while it is traversed is found now or later, by how often that is, on 3.13t.
    "Renewing": act_of(lying_types.Renewing, in_a_cycle, beside_a_cycle, collected=in_all),
}
for kind in (
    lying_types.Honest,
    lying_types.Silent,
    lying_types.Raising,
    lying_types.Halfway,
    lying_types.Collecting,
    lying_types.Allocating,
    lying_types.Fleeting,
):
    ACTS[kind.__name__] = act_of(kind, in_a_cycle, beside_a_cycle)

if __name__ == "__main__":
    main(ACTS)
