# SPDX-License-Identifier: Apache-2.0
"""Finds code that may use a part of an object after the object itself is freed.

The parts of an object are its attributes, its items, and the results of calls that receive the
object as an argument. Only one file is examined; the comment above a diff tells the user to check
the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from cyclewatch.source_edit import FUNCTIONS, NoDiff, Source
from cyclewatch.source_lifetimes import is_handed_over, is_read, subclasses
from cyclewatch.source_syntax import names_in, parameters, short

_STORES = {
    *("add", "append", "appendleft", "extend", "heappush", "insert", "put", "put_nowait"),
    *("register", "setattr", "setdefault", "submit", "update"),
}
_TAKES_ITEM = {"copy", "get", "items", "pop", "popitem", "popleft", "values"}
_RETURNS_NO_PART = {
    *("all", "any", "bool", "float", "format", "hash", "id", "int", "isinstance", "len"),
    *("print", "range", "repr", "str", "sum"),
}
_OWN_CLASS = {"cls", "type(self)", "self.__class__"}
_RESULTS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)
_NO_PART = (ast.Compare, ast.Constant, ast.JoinedStr)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def check_not_temporary(source: Source, target: ast.ClassDef, names: set[str]) -> None:
    """Raise NoDiff unless each instance of `target` that the file creates outlives its parts.

    `names` are the attributes of the instance that are part of the cycle.
    """
    factories = _factories(source, target)
    parts = _Parts(source, factories, names)
    for node in [*source.all(ast.Name), *source.all(ast.Attribute)]:
        name = getattr(node, "id", "") or getattr(node, "attr", "")
        if name in names and isinstance(_root(node), ast.Call):
            raise NoDiff(f"line {node.lineno} uses .{name} of a temporary object")
        called = source.is_called(node)
        if name in factories and is_read(node) and not called and is_handed_over(source, node):
            raise NoDiff(f"line {node.lineno} may create a temporary {name}")
    for call in source.all(ast.Call):
        if _is_creation(source, call, factories) and not parts.is_kept(call):
            raise NoDiff(f"line {call.lineno} may use an attribute or item of a temporary object")
    for function in source.functions():
        parts.check_function(function)
    for scope in [source.tree, *source.functions()]:
        parts.check_replaced(scope)


def check_not_registered(source: Source, owner: ast.ClassDef, name: str) -> None:
    """Raise NoDiff if a method of `owner` stores `self` in another object.

    Storing `self` in a parent or a child is allowed. `name` is the attribute that stores the
    parent.
    """
    for method in _methods(owner):
        this = parameters(method)[:1]
        local = {*parameters(method), *(each for node in _own(method) for each in _names(node))}
        parent = {
            getattr(node.value, "id", "")
            for node in _own(method)
            if isinstance(node, ast.Assign)
            and any(getattr(each, "attr", "") == name for each in node.targets)
        }
        for value in _stored(method, {*this, *parent}, local):
            if any(isinstance(each, ast.Name) and [each.id] == this for each in _inner(value)):
                raise NoDiff(f"line {value.lineno} stores the {owner.name} in another object")


def check_not_published(source: Source, name: str) -> None:
    """Raise NoDiff if a method of the class stores a parameter, or a part of it, outside `self`."""
    owners = [each for each in source.all(ast.ClassDef) if each.name == short(name)]
    for owner, method in [(each, method) for each in owners for method in _methods(each)]:
        for value in _stored(method, set(parameters(method)[:1])):
            roots = {getattr(_root(each), "id", "") for each in _inner(value)}
            if roots & set(parameters(method)):
                raise NoDiff(f"line {value.lineno} of {owner.name} stores a function elsewhere")


def _factories(source: Source, target: ast.ClassDef) -> set[str]:
    """The classes and functions that, if called, return a `target` or an object that stores one."""
    factories = {each.name for each in (target, *subclasses(source, target))}
    while True:
        found = set(factories)
        for function in source.functions():
            created = _created(source, function, factories)
            if getattr(source.parent(function), "name", "") in factories:
                created |= set(parameters(function)[:1])
            for node in ast.walk(function):
                value = node.value if isinstance(node, ast.Return | ast.Yield) else None
                if value and _creates(source, value, factories, created):
                    found.add(function.name)
        if found == factories:
            return factories
        factories = found


def _is_creation(source: Source, node: ast.AST, factories: set[str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func)
    around = [each.name for each in source.ancestors(node) if isinstance(each, ast.ClassDef)]
    return short(called) in factories or (called in _OWN_CLASS and bool(factories & set(around)))


def _creates(source: Source, value: ast.AST, factories: set[str], created: set[str]) -> bool:
    return any(
        _is_creation(source, each, factories) or getattr(each, "id", "") in created
        for each in _inner(value)
    )


def _created(source: Source, scope: ast.AST, factories: set[str]) -> set[str]:
    """The variables in a scope that refer to objects created by one of the `factories`."""
    found: set[str] = set()
    for _ in range(2):
        for node in _own(scope):
            if not isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
                continue
            if node.value and _creates(source, node.value, factories, found):
                targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
                found.update(each.id for each in targets if isinstance(each, ast.Name))
    return found


def _inner(value: ast.AST) -> Iterator[ast.AST]:
    """An expression, and the expressions whose values it contains, such as list items."""
    yield value
    if isinstance(value, ast.IfExp):
        children = [value.body, value.orelse]
    else:
        children = [
            *getattr(value, "elts", []),
            *(getattr(value, "values", None) or []),
            *(getattr(value, each) for each in ("elt",) if hasattr(value, each)),
        ]
        if isinstance(value, ast.DictComp | ast.NamedExpr | ast.Starred | ast.Await):
            children.append(value.value)
    for child in children:
        yield from _inner(child)


class _Parts:
    """Finds the parts of objects.

    The parts of an object are the attributes in `names`, its items, and the results of calls that
    receive the object or one of its parts as an argument.
    """

    def __init__(self, source: Source, factories: set[str], names: set[str]) -> None:
        self._source = source
        self._factories = factories
        self._names = names
        self._getters: set[str] = set()  # methods that return parts
        methods = [n for n in source.functions() if isinstance(source.parent(n), ast.ClassDef)]
        self._methods = {each.name for each in methods}
        for method in methods:
            this = set(parameters(method)[:1])
            parts = self._found(method, this)
            if any(self._leaves(value, this, parts) for value in _returned(method)):
                self._getters.add(method.name)
        self._names = names | self._getters

    def is_kept(self, call: ast.Call) -> bool:
        """Whether the object that `call` creates is stored, returned, or used only while alive."""
        node: ast.AST = call
        user = self._source.parent(node)
        if isinstance(user, ast.Attribute):
            used = self._source.parent(user)
            if not self._source.is_called(user) or user.attr in self._names - self._getters:
                return False
            discarded = isinstance(self._source.parent(used), ast.Expr)
            return discarded or user.attr in self._methods - self._getters
        if isinstance(user, ast.keyword):
            user = self._source.parent(user)
        if isinstance(user, ast.Call) and user.func is node:
            return "__call__" in self._methods - self._names
        if isinstance(user, ast.Call):
            return isinstance(self._source.parent(user), ast.Expr)
        while isinstance(user, _RESULTS) or (isinstance(user, ast.IfExp) and user.test is not node):
            node, user = user, self._source.parent(user)
        match user:
            case ast.Expr():
                return True
            case ast.Return():
                return isinstance(self._source.function_of(user), ast.FunctionDef)
            case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript()]):
                return True
        return isinstance(user, ast.AnnAssign)

    def check_function(self, function: ast.AST) -> None:
        """Raise NoDiff if a function creates an object and stores or returns only a part of it."""
        created = _created(self._source, function, self._factories)
        parts = self._found(function, created)
        for value in [*_returned(function), *_stored(function, created | parts)]:
            if self._leaves(value, created, parts):
                raise NoDiff(
                    f"line {value.lineno} stores or returns an attribute or item of an object, but "
                    "not the object"
                )

    def check_replaced(self, scope: ast.AST) -> None:
        """Raise NoDiff if deleting or rebinding a variable may free an object before its parts."""
        variables = [node for node in _own(scope) if isinstance(node, ast.Name)]
        for name in _created(self._source, scope, self._factories):
            parts = self._found(scope, {name})
            first, *freed = sorted(n.lineno for n in variables if n.id == name and not is_read(n))
            loops = [
                each
                for each in _own(scope)
                if isinstance(each, _LOOPS) and each.lineno <= first <= (each.end_lineno or 0)
            ]
            for value in _stored(scope, {name} | parts) if freed or loops else ():
                if self._leaves(value, {name}, parts):
                    raise NoDiff(
                        f"line {value.lineno} stores an attribute or item of an object that may be "
                        "freed when its variable is reassigned"
                    )
            for node in [each for each in variables if each.id in parts and is_read(each)]:
                for loop in loops:
                    # Until the variable is assigned, it refers to a part of the previous object.
                    stores = [n.lineno for n in variables if n.id == node.id and not is_read(n)]
                    begin = min((each for each in stores if each >= loop.lineno), default=0)
                    if loop.lineno <= node.lineno < begin or node.lineno > (loop.end_lineno or 0):
                        freed.append(node.lineno - 1)
                if freed and node.lineno > min(freed):
                    raise NoDiff(
                        f"line {node.lineno} uses an attribute or item of an object that may be "
                        "freed"
                    )

    def _found(self, scope: ast.AST, created: set[str]) -> set[str]:
        """The variables in a scope that may refer to parts of the objects named in `created`."""
        parts: set[str] = set()
        for _ in range(3):
            for node in _own(scope):
                value = getattr(node, "value", None) or getattr(node, "iter", None)
                if isinstance(node, ast.withitem):
                    value = node.context_expr
                if value is None or not (targets := set(_names(node)) - created):
                    continue
                unpacks = not isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) or any(
                    isinstance(each, ast.Tuple | ast.List) for each in getattr(node, "targets", ())
                )
                whole = unpacks and getattr(value, "id", "") in created
                if whole or self._is_part(value, created, parts):
                    parts |= targets
        return parts

    def _leaves(self, value: ast.expr, created: set[str], parts: set[str]) -> bool:
        """Whether a value refers to a part of the created object, but not to the object itself."""
        if created & {getattr(each, "id", "") for each in _inner(value)}:
            return False
        return self._is_part(value, created, parts)

    def _is_part(self, value: ast.AST, created: set[str], parts: set[str]) -> bool:
        if isinstance(value, ast.Name):
            return value.id in parts
        if isinstance(value, ast.Attribute | ast.Subscript):
            root = getattr(_root(value), "id", "")
            attributes = {getattr(each, "attr", "") for each in _chain(value)}
            through = root in created | parts and bool(self._names & attributes)
            item = isinstance(value, ast.Subscript) and (
                getattr(value.value, "id", "") in created
                or self._is_part(value.value, created, parts)
            )
            return through or item
        if isinstance(value, ast.Call):
            name = short(ast.unparse(value.func))
            arguments = [*value.args, *(each.value for each in value.keywords)]
            whole = created & {getattr(each, "id", "") for each in arguments}
            if name not in _RETURNS_NO_PART and (
                whole or any(self._is_part(each, created, parts) for each in arguments)
            ):
                return True
            return name in self._getters | _TAKES_ITEM and self._is_part(value.func, created, parts)
        if isinstance(value, ast.Lambda):
            return bool(parts & names_in(value))
        if hasattr(value, "generators"):
            return any(self._is_part(each, created, parts) for each in [*_inner(value)][1:])
        if isinstance(value, _NO_PART):
            return False
        return any(self._is_part(each, created, parts) for each in ast.iter_child_nodes(value))


def _methods(owner: ast.ClassDef) -> list[ast.FunctionDef]:
    return [each for each in owner.body if isinstance(each, ast.FunctionDef)]


def _own(scope: ast.AST) -> list[ast.AST]:
    """The AST nodes of a function, or those of a module that are outside its functions."""
    if isinstance(scope, FUNCTIONS):
        return list(ast.walk(scope))
    found: list[ast.AST] = [scope]
    for each in found:
        found += [n for n in ast.iter_child_nodes(each) if not isinstance(n, FUNCTIONS)]
    return found


def _names(node: ast.AST) -> Iterator[str]:
    """The variables that a statement or a comprehension assigns."""
    targets = [*getattr(node, "targets", ())]
    targets += [getattr(node, each, None) for each in ("target", "optional_vars")]
    for target in filter(None, targets):
        for each in ast.walk(target):
            if isinstance(each, ast.Name) and not is_read(each):
                yield each.id


def _returned(function: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and node.value:
            yield node.value


def _stored(
    scope: ast.AST, inside: set[str], attributes_of: set[str] | None = None
) -> Iterator[ast.expr]:
    """The values that a scope stores outside the objects named in `inside`.

    Assignments to attributes and items of the variables in `attributes_of` are omitted.
    """
    shared = {n for node in _own(scope) for n in getattr(node, "names", ()) if isinstance(n, str)}
    for node in _own(scope):
        if isinstance(node, ast.Call) and short(ast.unparse(node.func)) in _STORES:
            known = getattr(_root(node.func), "id", "") in inside
            yield from [] if known else [*node.args, *(each.value for each in node.keywords)]
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value:
            targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
            for each in [n for target in filter(None, targets) for n in ast.walk(target)]:
                known = getattr(_root(each), "id", "") in inside | (attributes_of or set())
                outside = isinstance(each, ast.Attribute | ast.Subscript) and not is_read(each)
                if (outside and not known) or getattr(each, "id", "") in shared:
                    yield node.value


def _chain(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions that make up `variable.attribute[0]`, outermost first."""
    yield node
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
        yield node


def _root(node: ast.AST) -> ast.AST:
    return [*_chain(node)][-1]
