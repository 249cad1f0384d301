# SPDX-License-Identifier: Apache-2.0
"""Proposes a source change that removes a reference cycle, as a unified diff.

A diff is proposed only if the pattern has a mechanical fix and the source has the expected form;
otherwise NoDiff is raised. Never called during a collection.
"""

from __future__ import annotations

import ast
import builtins
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable

from cyclewatch import (
    _native,
    source_edit,
    source_hazards,
    source_lifetimes,
    source_lines,
    source_syntax,
    source_temporaries,
)
from cyclewatch.source_edit import NoDiff, Source
from cyclewatch.source_syntax import names_in, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cyclewatch._native import Finding, Reference

_CONTAINERS = {"dict", "frozenset", "list", "set", "tuple"}
# Their objects do not call stored functions by themselves.
_PASSIVE_MODULES = {"collections", "functools", "weakref"}
_READS_LOCALS = {"eval", "exec", "locals", "super", "vars"}  # super() needs the first parameter
_UNREGISTERS = ("remove", "discard", "un", "dis", "del", "pop")
_CALLABLES = ("function ", "bound method ", "functools.")
_COMMENT = "  # break a reference cycle"
_MAX_INDENTED = 20  # lines
_MAX_NAMES = 6


def propose(finding: Finding, unchanged_since: float | None = None) -> str:
    """A unified diff that removes the reference to cut, preceded by a comment on what to check.

    `unchanged_since` is the start time of the watch in Unix seconds. Raises NoDiff if the fix is
    not mechanical or the edited file does not compile. Also raises NoDiff if the source changed
    after `unchanged_since` or differs from the lines in the report.
    """
    change = PATTERNS.get(finding.pattern)
    if change is None:
        raise NoDiff(f"fixing {finding.pattern} is not mechanical")
    if not finding.cuts or finding.omitted_cuts:
        raise NoDiff("the finding does not list every reference to cut")
    [path, *others] = {_location(cut)[0] for cut in finding.cuts}
    if others:
        raise NoDiff("the references to cut are in several files")
    text = source_edit.read(path, unchanged_since)
    _check_excerpts(finding, path, text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # compiler warnings
            source = Source(path, text)
            check = _native.clean_text(change(finding, source) + _variants(finding))
            diff = source.diff()
    except RecursionError:
        raise NoDiff(f"{path} is nested too deeply") from None
    return f"{textwrap.fill(check, 98, initial_indent='# ', subsequent_indent='# ')}\n{diff}"


def _variants(finding: Finding) -> str:
    """A sentence that names the other cycles of a merged finding; the diff does not fix them."""
    others = [each.name for each in finding.variants if each.signature != finding.signature]
    if not others:
        return ""
    more = f" and {len(others) - _MAX_NAMES} more" if len(others) > _MAX_NAMES else ""
    names = f"{', '.join(others[:_MAX_NAMES])}{more}"
    return f" The finding also has cycles in {names}: check whether they need the same change."


def _check_excerpts(finding: Finding, path: str, text: str) -> None:
    """Raise NoDiff unless the source lines in the report match the file.

    Comparing the file's timestamps with the start of the watch is not enough, because the process
    may have loaded the file much earlier. The report contains no lines of a file that changed after
    the process started.
    """
    lines = text.removeprefix(source_edit.BYTE_ORDER_MARK).removesuffix("\n").split("\n")
    for cut in finding.cuts:
        if cut.source is None:
            raise NoDiff(
                "the report has no source lines to compare the file with: they were disabled, or "
                f"{path} changed after the program began"
            )
        context = source_lines.CONTEXT if len(cut.source.lines) > 1 else 0  # fields have none
        found = source_lines.excerpt(lines, _location(cut)[1], context)
        if found != (cut.source.first_line, list(cut.source.lines)):
            raise NoDiff(f"{path} has changed since the run")


def _weak_capture(finding: Finding, source: Source) -> str:
    """Let a function or lambda capture a weak reference."""
    _check_stored_on_target(finding, source)
    uses = []
    for cut in finding.cuts:
        variable = _after(cut.label, "closure:")
        function = source_syntax.capturing(source, short(cut.holder), _location(cut)[1], variable)
        source_syntax.check_object(source, variable, function)
        names = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == variable]
        if any(not isinstance(node.ctx, ast.Load) for node in names):
            raise NoDiff(f"{short(cut.holder)} assigns to {variable}")
        uses.append((variable, source.statement_of(function)))
        if isinstance(function, ast.Lambda):
            for name in names:
                source.replace(name, variable, f"weak_{variable}()")
            continue
        source_syntax.check_synchronous(function)
        body = function.body[1:] if ast.get_docstring(function) else function.body
        source.insert_before(body[0], f"{variable} = weak_{variable}()")
    _define_weak(source, uses)
    return _caveat(finding)


