# SPDX-License-Identifier: Apache-2.0
"""Finds objects that might not support weak references, and functions that may be called later.

Only simple constructs in the same file are recognized; the comment above a diff tells the user to
check the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from cyclewatch.source_edit import FUNCTIONS, NoDiff, Source
from cyclewatch.source_hazards import check_weakly_referable
from cyclewatch.source_syntax import parameters, short

_KEEPS_NOTHING = {"bool", "callable", "enumerate", "len", "reversed"}
_COPIES = {"list", "sorted", "tuple"}
_TYPE_CHECKS = {"isinstance", "issubclass", "super"}
_TESTS = (ast.Expr, ast.If, ast.While, ast.Assert, ast.Delete, ast.Compare)
_HANDS_OVER = (ast.Call, ast.keyword, ast.List, ast.Set, ast.Dict, ast.For, ast.comprehension)
_RETURNS = (ast.Return, ast.Yield, ast.YieldFrom)


def check_values(source: Source, owner: ast.ClassDef, name: str) -> None:
    """Raise NoDiff unless all values stored in `owner.name` are known to support weak references.

    Accepted values are None, `self`, and instances of classes that the file defines. A parameter is
    accepted if the file passes only accepted values to it.
    """
    stores = [n for n in source.all(ast.Attribute) if n.attr == name and not is_read(n)]
    try:
        # Every value stored under this name is checked, so a value `other.name` is accepted.
        for node in stores:
            for value in _assigned_values(source, node):
                _check_value(source, value, {(0, name)})
    except NoDiff:
        for node in stores:
            if not _is_of_another_class(source, node, owner):
                for value in _assigned_values(source, node):
                    _check_value(source, value, set())


def _is_of_another_class(source: Source, node: ast.Attribute, owner: ast.ClassDef) -> bool:
    """Whether the attribute belongs to `self` in a method of an unrelated class."""
    method = source.function_of(node)
    around = source.parent(method) if method else None
    if not method or not isinstance(around, ast.ClassDef):
        return False
    related = [*source.bases_of(owner), *subclasses(source, owner)]
    return [ast.unparse(node.value)] == parameters(method)[:1] and around not in related


def _assigned_values(source: Source, target: ast.Name | ast.Attribute) -> list[ast.expr]:
    """The value assigned to a target; empty for `del` and for an annotation without a value."""
    user = source.parent(target)
    match user, source.parent(user):
        case (ast.Assign(targets=targets, value=value), _) if target in targets:
            return [value]
        case (ast.Tuple(elts=to), ast.Assign(value=ast.Tuple(elts=values))) if len(to) == len(
            values
        ) and not any(isinstance(each, ast.Starred) for each in (*to, *values)):
            return [values[to.index(target)]]
        case (ast.AnnAssign(value=value), _):
            return [value] if value else []
        case (ast.Delete(), _):
            return []
    raise NoDiff(f"line {target.lineno} assigns an unknown value to {ast.unparse(target)}")


def _check_value(source: Source, value: ast.expr, seen: set[tuple[int, str]]) -> None:
    """Raise NoDiff unless `value` supports weak references.

    `seen` contains (id of the scope, name) for each variable already checked, and (0, name) if
    values read from an attribute called `name` are accepted.
    """
    classes = {node.name: node for node in source.all(ast.ClassDef)}
    match value:
        case ast.Constant(value=None):
            return
        case ast.Call(func=ast.Name(id=called)) if called in classes:
            check_weakly_referable(source, classes[called])
            return
        case ast.Name() if _is_checked(source, value, seen):
            return
        case ast.Attribute(attr=name) if (0, name) in seen:
            return
        case ast.IfExp(body=first, orelse=second):
            _check_value(source, first, seen)
            _check_value(source, second, seen)
            return
    raise NoDiff(f"line {value.lineno} may use an object that does not support weak references")


def _is_checked(source: Source, variable: ast.Name, seen: set[tuple[int, str]]) -> bool:
    """Whether the file binds the variable.

    Raises NoDiff if one of the assigned values might not support weak references.
    """
    name = variable.id
    for scope in (*source.ancestors(variable), source.tree):
        if not isinstance(scope, (*FUNCTIONS, ast.Module)):
            continue
        if (id(scope), name) in seen:
            return True
        stores = [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        ]
        if not stores and name not in parameters(scope):
            continue
        seen.add((id(scope), name))
        for store in stores:
            for value in _assigned_values(source, store):
                _check_value(source, value, seen)
        is_method = isinstance(source.parent(scope), ast.ClassDef)
        if name in parameters(scope) and not (is_method and name == parameters(scope)[0]):
            for value in _arguments(source, scope, name):
                _check_value(source, value, seen)
        return True
    return False


def _arguments(source: Source, function: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yields the values that calls in the file pass for parameter `name`, and its default value."""
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        raise NoDiff(f"the values of the parameter {name} are unknown")
    order = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if name in order:
        defaults = dict(zip(order[::-1], function.args.defaults[::-1], strict=False))
        position = order.index(name)
    else:
        only = [each.arg for each in function.args.kwonlyargs]
        defaults = {k: v for k, v in zip(only, function.args.kw_defaults, strict=True) if v}
        position = len(order)
        if name not in only:
            raise NoDiff(f"the values of the parameter {name} are unknown")
    if name in defaults:
        yield defaults[name]
    for call, bound in _calls_of(source, function):
        if any(isinstance(each, ast.Starred) for each in call.args) or any(
            each.arg is None for each in call.keywords
        ):
            raise NoDiff(f"line {call.lineno} passes unknown arguments")
        if name in order:
            yield from call.args[position - bound :][:1] if position >= bound else []
        yield from (each.value for each in call.keywords if each.arg == name)


