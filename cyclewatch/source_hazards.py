# SPDX-License-Identifier: Apache-2.0
"""Finds code that behaves differently if a reference becomes weak or a method becomes a lambda.

Only common forms in the same file are found; the comment above a diff names what to check.
"""

from __future__ import annotations

import ast
from typing import TypeGuard

from cyclewatch.source_edit import FUNCTIONS, Definition, NoDiff, Source
from cyclewatch.source_syntax import names_in, parameters

_COPIES = {"__getstate__", "__reduce__", "deepcopy", "pickle"}
_LISTS_FIELDS = {"__dict__", "vars"}
_READS_FIELDS = _COPIES | {"asdict", "delattr"}
_READS_FUNCTIONS = {"__doc__", "__name__", "__qualname__", "getfullargspec", "signature"}
_ENDS = {"__aexit__", "__del__", "__exit__", "close"}
_COMPARES = {"__eq__", "__hash__", "__lt__", "__ne__"}
_NOT_WEAKLY_REFERABLE = {"NamedTuple", "bytes", "int", "namedtuple", "tuple"}


def check_weak_attribute(source: Source, owner: ast.ClassDef, name: str) -> None:
    """Raise NoDiff if code may depend on a strong `owner.name`, or on its place in `__dict__`."""
    check_no_reflection(source, owner)
    for node in [*source.all(ast.Attribute), *source.all(ast.Name)]:
        word = getattr(node, "attr", "") or getattr(node, "id", "")
        if word in _READS_FIELDS or (word in _LISTS_FIELDS and _reads(source, node, name)):
            raise NoDiff(f"line {node.lineno} uses {word}, which would see the weak reference")
    for method in owner.body:
        kind = getattr(method, "name", "")
        if kind in _ENDS | _COMPARES and name in names_in(method):
            raise NoDiff(f"{owner.name}.{kind} uses .{name}, which may be None at that time")
    for call in source.all(ast.Call):
        if ast.unparse(call.func) == "torch.save" and "state_dict" not in names_in(call):
            raise NoDiff(f"line {call.lineno} may save the weak reference")
    _check_values(source, owner, name)
    _check_not_climbed(source, name)


def check_no_reflection(source: Source, owner: ast.ClassDef) -> None:
    """Raise NoDiff if the class or an import copies or inspects objects."""
    for node in (owner, *source.all(ast.Import), *source.all(ast.ImportFrom)):
        for word in sorted((_COPIES | _LISTS_FIELDS | {"copy"}) & names_in(node)):
            raise NoDiff(f"the file uses {word}, which would see the weak reference")


def check_weakly_referable(node: ast.ClassDef) -> None:
    """Raise NoDiff if the instances do not support weak references."""
    for base in node.bases:
        for word in sorted(_NOT_WEAKLY_REFERABLE & names_in(base)):
            raise NoDiff(f"{node.name} is a {word}, which does not support weak references")


def check_any_callable(source: Source, target: ast.ClassDef) -> None:
    """Raise NoDiff if code near the class reads function attributes that a lambda changes.

    Near means in the same outermost class or function, or at module level.
    """
    near = source.outermost(target)
    for node in [*source.all(ast.Attribute), *source.all(ast.Name)]:
        word = getattr(node, "attr", "")
        word = word or (source.is_called(node) and getattr(node, "id", "")) or ""
        of_class = isinstance(node, ast.Attribute) and {"type", "__class__", "cls"} & names_in(
            node.value
        )
        around = source.outermost(node)
        is_near = around is near or not isinstance(around, ast.ClassDef | Definition)
        if word in _READS_FUNCTIONS and is_near and not of_class:
            raise NoDiff(f"line {node.lineno} reads {word}, which a lambda changes")


def _reads(source: Source, node: ast.AST, name: str) -> bool:
    """Whether `vars(x)` or `x.__dict__` is listed, or the field `name` is looked up in it."""
    if isinstance(node, ast.Name):  # vars
        node = source.parent(node)
    user = source.parent(node)
    if isinstance(user, ast.Subscript):
        return isinstance(user.slice, ast.Constant) and user.slice.value == name
    return True


def _check_values(source: Source, owner: ast.ClassDef, name: str) -> None:
    """Raise NoDiff if the attribute is also set to a constant."""
    positions = {}
    for statement in source.all(ast.Assign):
        if name not in [getattr(target, "attr", "") for target in statement.targets]:
            continue
        _check_value(statement.value)
        function = source.function_of(statement)
        if function in owner.body and isinstance(statement.value, ast.Name):
            order = parameters(function)
            if getattr(function, "name", "") == "__init__" and statement.value.id in order:
                positions[statement.value.id] = order.index(statement.value.id) - 1
    for call in source.all(ast.Call):
        if ast.unparse(call.func).rpartition(".")[2] == owner.name:
            for parameter, position in positions.items():
                for value in call.args[position : position + 1]:
                    _check_value(value)
                for keyword in call.keywords:
                    if keyword.arg == parameter:
                        _check_value(keyword.value)


def _check_value(value: ast.expr) -> None:
    if isinstance(value, ast.Constant) and value.value is not None:
        raise NoDiff(f"line {value.lineno} stores a constant")


def _check_not_climbed(source: Source, name: str) -> None:
    """Raise NoDiff if code follows the attribute upwards: in a loop, or by recursion.

    The program may then keep only the last child, which does not keep its parents alive.
    """
    for statement in source.all(ast.Assign):
        targets = {
            node.id
            for target in statement.targets
            for node in ast.walk(target)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for node in ast.walk(statement.value):
            accessed = node.value if _is_access(node, name) else None
            if isinstance(accessed, ast.Name) and accessed.id in targets:
                raise NoDiff(f"line {accessed.lineno} walks from child to parent")
    for node in source.all(ast.NamedExpr):
        if _is_access(node.value, name):
            raise NoDiff(f"line {node.lineno} walks from child to parent")
    for node in source.all(ast.Attribute):
        functions = [each for each in source.ancestors(node) if isinstance(each, FUNCTIONS)]
        names = {getattr(each, "name", "") for each in functions}
        if node.attr in names and any(_is_access(each, name) for each in ast.walk(node.value)):
            raise NoDiff(f"line {node.lineno} walks from child to parent")


def _is_access(node: ast.AST, name: str) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and node.attr == name