def _weak_method(finding: Finding, source: Source) -> str:
    """Replace a bound method with a lambda that looks it up through a weak reference."""
    _check_stored_on_target(finding, source)
    for cut in finding.cuts:
        name = short(cut.holder)
        load = source_syntax.uncalled_load(source, name, _location(cut)[1])
        definitions = [node for node in source.functions() if node.name == name]
        if not definitions:
            raise NoDiff(f"the definition of {name} is not in this file")
        for definition in definitions:
            source_syntax.check_synchronous(definition)
        for call in source.all(ast.Call):
            removes = ast.unparse(call.func).rpartition(".")[2].startswith(_UNREGISTERS)
            if removes and any(getattr(each, "attr", "") == name for each in call.args):
                raise NoDiff(f"line {call.lineno} finds the method by comparison")
        statement = source.statement_of(load)
        variable = ast.unparse(load.value)
        if getattr(getattr(source.parent(load), "func", None), "attr", "") == "add":
            raise NoDiff(f"line {load.lineno} adds the method to a set, which compares its items")
        source_hazards.check_not_compared(source, load, _attributes(finding))
        source_syntax.check_object(source, variable, load)
        source_syntax.check_stored_in(source, statement, variable)
        source_syntax.check_replaceable(source, load)
        weak = f"weak_{name.lstrip('_')}"
        source_syntax.check_unused(source, weak)
        source.insert_before(statement, f"{weak} = weakref.WeakMethod({variable}.{name})")
        function = f"lambda *args, **kwargs: {weak}()(*args, **kwargs)"
        source.replace(load, f"{variable}.{name}", function)
    return _caveat(finding)


def _weak_argument(finding: Finding, source: Source) -> str:
    """Replace a partial with a lambda that passes the object through a weak reference."""
    _check_stored_on_target(finding, source)
    cut = _only_cut(finding)
    line = _location(cut)[1]
    match [n for n in source.all(ast.Call) if n.lineno == line and "partial" in names_in(n.func)]:
        case [ast.Call(args=[ast.Name() as called, ast.Name() as passed], keywords=[]) as call]:
            pass
        case _:
            raise NoDiff(f"line {line} is not a partial of one function and one variable")
    for attribute in source.all(ast.Attribute):
        if attribute.attr in ("func", "args", "keywords") and attribute is not call.func:
            raise NoDiff(f"line {attribute.lineno} may use .{attribute.attr} of the partial")
    source_syntax.check_bound_once(source, called.id, call, may_be_global=True)
    source_syntax.check_object(source, passed.id, call)
    source_syntax.check_replaceable(source, call)
    function = f"lambda *args, **kwargs: {called.id}(weak_{passed.id}(), *args, **kwargs)"
    source.replace(call, None, function)
    _define_weak(source, [(passed.id, source.statement_of(call))])
    return _caveat(finding)


def _weak_property(finding: Finding, source: Source) -> str:
    """Turn an attribute into a property that stores a weak reference.

    The code that uses the attribute does not change.
    """
    if finding.tie:
        raise NoDiff(
            "another reference is an equally good cut, so it is uncertain which object is the "
            "parent"
        )
    done = set()
    for cut in finding.cuts:
        name = _after(cut.label, ".")
        if cut.holder == cut.target and len(finding.cycle) < 3:
            raise NoDiff(
                "both objects have the same class, so it is uncertain which one is the parent"
            )
        line = _location(cut)[1]
        owner = source_syntax.storing_class(source, name, line) or source.class_named(cut.holder)
        _check_weakly_referable(source, cut.target)
        if (owner, name) in done:
            continue
        done.add((owner, name))
        _check_replaceable(source, owner, name)
        source_lifetimes.check_values(source, owner, name)
        source_temporaries.check_not_registered(source, owner, name)
        source_temporaries.check_not_temporary(
            source, source.class_named(cut.target), _attributes(finding)
        )
        reference = f"_{name.lstrip('_')}_reference"
        source_syntax.check_unused(source, reference)
        for default in source_syntax.class_defaults(owner, name):
            source.replace(default, name, reference)
        stored = f"self.{reference}"
        constructors = [n for n in owner.body if getattr(n, "name", "") == "__init__"]
        source.insert_after(
            constructors[-1] if constructors else owner.body[-1],
            "",
            "@property",
            f"def {name}(self):",
            f"{source.unit}return None if {stored} is None else {stored}()",
            "",
            f"@{name}.setter",
            f"def {name}(self, {name}):",
            f"{source.unit}{stored} = None if {name} is None else weakref.ref({name})",
        )
    users = sorted({f"{short(cut.holder)}{cut.label}" for cut in finding.cuts})
    targets = " and ".join(sorted({short(cut.target) for cut in finding.cuts}))
    return (
        f"Check that the program keeps each {targets} alive while it uses {', '.join(users)}: "
        "the property is None once this object is freed. If another file makes deep copies, the "
        f"properties of the copies refer to the original {targets}."
    )