def _calls_of(source: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.Call, int]]:
    """Each call to `function`, and whether its first argument is implicit, as in a method call."""
    around = source.parent(function)
    names = {function.name}
    if isinstance(around, ast.ClassDef) and function.name == "__init__":
        names |= {each.name for each in (around, *subclasses(source, around))} | {"cls"}
    for node in [*source.all(ast.Name), *source.all(ast.Attribute)]:
        if getattr(node, "id", getattr(node, "attr", "")) not in names:
            continue
        call = source.parent(node)
        if isinstance(call, ast.Call) and call.func is node:
            through_class = ast.unparse(node).partition(".")[0] in names - {"cls", function.name}
            explicit = through_class and isinstance(node, ast.Attribute)  # Base.__init__(self)
            yield call, isinstance(around, ast.ClassDef) and not explicit
        elif is_read(node) and is_handed_over(source, node):
            raise NoDiff(f"line {node.lineno} may call {function.name} with unknown arguments")


def is_handed_over(source: Source, node: ast.AST) -> bool:
    """Whether a function or class is passed to code that may call it, as in `map(Child, names)`."""
    user = source.parent(node)
    if isinstance(user, ast.Tuple):
        node, user = user, source.parent(user)
    if isinstance(user, ast.Call):
        return short(ast.unparse(user.func)) not in _TYPE_CHECKS
    stored = isinstance(user, ast.Assign | ast.AnnAssign) and user.value is node
    return stored or isinstance(user, (*_HANDS_OVER, *_RETURNS))


def subclasses(source: Source, base: ast.ClassDef) -> list[ast.ClassDef]:
    """The classes in the file that derive from `base`."""
    return [
        node
        for node in source.all(ast.ClassDef)
        if node is not base and base in source.bases_of(node)
    ]


def is_read(node: ast.AST) -> bool:
    """Whether an expression is read rather than assigned to or deleted."""
    return isinstance(getattr(node, "ctx", None), ast.Load)


def check_stays_inside(source: Source, name: str, is_function: bool) -> None:
    """Raise NoDiff unless the file only calls or tests the functions stored in attribute `name`.

    `if self.hook:` is a test. `is_function` is false if the attribute stores a container of
    functions.
    """
    for node in source.all(ast.Attribute):
        if node.attr == name and is_read(node):
            _check_use(source, node, name, node, is_function)


def _check_use(
    source: Source, node: ast.expr, name: str, start: ast.expr, is_function: bool
) -> None:
    """Raise NoDiff if the code that uses `node` may let other code store a function."""
    user = source.parent(node)
    match user:
        case ast.Call(func=function) if function is node:
            # self.run(x) calls the function; self.handlers.get(x) may return a function.
            if not isinstance(node, ast.Attribute) or node is start:
                return
        case ast.Call(func=ast.Name(id=called)) if called in _KEEPS_NOTHING | _COPIES:
            pass
        case ast.Attribute(attr=attribute) if is_function and node is start:
            raise NoDiff(
                f"line {node.lineno} uses .{attribute} of a function that the fix may replace"
            )
        case ast.Attribute() | ast.BoolOp() | ast.UnaryOp():
            pass
        case ast.Subscript(value=value) if value is node:
            if not is_read(user):
                return
        case ast.Assign(targets=[ast.Name(id=variable)]) if scope := source.function_of(node):
            _check_variable(source, scope, variable, name, is_function)
            return
        case ast.For(target=target, iter=values) if values is node:
            _check_variable(source, user, _item(target), name, True)
            return
        case ast.comprehension(target=target, iter=values) if values is node:
            _check_variable(source, source.parent(user), _item(target), name, True)
            return
        case _ if isinstance(user, _TESTS):
            return
        case _:
            raise NoDiff(
                f"line {node.lineno} may let other code call a function from .{name} later"
            )
    if isinstance(user, ast.expr):
        _check_use(source, user, name, start, is_function)


def _check_variable(
    source: Source, scope: ast.AST, variable: str, name: str, is_function: bool
) -> None:
    """Check each use of a variable that refers to functions stored in the attribute `name`."""
    function = scope if isinstance(scope, FUNCTIONS) else source.function_of(scope)
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and node.id == variable and is_read(node):
            if source.function_of(node) is not function:
                raise NoDiff(f"an inner function uses {variable}")
            _check_use(source, node, name, node, is_function)


def _item(target: ast.expr) -> str:
    """The loop variable; for a tuple, the last one, as in `for key, value in functions.items()`."""
    item = target.elts[-1] if isinstance(target, ast.Tuple) else target
    if not isinstance(item, ast.Name):
        raise NoDiff(f"line {target.lineno} may let other code call a stored function later")
    return item.id
