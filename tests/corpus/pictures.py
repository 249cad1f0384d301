# SPDX-License-Identifier: Apache-2.0
"""Prints SVG, DOT and data of each case's picture, and of the structures below, as JSON.

Usage: pictures.py
"""

import gc
import json

import run_cases
from run_cases import Tensor

import cyclewatch


class Module:
    """An object with any attributes."""


class Child:
    """An object that refers back to its parent."""

    def __init__(self, parent):
        self.parent = parent
        self.weights = Tensor()


def hub(children):
    parent = Module()
    parent.state = Tensor()
    for i in range(children):
        setattr(parent, f"layer_{i}", Child(parent))


def chain(members):
    nodes = [Module() for _ in range(members)]
    for node, after in zip(nodes, nodes[1:] + nodes[:1], strict=True):
        node.next_one = after
    nodes[0].tensor = Tensor()


def branch(parent, depth):
    node = Child(parent)
    if depth > 0:
        node.left = branch(node, depth - 1)
        node.right = branch(node, depth - 1)
    return node


def tree(depth):
    root = Module()
    root.branch = branch(root, depth)


def many_tensors(count):
    module = Module()
    module.me = module
    module.parameters = {f"parameter_{i}": Tensor() for i in range(count)}


def parallel_references():
    first, second = Module(), Module()
    first.second = second
    second.first = second.also_first = second.third = first
    first.tensor = Tensor()


STRUCTURES = {
    "hub of 4": lambda: hub(4),
    "hub of 14": lambda: hub(14),
    "chain of 60": lambda: chain(60),
    "tree": lambda: tree(2),
    "large tree": lambda: tree(3),
    "14 tensors": lambda: many_tensors(14),
    "parallel references": parallel_references,
}


def picture_of(leak):
    """The picture of the finding that `leak()` produces."""
    gc.collect()
    with cyclewatch.watch(devices="all") as watch:
        leak()
        gc.collect()
    report = watch.report()
    return {
        "svg": report.findings[0].to_svg(),
        "dot": report.to_dot(),
        "data": json.loads(report.to_json())["findings"][0]["picture"],
    }


def main():
    pictures = {name: picture_of(leak) for name, leak in STRUCTURES.items()}
    for cell in run_cases.all_cases():
        module = run_cases.load(cell, "plain")
        pictures[cell[0]] = picture_of(lambda leaky=module.leaky: leaky(run_cases.one_tensor))
    print(json.dumps(pictures))


if __name__ == "__main__":
    run_cases.watch_stand_ins()
    main()