def _clear_variables(finding: Finding, source: Source) -> str:
    """Delete local variables after their last use, or set them to None."""
    names = [_after(cut.label, "local:") for cut in finding.cuts]
    line = min(_location(cut)[1] for cut in finding.cuts)
    holders = {cut.holder for cut in finding.cuts}
    function = source_syntax.function_around(source, short(holders.pop()), line)
    source_syntax.check_synchronous(function)  # a generator may be closed at any `yield`
    if holders:
        raise NoDiff("the variables belong to several functions")
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in names:
            source_syntax.check_eager(source, node)
            if source.function_of(node) is not function:
                raise NoDiff(f"an inner function uses {node.id}")
        elif isinstance(node, ast.Global | ast.Nonlocal) and set(names) & set(node.names):
            raise NoDiff("the variable is not local")
    _clear(
        source, function.body, names, {*names, *_READS_LOCALS}, source_syntax.parameters(function)
    )
    return f"Clears {', '.join(sorted(names))} of {function.name}() after the last use."


def _clear_function(finding: Finding, source: Source) -> str:
    """Delete a recursive inner function after its last call."""
    cut = _only_cut(finding)
    name = _after(cut.label, "closure:")
    group = {name, short(cut.holder)}
    inner = source_syntax.capturing(source, short(cut.holder), _location(cut)[1], name)
    outer = source.function_of(inner)
    statement = source.statement_of(inner)
    block = source.block_of(statement)
    within = [n for n in source.functions() if n.name in group and source.function_of(n) is outer]
    in_class = isinstance(source.parent(statement), ast.ClassDef)
    if (
        outer is None
        or in_class
        or [n for n in block if n in within] != within
        or len(within) != len(group)
    ):
        raise NoDiff(f"{name} is not an inner function with a unique name")
    for function in within:
        source_syntax.check_synchronous(function)
        if function.decorator_list:
            raise NoDiff(f"{function.name} has a decorator")
    for node in ast.walk(outer):
        if not isinstance(node, ast.Name) or node.id not in group:
            continue
        around = list(source.ancestors(node))
        if not source.is_called(node) or not any(each in around for each in block):
            raise NoDiff(f"line {node.lineno} may let other code call {node.id} later")
        if source.function_of(node) not in (outer, *within):
            raise NoDiff(f"another inner function calls {node.id}")
        source_syntax.check_eager(source, node)
    _clear(source, block, [name], group, [])
    return f"Deletes the inner function {name}() after its last call."


def _clear(
    source: Source, block: list[ast.stmt], names: list[str], used: set[str], parameters: list[str]
) -> None:
    """Clear the variables `names` after the last statement of `block` that uses a name in `used`.

    If an earlier statement can leave the block, the variables are cleared in a `finally` clause.
    """
    uses = [i for i, statement in enumerate(block) if used & names_in(statement)]
    if not set(names) <= {name for statement in block for name in names_in(statement)}:
        raise NoDiff(f"the function does not use {names[0]}")
    first, last = 0 if set(names) & set(parameters) else uses[0], uses[-1]
    exits = [i for i in range(first, last + 1) if source_syntax.leaves(source, block[i])]
    end = exits[0] if exits else last + 1
    unbound = set(source_syntax.unbound_in(block))
    bound = {*parameters, *(name for each in block[:end] for name in source_syntax.binds(each))}
    certain = set(names) <= bound - unbound
    cleanup = f"del {', '.join(names)}" if certain else f"{' = '.join(names)} = None"
    if not exits:
        source.insert_after(block[last], cleanup + _COMMENT)
        return
    lines = (block[last].end_lineno or 0) - block[end].lineno
    if end != last and lines > _MAX_INDENTED:
        raise NoDiff(f"the fix would indent {lines} lines")
    source.wrap(block[end : last + 1], cleanup + _COMMENT)


def _define_weak(source: Source, uses: Iterable[tuple[str, ast.stmt]]) -> None:
    """Create each weak reference once per block, before its first use."""
    first: dict[tuple[str, int], ast.stmt] = {}
    for variable, statement in sorted(uses, key=lambda use: use[1].lineno):
        source_syntax.check_unused(source, f"weak_{variable}")
        source_syntax.check_stored_in(source, statement, variable)
        first.setdefault((variable, id(source.block_of(statement))), statement)
    for (variable, _), statement in first.items():
        source.insert_before(statement, f"weak_{variable} = weakref.ref({variable})")


