# SPDX-License-Identifier: Apache-2.0
"""Finds code that depends on a reference being strong, or on a callable not being a lambda.

Only common constructs in the same file are recognized; the comment above a diff tells the user to
check the rest.
"""

from __future__ import annotations

import ast
from typing import TypeGuard

from cyclewatch.source_edit import FUNCTIONS, NoDiff, Source
from cyclewatch.source_syntax import names_in

_COPIES = {"__getstate__", "__reduce__", "deepcopy", "pickle"}
_LISTS_FIELDS = {"__dict__", "vars"}
_READS_FIELDS = _COPIES | {"asdict", "delattr", "setattr"}
_READS_FUNCTIONS = {
    *("__annotations__", "__closure__", "__code__", "__defaults__", "__doc__", "__func__"),
    *("__kwdefaults__", "__module__", "__name__", "__qualname__", "__self__", "__wrapped__"),
    *("FunctionType", "LambdaType", "MethodType", "getfullargspec", "inspect", "signature"),
}
_FINDS_EQUAL = {"count", "index", "remove"}
_ENDS = {"__aexit__", "__del__", "__exit__", "close"}
_COMPARES = {"__eq__", "__hash__", "__lt__", "__ne__"}
_COMPARISONS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
_NOT_WEAKLY_REFERABLE = {"NamedTuple", "bytes", "int", "namedtuple", "tuple"}


def check_weak_attribute(source: Source, owner: ast.ClassDef, name: str) -> None:
    """Raise NoDiff if code may need `owner.name` to be a strong reference or a `__dict__` entry."""
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
    _check_not_climbed(source, name)


def check_no_reflection(source: Source, owner: ast.ClassDef) -> None:
    """Raise NoDiff if the class uses, or the file imports, code that copies or inspects objects."""
    for node in (owner, *source.all(ast.Import), *source.all(ast.ImportFrom)):
        for word in sorted((_COPIES | _LISTS_FIELDS | {"copy"}) & names_in(node)):
            raise NoDiff(f"the file uses {word}, which would see the weak reference")


def check_not_looked_up(source: Source, names: set[str]) -> None:
    """Raise NoDiff if getattr() may read one of the attributes in `names`."""
    for call in source.all(ast.Call):
        if ast.unparse(call.func) == "getattr" and len(call.args) > 1:
            name = call.args[1]
            if not isinstance(name, ast.Constant) or name.value in names:
                raise NoDiff(f"line {call.lineno} may use getattr() to read the stored function")


def check_weakly_referable(source: Source, node: ast.ClassDef) -> None:
    """Raise NoDiff if instances of the class do not support weak references."""
    for each in source.bases_of(node):
        for base in each.bases:
            for word in sorted(_NOT_WEAKLY_REFERABLE & names_in(base)):
                raise NoDiff(f"{each.name} is a {word}, which does not support weak references")
        text = " ".join(ast.unparse(n) for n in each.body if not isinstance(n, ast.FunctionDef))
        if "__slots__" in text and "__weakref__" not in text:
            raise NoDiff(f"{each.name} has slots without __weakref__")


def check_any_callable(source: Source) -> None:
    """Raise NoDiff if the file reads attributes that differ for a lambda, such as `__name__`."""
    classes = {node.name for node in source.all(ast.ClassDef)}
    for node in [*source.all(ast.Attribute), *source.all(ast.Constant)]:
        word = getattr(node, "attr", "") or getattr(node, "value", "")
        of_class = isinstance(node, ast.Attribute) and (
            {"type", "__class__", "cls"} & names_in(node.value)
            or ast.unparse(node.value) in classes
        )
        is_read = not isinstance(getattr(node, "ctx", None), ast.Store)
        if word in _READS_FUNCTIONS and is_read and not of_class:
            raise NoDiff(f"line {node.lineno} reads {word}, which a lambda changes")
    for statement in [*source.all(ast.Import), *source.all(ast.ImportFrom)]:
        for word in sorted(_READS_FUNCTIONS & {*names_in(statement), _module(statement)}):
            raise NoDiff(f"line {statement.lineno} imports {word}, which a lambda changes")


def _module(statement: ast.stmt) -> str:
    return getattr(statement, "module", "") or ""


def check_not_compared(source: Source, load: ast.Attribute, names: set[str]) -> None:
    """Raise NoDiff if code in the file may compare the method with another object.

    The code may read the method from an attribute in `names`. All bound methods that refer to the
    same object and function are equal; a lambda is equal only to itself.
    """
    for node in source.all(ast.Attribute):
        reads = isinstance(node.ctx, ast.Load) and not source.is_called(node)
        if node.attr == load.attr and node is not load and reads:
            raise NoDiff(f"line {node.lineno} may compare .{load.attr}")
        if node.attr in _FINDS_EQUAL and names & names_in(node.value):
            raise NoDiff(f"line {node.lineno} finds a method by comparison")
    for compare in source.all(ast.Compare):
        operands = [compare.left, *compare.comparators]
        by_value = any(isinstance(each, _COMPARISONS) for each in compare.ops)
        if not by_value or any(isinstance(each, ast.Constant) for each in operands):
            continue
        function = source.function_of(compare)
        plain = all(isinstance(each, ast.Name | ast.Attribute) for each in operands)
        if any(_mentions(each, names) for each in operands) or (
            plain and function and names & names_in(function)
        ):
            raise NoDiff(f"line {compare.lineno} may compare a stored method")


def _mentions(node: ast.expr, names: set[str]) -> bool:
    is_size = isinstance(node, ast.Call) and ast.unparse(node.func) == "len"
    return not is_size and bool(names & names_in(node))


def _reads(source: Source, node: ast.AST, name: str) -> bool:
    """Whether code uses `vars(x)` or `x.__dict__` as a whole, or looks up `name` in the dict."""
    if isinstance(node, ast.Name):  # vars
        node = source.parent(node)
    user = source.parent(node)
    if isinstance(user, ast.Subscript):
        return isinstance(user.slice, ast.Constant) and user.slice.value == name
    return True


def _check_not_climbed(source: Source, name: str) -> None:
    """Raise NoDiff if code follows the attribute from child to parent in a loop or recursively.

    The program may refer only to a child, which would no longer keep its parents alive if the
    attribute were a weak reference.
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
