# SPDX-License-Identifier: Apache-2.0
"""Finds code that shows that an object cannot be referenced weakly, or may be only temporary.

Only simple forms in the same file are found; the comment above a diff names what to check.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator

from cyclewatch.source_edit import FUNCTIONS, Definition, NoDiff, Source
from cyclewatch.source_hazards import check_weakly_referable
from cyclewatch.source_syntax import names_in, parameters, short

_KEEPS_NOTHING = {"bool", "callable", "enumerate", "len", "print", "reversed", "zip"}
_TYPE_CHECKS = {"isinstance", "issubclass", "super"}
_TESTS = (ast.Expr, ast.For, ast.comprehension, ast.If, ast.While, ast.Assert, ast.Delete)
_HANDS_OVER = (ast.Call, ast.keyword, ast.List, ast.Set, ast.Dict, ast.For, ast.comprehension)
_RETURNS = (ast.Return, ast.Yield, ast.YieldFrom)


def check_values(source: Source, owner: ast.ClassDef, name: str) -> None:
    """Raise NoDiff unless all values stored in `owner.name` certainly support weak references.

    These are None, `self`, instances that the file creates, and parameters to which only such
    values are passed in the file.
    """
    related = {*source.bases_of(owner), *_subclasses(source, owner)}
    for node in source.all(ast.Attribute):
        if node.attr != name or not isinstance(node.ctx, ast.Store):
            continue
        method = source.function_of(node)
        around = source.parent(method) if method else None
        own = method is not None and [ast.unparse(node.value)] == parameters(method)[:1]
        if own and isinstance(around, ast.ClassDef) and around not in related:
            continue
        match source.parent(node):
            case ast.Assign(targets=targets, value=value) if node in targets:
                _check_value(source, value, set())
            case ast.AnnAssign(value=ast.expr() as value):
                _check_value(source, value, set())
            case ast.AnnAssign():
                pass
            case _:
                raise NoDiff(f"line {node.lineno} stores an unknown value in .{name}")


def _check_value(source: Source, value: ast.expr, seen: set[tuple[int, str]]) -> None:
    classes = {node.name: node for node in source.all(ast.ClassDef)}
    match value:
        case ast.Constant(value=None):
            return
        case ast.Call(func=ast.Name(id=called)) if called in classes:
            check_weakly_referable(classes[called])
            return
        case ast.Name() if _is_checked(source, value, seen):
            return
    raise NoDiff(f"line {value.lineno} may use an object that does not support weak references")


def _is_checked(source: Source, variable: ast.Name, seen: set[tuple[int, str]]) -> bool:
    """Whether the file assigns the variable; raises NoDiff if one of its values is unsuitable."""
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
            match source.parent(store):
                case ast.Assign(targets=targets, value=value) if store in targets:
                    _check_value(source, value, seen)
                case ast.Delete():
                    pass
                case _:
                    raise NoDiff(f"line {store.lineno} assigns an unknown value to {name}")
        is_method = isinstance(source.parent(scope), ast.ClassDef)
        if name in parameters(scope) and not (is_method and name == parameters(scope)[0]):
            for value in _arguments(source, scope, name):
                _check_value(source, value, seen)
        return True
    return False


def _arguments(source: Source, function: ast.AST, name: str) -> Iterator[ast.expr]:
    """The values that the file passes to a parameter, and its default."""
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
    """The calls of a function, and whether its first parameter is not among the arguments."""
    around = source.parent(function)
    names = {function.name}
    if isinstance(around, ast.ClassDef) and function.name == "__init__":
        names |= {each.name for each in (around, *_subclasses(source, around))} | {"cls"}
    for node in [*source.all(ast.Name), *source.all(ast.Attribute)]:
        if getattr(node, "id", getattr(node, "attr", "")) not in names:
            continue
        call = source.parent(node)
        if isinstance(call, ast.Call) and call.func is node:
            through_class = ast.unparse(node).partition(".")[0] in names - {"cls", function.name}
            explicit = through_class and isinstance(node, ast.Attribute)  # Base.__init__(self)
            yield call, isinstance(around, ast.ClassDef) and not explicit
        elif _is_read(node) and _is_handed_over(source, node):
            raise NoDiff(f"line {node.lineno} may call {function.name} with unknown arguments")


def _is_handed_over(source: Source, node: ast.AST) -> bool:
    """Whether other code may call a function or class, as in `map(Child, names)`."""
    user = source.parent(node)
    if isinstance(user, ast.Tuple):
        node, user = user, source.parent(user)
    if isinstance(user, ast.Call):
        return short(ast.unparse(user.func)) not in _TYPE_CHECKS
    stored = isinstance(user, ast.Assign | ast.AnnAssign) and user.value is node
    return stored or isinstance(user, (*_HANDS_OVER, *_RETURNS))


def _subclasses(source: Source, base: ast.ClassDef) -> list[ast.ClassDef]:
    return [
        node
        for node in source.all(ast.ClassDef)
        if node is not base and base in source.bases_of(node)
    ]


def check_not_temporary(source: Source, target: ast.ClassDef, names: Collection[str]) -> None:
    """Raise NoDiff if the file uses a part of an instance of `target` that may be freed by then.

    `names` are the attributes of the instance through which the cycle goes.
    """
    classes = {each.name for each in (target, *_subclasses(source, target))}
    makers = classes | {
        function.name
        for function in source.functions()
        if classes & names_in(function)
        and any(isinstance(each, ast.Return) and each.value for each in ast.walk(function))
    }
    for node in source.all(ast.Attribute):
        if not isinstance(node.value, ast.Call):
            continue
        called = short(ast.unparse(node.value.func))
        if node.attr in names or (called in makers and not _is_discarded(source, node)):
            raise NoDiff(f"line {node.lineno} uses .{node.attr} of a temporary object")
    for function in source.functions():
        _check_returned(source, function, makers, names)


def _check_returned(
    source: Source, function: Definition, makers: set[str], names: Collection[str]
) -> None:
    """Raise NoDiff if the function returns a part of an object that it creates, without the object.

    A part is an attribute in `names`, or an instance that was created with the object.
    """
    created = set(_locals(function, lambda value: _called(value) in makers))
    classes = {node.name for node in source.all(ast.ClassDef)}

    def is_part(value: ast.expr) -> bool:
        for node in ast.walk(value):
            owner = node.value if isinstance(node, ast.Attribute) and node.attr in names else None
            if getattr(owner, "id", "") in created and not source.is_called(node):
                return True
            if isinstance(node, ast.Call) and _called(node) in classes:
                arguments = [*node.args, *(each.value for each in node.keywords)]
                if created & {getattr(each, "id", "") for each in arguments}:
                    return True
        return False

    parts = set(_locals(function, is_part))
    for leave in ast.walk(function):
        if not isinstance(leave, ast.Return | ast.Yield) or leave.value is None:
            continue
        items = leave.value.elts if isinstance(leave.value, ast.Tuple) else [leave.value]
        returned = {getattr(each, "id", "") for each in items}
        if not returned & created and (returned & parts or is_part(leave.value)):
            raise NoDiff(f"line {leave.lineno} returns a part of an object that is freed then")


def _locals(function: Definition, test: Callable[[ast.expr], bool]) -> Iterator[str]:
    """The variables to which a suitable value is assigned."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and test(node.value):
            yield from (each.id for each in node.targets if isinstance(each, ast.Name))