def _check_stored_on_target(finding: Finding, source: Source) -> None:
    """Raise NoDiff unless the target created the objects through which it refers to the callable.

    An object that other code created may outlive the target, or may be the only object that keeps
    the target alive until the call.
    """
    [target, *others] = {cut.target for cut in finding.cuts}
    if others:
        raise NoDiff("the references lead to several classes")
    source_hazards.check_any_callable(source)
    source_hazards.check_no_reflection(source, source.class_named(target))
    source_hazards.check_not_looked_up(source, _attributes(finding))
    _check_weakly_referable(source, target)
    if all(reference.holder != target for reference in finding.cycle):
        raise NoDiff(f"the cycle does not contain a reference from a {short(target)}")
    for reference in finding.cycle:
        module, dot, _ = reference.holder.partition(".")
        if " " in reference.holder or reference.holder in _CONTAINERS:
            continue
        if not dot or (module in sys.stdlib_module_names and module not in _PASSIVE_MODULES):
            raise NoDiff(
                f"a {reference.holder} calls the function, and may be the only object that keeps "
                f"the {short(target)} alive until then"
            )
        if reference.holder != target:
            source_temporaries.check_not_published(source, reference.holder)
        else:
            name = _after(reference.label, ".")
            values = source_syntax.stored_values(source, name, _location(reference)[1])
            # `model().run()` frees the model before the call if `run` stores a function. A bound
            # method keeps its model alive.
            is_function = reference.target.startswith(_CALLABLES)
            if is_function and not name.startswith("_"):
                raise NoDiff(f"callers may use .{name} of a temporary object")
            direct = reference.target.startswith("bound method ")
            if not direct and not all(source_syntax.is_created(source, each) for each in values):
                raise NoDiff(f"the {short(target)} did not create its .{name}")
            if is_function or reference.target in _CONTAINERS:
                source_lifetimes.check_stays_inside(source, name, is_function)
    source_temporaries.check_not_temporary(source, source.class_named(target), _attributes(finding))


def _check_weakly_referable(source: Source, target: str) -> None:
    if " " in target or target in dir(builtins):
        raise NoDiff(f"the reference leads to a {target}")
    source_hazards.check_weakly_referable(source, source.class_named(target))


def _check_replaceable(source: Source, owner: ast.ClassDef, name: str) -> None:
    """Raise NoDiff unless a property can replace the attribute."""
    special = {name, "__slots__", "__getattr__", "__getattribute__", "__setattr__"}
    defaults = set(source_syntax.class_defaults(owner, name))
    for each in source.bases_of(owner, complete=True):
        if each.decorator_list or each.keywords:
            raise NoDiff(f"{each.name} has a decorator or a metaclass")
        for node in each.body:
            defined = special & {getattr(node, "name", ""), *source_syntax.binds(node)}
            if defined and not (each is owner and set(getattr(node, "targets", ())) & defaults):
                raise NoDiff(f"{each.name} defines {defined.pop()}")
    for attribute in source.all(ast.Attribute):
        if attribute.attr == name and isinstance(attribute.ctx, ast.Del):
            raise NoDiff(f"line {attribute.lineno} deletes .{name}")
    for attribute in source.all(ast.Attribute):
        if attribute.attr == name and ast.unparse(attribute.value) == owner.name:
            raise NoDiff(f"line {attribute.lineno} uses {owner.name}.{name}")
    source_hazards.check_weak_attribute(source, owner, name)


def _caveat(finding: Finding) -> str:
    target = short(finding.cuts[0].target)
    return (
        f"Check that the program keeps each {target} alive while it uses the stored function, "
        f"which fails once its {target} is freed."
    )


def _attributes(finding: Finding) -> set[str]:
    """The attributes of the target that are part of the cycle."""
    targets = {cut.target for cut in finding.cuts}
    return {each.label[1:] for each in finding.cycle if each.holder in targets}


def _only_cut(finding: Finding) -> Reference:
    if len(finding.cuts) != 1:
        raise NoDiff("several references must be cut")
    return finding.cuts[0]


def _location(reference: Reference) -> tuple[str, int]:
    path, _, line = (reference.location or "").rpartition(":")
    if not path or not line.isdecimal():
        raise NoDiff(f"the location of {reference.label} is unknown")
    return path, int(line)


def _after(label: str, prefix: str) -> str:
    name = label.removeprefix(prefix)
    if not label.startswith(prefix) or not name.isidentifier():
        raise NoDiff(f"the reference {label} has another form")
    return name


PATTERNS: dict[str, Callable[[Finding, Source], str]] = {
    "back-pointer": _weak_property,
    "bound-method-on-self": _weak_method,
    "closure-captures-owner": _weak_capture,
    "closure-captures-self": _weak_capture,
    "exception-in-frame": _clear_variables,
    "frame-in-own-local": _clear_variables,
    "partial-of-self": _weak_argument,
    "recursive-closure": _clear_function,
}
