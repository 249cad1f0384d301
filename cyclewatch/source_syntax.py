# SPDX-License-Identifier: Apache-2.0
"""Queries the syntax tree of a source file. Raises NoDiff if the answer is uncertain."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from cyclewatch.source_edit import FUNCTIONS, Definition, Function, NoDiff, Source

_LAMBDA_PARENTS = (
    ast.Assign,
    ast.AnnAssign,
    ast.Call,
    ast.keyword,
    ast.Dict,
    ast.List,
    ast.Set,
    ast.Tuple,
)
_EAGER = {"all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"}
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_CREATING = ast.Call | ast.Lambda | ast.Dict | ast.List | ast.Set | ast.Tuple


def short(name: str) -> str:
    """The last component of a name, such as `Model` in `function pkg.Model`."""
    return name.rpartition(".")[2].rpartition(" ")[2]


def parameters(function: ast.AST) -> list[str]:
    """The names of the parameters, in order; empty for other nodes."""
    if not isinstance(function, FUNCTIONS):
        return []
    return [node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)]


def names_in(node: ast.AST) -> set[str]:
    """The names of all variables, attributes and functions in a node."""
    return {
        getattr(each, "id", None)
        or getattr(each, "attr", None)
        or getattr(each, "name", None)
        or ""
        for each in ast.walk(node)
    }


def binds(statement: ast.stmt) -> Iterator[str]:
    """The variables that a statement always binds; targets like `a, b` are ignored."""
    match statement:
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name


def leaves(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement can leave its block: return, break, continue or an uncaught raise."""
    function = source.function_of(statement)
    if not isinstance(statement, FUNCTIONS) and _always_raises(source, statement):
        return True
    for node in ast.walk(statement):
        inside = []
        for each in (node, *source.ancestors(node)):
            inside.append(each)
            if each is statement:
                break
        if isinstance(statement, FUNCTIONS) or source.function_of(node) is not function:
            continue
        if isinstance(node, ast.Return):
            return True
        in_loop = any(isinstance(each, _LOOPS) for each in inside)
        if isinstance(node, ast.Break | ast.Continue) and not in_loop:
            return True
        if isinstance(node, ast.Raise) and not any(
            isinstance(each, ast.Try) and each.handlers and below in each.body
            for below, each in zip(inside, inside[1:], strict=False)
        ):
            return True
    return False


