# SPDX-License-Identifier: Apache-2.0
"""Rewrites the source of a case in ways that must not change the answer."""

import ast
import builtins
import re

# Names used by the corpus, by the label grammar and by the interpreter.
FIXED_WORDS = {
    *("leaky", "fixed", "payload", "EXPECTED", "KEEP", "MISS"),
    *("args", "closure", "default", "dict", "element", "key", "keywords", "list", "local", "slot"),
    *dir(builtins),
}


def plain(tree):
    """The unmodified case."""
    return tree


def renamed(tree):
    """Rename every name that the case introduces, in reverse alphabetical order."""
    names = sorted(introduced_names(tree) - FIXED_WORDS - imported_names(tree) - kept_names(tree))
    return Renamer({name: f"q{len(names) - i:02}" for i, name in enumerate(names)}).visit(tree)


def cluttered(tree):
    """Add unrelated objects to every frame and instance."""
    return Clutterer().visit(tree)


def introduced_names(tree):
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)) | ast.arg(arg=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case _:
                continue
    return {name for name in names if not name.startswith("__")}


def imported_names(tree):
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def kept_names(tree):
    """Names that a library prescribes, listed in the case as KEEP."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "KEEP":
            return set(ast.literal_eval(node.value))
    return set()


class Renamer(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names

    def generic_visit(self, node):
        super().generic_visit(node)
        for field in ("id", "attr", "arg", "name"):
            value = getattr(node, field, None)
            if isinstance(value, str) and not isinstance(node, ast.alias):
                setattr(node, field, self.names.get(value, value))
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [self.names.get(name, name) for name in node.names]
        return node

    def visit_Constant(self, node):  # noqa: N802
        if isinstance(node.value, str):
            node.value = re.sub(r"\w+", lambda m: self.names.get(m[0], m[0]), node.value)
        return node


def loaded(tree):
    """Set an unrelated tensor as an attribute of every instance, except descriptors.

    A class keeps its descriptors alive, so such a tensor would survive as long as the class.
    """
    return Clutterer("extra_tensor()").visit(tree)


class Clutterer(ast.NodeTransformer):
    def __init__(self, member="[set(), {'a': [1]}]"):
        self.member = member

    def visit_FunctionDef(self, node):  # noqa: N802
        self.generic_visit(node)
        clutter = "unrelated_value = [b'x' * 64, {'size': 1.5}]"
        node.body[:0] = ast.parse(clutter).body
        return node

    def visit_ClassDef(self, node):  # noqa: N802
        self.generic_visit(node)
        methods = {line.name for line in node.body if isinstance(line, ast.FunctionDef)}
        if self.member == "extra_tensor()" and "__get__" in methods:
            return node
        slotted = any("__slots__" in ast.unparse(line) for line in node.body)
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__" and not slotted:
                clutter = f"{method.args.args[0].arg}.unrelated_member = {self.member}"
                method.body[:0] = ast.parse(clutter).body
        return node


VARIANTS = {
    "plain": plain,
    "renamed": renamed,
    "cluttered": cluttered,
    "doubled": plain,
    "loaded": loaded,
}