def _is_read(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load)


def _called(value: ast.expr) -> str:
    return short(ast.unparse(value.func)) if isinstance(value, ast.Call) else ""


def _is_discarded(source: Source, node: ast.AST) -> bool:
    """Whether a chain of calls is a statement, so that its object outlives all of them."""
    user = source.parent(node)
    while isinstance(user, ast.Call | ast.Attribute):
        node, user = user, source.parent(user)
    return isinstance(user, ast.Expr)


def check_stays_inside(source: Source, name: str) -> None:
    """Raise NoDiff unless stored functions in the attribute `name` are only called or tested."""
    for node in source.all(ast.Attribute):
        if node.attr == name and _is_read(node):
            _check_use(source, node, name, node)


def _check_use(source: Source, node: ast.expr, name: str, start: ast.expr) -> None:
    """Follow the value of an expression outwards."""
    user = source.parent(node)
    match user:
        case ast.Call(func=function) if function is node:
            # self.run(x) calls the function; self.handlers.get(x) can return it.
            if not isinstance(node, ast.Attribute) or node is start:
                return
        case ast.Call(func=function) if short(ast.unparse(function)) in _KEEPS_NOTHING:
            pass
        case ast.Attribute() | ast.BoolOp() | ast.UnaryOp():
            pass
        case ast.Subscript(value=value, ctx=ast.Load()) if value is node:
            pass
        case ast.Compare() | ast.Subscript():
            return
        case ast.Assign(targets=[ast.Name(id=variable)]) if source.function_of(node):
            for other in ast.walk(source.function_of(node) or node):
                if isinstance(other, ast.Name) and other.id == variable and _is_read(other):
                    _check_use(source, other, name, other)
            return
        case _:
            if isinstance(user, _TESTS):
                return
            raise NoDiff(f"line {node.lineno} may keep a function of .{name} for later")
    if isinstance(user, ast.expr):
        _check_use(source, user, name, start)