def _always_raises(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement calls a function that is defined in the file and ends with `raise`."""
    calls = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
    called = {name.id for name in calls if isinstance(name, ast.Name)}
    return any(
        function.name in called and isinstance(function.body[-1], ast.Raise)
        for function in source.functions()
    )


def check_synchronous(function: Function) -> None:
    """Raise NoDiff for coroutines and generators, whose frames can be suspended."""
    for node in ast.walk(function):
        if isinstance(node, ast.AsyncFunctionDef | ast.Yield | ast.YieldFrom | ast.Await):
            raise NoDiff(f"{getattr(function, 'name', 'the lambda')} can be suspended")


def check_eager(source: Source, name: ast.Name) -> None:
    """Raise NoDiff if the variable is used in a generator expression, which may run later.

    The first iterable of the expression is exempt, because it is evaluated immediately.
    """
    inside: list[ast.AST] = [name]
    for each in source.ancestors(name):
        if isinstance(each, FUNCTIONS):
            return
        if isinstance(each, ast.GeneratorExp) and each.generators[0].iter in inside:
            return
        inside.append(each)
        user = source.parent(each)
        eager = isinstance(user, ast.Call) and ast.unparse(user.func) in _EAGER
        if isinstance(each, ast.GeneratorExp) and not eager:
            raise NoDiff(f"a generator uses {name.id}")


def check_unused(source: Source, name: str) -> None:
    """Raise NoDiff if the file contains this name."""
    if name in source.words:
        raise NoDiff(f"the file already uses the name {name}")


def check_bound_once(source: Source, name: str, user: ast.AST, may_be_global: bool = False) -> None:
    """Raise NoDiff unless the variable is bound exactly once, before the node `user`."""
    for scope in source.ancestors(user):
        if not isinstance(scope, FUNCTIONS):
            continue
        stores = [node for node in ast.walk(scope) if name in _stored(node)]
        if name in parameters(scope) and not stores:
            return
        if name in parameters(scope) or stores:
            break
    else:
        if may_be_global:
            return
        raise NoDiff(f"{name} is not a local variable")
    if name in parameters(scope) or len(stores) != 1:
        raise NoDiff(f"{name} is assigned more than once")
    statement = source.statement_of(stores[0])
    if isinstance(scope, ast.Lambda) or statement not in scope.body:
        raise NoDiff(f"{name} is assigned conditionally")
    if statement.lineno >= source.statement_of(user).lineno:
        raise NoDiff(f"{name} is assigned later")


def check_object(source: Source, name: str, user: ast.AST) -> None:
    """Like check_bound_once(), but also raise NoDiff if the variable can be None.

    The first parameter of a method and the result of a call are assumed not to be None.
    """
    check_bound_once(source, name, user)
    for scope in source.ancestors(user):
        if name in parameters(scope)[:1] and isinstance(source.parent(scope), ast.ClassDef):
            return
        for node in ast.walk(scope) if isinstance(scope, FUNCTIONS) else ():
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call()) if target == name:
                    return
    raise NoDiff(f"{name} may be None")


def check_stored_in(source: Source, statement: ast.stmt, variable: str) -> None:
    """Raise NoDiff unless the statement stores its value in the object that `variable` refers to.

    If the statement defines a function, each statement that uses the function must store it in that
    object.
    """
    if isinstance(statement, ast.FunctionDef):
        function = source.function_of(statement)
        for node in ast.walk(function or statement):
            if isinstance(node, ast.Name) and node.id == statement.name:
                check_stored_in(source, source.statement_of(node), variable)
        return
    match statement:
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            place: ast.AST = target
        case ast.Expr(value=ast.Call(func=target)):
            place = target
        case _:
            raise NoDiff(f"line {statement.lineno} does not store the function in {variable}")
    while isinstance(place, ast.Attribute | ast.Subscript):
        place = place.value
    if not isinstance(place, ast.Name) or place.id != variable:
        raise NoDiff(f"line {statement.lineno} does not store the function in {variable}")


def class_defaults(node: ast.ClassDef, name: str) -> list[ast.expr]:
    """The targets of the `name = None` statements in a class body."""
    found: list[ast.expr] = []
    for each in node.body:
        match each:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Constant(value=None)):
                found += each.targets if target == name else []
    return found


def unbound_in(block: list[ast.stmt]) -> Iterator[str]:
    """The variables that a block may delete."""
    for statement in block:
        for node in ast.walk(statement):
            if isinstance(node, ast.ExceptHandler) and node.name:
                yield node.name
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
                yield node.id


def _stored(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return [node.id]
    if isinstance(node, ast.Global | ast.Nonlocal):
        return node.names
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
        return [node.name or ""]
    return []


def capturing(source: Source, name: str, line: int, variable: str) -> Function:
    """The function at `line` that captures a variable."""
    found: list[Function] = [
        node
        for node in [*source.functions(), *source.all(ast.Lambda)]
        if getattr(node, "name", "<lambda>") == name
        and source.first_line(node) <= line <= node.lineno
        and variable in names_in(node) - set(parameters(node))
    ]
    if len(found) != 1:
        raise NoDiff(f"line {line} is not the start of exactly one {name} that uses {variable}")
    method = source.parent(source.function_of(found[0]) or source.tree)
    for other in source.functions():
        around = source.parent(source.function_of(other) or source.tree)
        same = isinstance(around, ast.ClassDef) and around is method and other is not found[0]
        if same and other.name == name and variable in names_in(other):
            raise NoDiff(f"another method has a function {name} that uses {variable}")
    for node in ast.walk(found[0]):
        if variable in parameters(node) or (
            isinstance(node, ast.Nonlocal) and variable in node.names
        ):
            raise NoDiff(f"{name} has another variable {variable}, or rebinds it")
    return found[0]


def function_around(source: Source, name: str, line: int) -> Definition:
    """The innermost function with this name that contains a line."""
    found = [
        node
        for node in source.functions()
        if node.name == name and source.first_line(node) <= line <= (node.end_lineno or 0)
    ]
    if not found:
        raise NoDiff(f"line {line} is not in a function {name}")
    return max(found, key=lambda node: node.lineno)


def uncalled_load(source: Source, name: str, line: int) -> ast.Attribute:
    """The only `variable.name` that is not called, at `line` or, if there is none, in the file."""
    classes = {node.name for node in source.all(ast.ClassDef)}
    loads = [
        node
        for node in source.all(ast.Attribute)
        if node.attr == name and isinstance(node.ctx, ast.Load) and not source.is_called(node)
    ]
    loads = [node for node in loads if node.lineno == line] or [
        node for node in loads if not classes & names_in(node.value)
    ]
    if len(loads) != 1 or not isinstance(loads[0].value, ast.Name):
        raise NoDiff(f"the expression that creates the method {name} is unknown")
    if isinstance(source.statement_of(loads[0]), Definition):
        raise NoDiff("the method is the argument of a decorator")
    return loads[0]


def check_replaceable(source: Source, node: ast.expr) -> None:
    """Raise NoDiff unless a lambda without parentheses can replace the expression."""
    if not isinstance(source.parent(node), _LAMBDA_PARENTS) or source.is_called(node):
        raise NoDiff(f"line {node.lineno} does not store the function itself")


def storing_class(source: Source, attribute: str, line: int) -> ast.ClassDef | None:
    """The class with a method that assigns `self.<attribute>` at `line`."""
    for node in source.all(ast.Attribute):
        if node.attr == attribute and node.lineno == line and isinstance(node.ctx, ast.Store):
            function = source.function_of(node)
            around = source.parent(function) if function else None
            first = parameters(function)[:1] if function else []
            if isinstance(around, ast.ClassDef) and [ast.unparse(node.value)] == first:
                return around
    return None


def stored_values(source: Source, attribute: str, line: int) -> list[ast.expr]:
    """The values stored in the attribute at `line` or, if there are none, in the whole file."""
    found: list[tuple[ast.stmt, ast.expr]] = []
    for statement in ast.walk(source.tree):
        match statement:
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=value) if name == attribute:
                found.append((statement, value))
            case ast.AnnAssign(target=ast.Attribute(attr=name), value=ast.expr() as value):
                found += [(statement, value)] if name == attribute else []
    found = [each for each in found if each[0].lineno <= line <= (each[0].end_lineno or 0)] or found
    if not found:
        raise NoDiff(f"the statement that stores .{attribute} is unknown")
    return [value for _, value in found]


def is_created(source: Source, value: ast.expr) -> bool:
    """Whether an expression creates its value, or is a variable other than a parameter."""
    if isinstance(value, ast.Name):
        function = source.function_of(value)
        return value.id not in parameters(function or value)
    return isinstance(value, _CREATING) or hasattr(value, "generators")
