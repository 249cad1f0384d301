# SPDX-License-Identifier: Apache-2.0
"""A recursive library function captures a predicate, which captures the data."""

EXPECTED = ["<lambda> closure:structure"]

LIBRARY = """
def flatten(tree, is_leaf):
    def visit(node, found):
        if is_leaf(node) or not isinstance(node, list):
            found.append(id(node))
            return found
        for child in node:
            visit(child, found)
        return found

    return visit(tree, [])
"""
exec(compile(LIBRARY, "/usr/lib/python3/site-packages/trees/flat.py", "exec"))


def leaky(payload):
    structure = [payload(), [payload()]]
    flatten(structure, is_leaf=lambda node: node is not structure and isinstance(node, tuple))  # noqa: F821


def fixed(payload):
    structure = [payload(), [payload()]]
    identity = id(structure)
    flatten(structure, is_leaf=lambda node: id(node) != identity and isinstance(node, tuple))  # noqa: F821
