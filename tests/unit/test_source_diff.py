# SPDX-License-Identifier: Apache-2.0
"""Proposed changes to a source file. tests/corpus/run_diffs.py runs the changed programs."""

import os
import subprocess
import textwrap
import types
import weakref
from pathlib import Path

import pytest

from cyclewatch import source_diff, source_edit, source_lines


def reference(holder, label, target, location):
    source = None
    if location is not None:
        path, _, line = location.rpartition(":")
        text = Path(path).read_text().removesuffix("\n")
        first, lines = source_lines.excerpt(text.split("\n"), int(line))
        source = types.SimpleNamespace(first_line=first, line=int(line), lines=lines)
    return types.SimpleNamespace(
        holder=holder, label=label, target=target, location=location, source=source
    )


def finding(pattern, cuts, *others):
    return types.SimpleNamespace(
        pattern=pattern,
        cuts=cuts,
        cycle=[*others, *cuts],
        omitted_cuts=0,
        tie=False,
        signature="cw1-1",
        variants=[],
    )


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A function that writes a source file and returns the path."""
    monkeypatch.chdir(tmp_path)

    def write(text):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        return path

    return write


def line_of(path, part):
    [number] = [i for i, line in enumerate(path.read_text().split("\n"), 1) if part in line]
    return f"{path}:{number}"


def lambda_on_self(path):
    place = line_of(path, "self._scale = ")
    function = "function program.Model.__init__.<locals>.<lambda>"
    return finding(
        "closure-captures-self",
        [reference(function, "closure:self", "program.Model", place)],
        reference("program.Model", "._scale", function, place),
    )


def back_pointer(path, part="self.model = "):
    return finding(
        "back-pointer",
        [reference("program.Head", ".model", "program.Model", line_of(path, part))],
        reference("program.Model", ".head", "program.Head", None),
    )


def error_in_local(path, name="last", part="def work"):
    cut = reference("frame of program.work", f"local:{name}", "ValueError", line_of(path, part))
    return finding("exception-in-frame", [cut])


def recursive(path):
    name = "function program.outer.<locals>.load"
    cut = reference(name, "closure:load", name, line_of(path, "def load"))
    return finding("recursive-closure", [cut])


def applied(diff, path):
    """Apply the diff with `git apply`, run the program, and return its namespace."""
    subprocess.run(["git", "apply", "-p0"], input=diff, text=True, cwd=path.parent, check=True)
    names = {"__name__": "program"}
    exec(compile(path.read_bytes(), str(path), "exec"), names)
    return names


MODEL = """\
    '''A model.'''
    from __future__ import annotations

    import os
    import zlib

    class Model:
        def __init__(self, factor):
            self.factor = factor
            # Scales.
            self._scale = lambda x: x * self.factor  # often called
    """


def test_a_lambda_captures_a_weak_reference(program):
    path = program(MODEL)
    diff = source_diff.propose(lambda_on_self(path))
    changed = [line for line in diff.split("\n") if line.startswith(("+", "-"))]
    assert changed == [
        "--- program.py",
        "+++ program.py",
        "+import weakref",
        "-        self._scale = lambda x: x * self.factor  # often called",
        "+        weak_self = weakref.ref(self)",
        "+        self._scale = lambda x: x * weak_self().factor  # often called",
    ]
    model = applied(diff, path)["Model"](3)
    model.factor = 4
    assert model._scale(2) == 8
    assert path.read_text().index("os") < path.read_text().index("weakref")


PARENT = """\
    class Base:
        pass

    class Model:
        pass

    class Head(Base):
        model = None
        def __init__(self, model):
            self.model = model
    """


def test_a_back_pointer_becomes_a_property(program):
    path = program(PARENT)
    names = applied(source_diff.propose(back_pointer(path)), path)
    model = names["Model"]()
    head = names["Head"](model)
    assert head.model is model  # not a proxy, which has another identity and no hash
    other = names["Model"]()
    head.model = other
    assert head.model is other
    head.model = None
    assert head.model is None
    assert names["Head"].__new__(names["Head"]).model is None  # the default of the class
    head.model = model
    del model
    assert head.model is None


METHOD = """\
    class Model:
        def __init__(self):
            self._run = self.step

        def step(self, x, scale=1):
            return x * scale
    """


def bound_method(path, attribute="_run"):
    place = line_of(path, f"self.{attribute} = ")
    cut = reference("bound method program.Model.step", "__self__", "program.Model", place)
    stored = reference("program.Model", f".{attribute}", "bound method program.Model.step", place)
    return finding("bound-method-on-self", [cut], stored)


def public_method(path):
    return bound_method(path, "run")


def test_a_bound_method_becomes_a_weak_method(program):
    path = program(METHOD)
    names = applied(source_diff.propose(bound_method(path)), path)
    model = names["Model"]()
    assert model._run(2, scale=3) == 6
    alive = weakref.ref(model)
    del model
    assert alive() is None


WORK = """\
    def work(fail):
        last = None
        try:
            raise ValueError("bad")
        except ValueError as error:
            last = error
        {end}
    """


@pytest.mark.parametrize(
    ("end", "added"),
    [
        ("print(last)", ["    del last"]),
        ("print(*(str(each) for each in [last]))", ["    del last"]),
        ("return str(last)", ["    try:", "        return str(last)", "    finally:"]),
        (
            "if fail:\n            raise last\n        return 'no'",
            ["    try:", "        if fail:", "            raise last", "    finally:"],
        ),
    ],
)
def test_a_local_variable_is_cleared_however_the_function_ends(program, end, added):
    path = program(WORK.format(end=end))
    diff = source_diff.propose(error_in_local(path))
    lines = [line.removeprefix("+").split("  #")[0] for line in diff.split("\n")]
    assert [line for line in lines if line in added] == added
    names = applied(diff, path)
    assert "del last  # break a reference cycle" in path.read_text()
    if "raise" not in end:
        names["work"](False)
    else:
        with pytest.raises(ValueError, match="bad") as caught:
            names["work"](True)
        assert "last" not in caught.traceback[-1].frame.f_locals


def test_a_recursive_function_is_deleted_after_its_last_call(program):
    path = program("""\
        def outer(tree):
            def load(node):
                return sum(load(child) for child in node) + 1
            return load(tree)
        """)
    names = applied(source_diff.propose(recursive(path)), path)
    assert names["outer"]([[], [[]]]) == 4
    assert "    finally:\n        del load" in path.read_text()


def test_super_counts_as_a_use_of_self(program):
    path = program("""\
        class Base:
            def work(self):
                return "base"

        class Child(Base):
            def work(self):
                if self.error:
                    raise self.error
                return super().work()
        """)
    cut = reference(
        "frame of program.Child.work", "local:self", "program.Child", line_of(path, "raise")
    )
    child = applied(source_diff.propose(finding("exception-in-frame", [cut])), path)["Child"]()
    child.error = None
    assert child.work() == "base"


@pytest.mark.parametrize(
    ("text", "make", "reason"),
    [
        (
            METHOD.replace("_run", "run"),
            public_method,
            "may use .run of a temporary object",
        ),
        (METHOD.replace("= self", "= 0 or self"), bound_method, "does not store the function"),
        (METHOD.replace("def step", "async def step"), bound_method, "step can be suspended"),
        (METHOD + "    calls.remove(model.step)", bound_method, "finds the method by compar"),
        (METHOD.replace("self):", "self, a):\n            self = a", 1), bound_method, "more than"),
        (MODEL + "    Model(3)._scale(2)", lambda_on_self, "uses ._scale of a temporary object"),
        (MODEL + "    weak_self = 1", lambda_on_self, "already uses the name weak_self"),
        (MODEL.replace("import os", "weakref = 1"), lambda_on_self, "name weakref for something"),
        (MODEL.replace("# Scales.", "self = self"), lambda_on_self, "self is assigned more than"),
        (
            MODEL.replace("class Model:", "class Model:\n        __slots__ = ('a',)"),
            lambda_on_self,
            "Model has slots without",
        ),
        (PARENT.replace("(Base)", "(Unknown)"), back_pointer, "base class Unknown is not defined"),
        (PARENT.replace("class Head", "@dataclass\n    class Head"), back_pointer, "a decorator"),
        (PARENT + "    import copy", back_pointer, "uses copy, which would see the weak"),
        (PARENT + "    Head.model", back_pointer, "uses Head.model"),
        (MODEL + "    import copy", lambda_on_self, "uses copy, which would see the weak"),
        (PARENT + "    del Head(1).model", back_pointer, "deletes .model"),
        (PARENT.replace("= None", "= 3"), back_pointer, "Head defines model"),
        (PARENT + "vars(Head(None))['model']", back_pointer, "uses vars, which would see"),
        (
            PARENT + "    def __del__(self): self.model",
            back_pointer,
            "Head.__del__ uses .model, which may be None",
        ),
        (PARENT + "Head('none')", back_pointer, "does not support weak references"),
        (
            PARENT.replace("class Model", "class Model(tuple)"),
            back_pointer,
            "does not support weak",
        ),
        (
            PARENT + "    def path(self): return [*self.model.path(), self]",
            back_pointer,
            "walks from child to parent",
        ),
        (MODEL + "print(Model(3).f.__name__)", lambda_on_self, "reads __name__, which a lambda"),
        (
            PARENT + "x = Head(Model())\n    while x:\n        x = x.model",
            back_pointer,
            "walks from child to parent",
        ),
        (
            PARENT.replace("class Model", "class Modem"),
            back_pointer,
            "Model is not defined exactly",
        ),
        (WORK.format(end="f = lambda: last"), error_in_local, "an inner function uses last"),
        (WORK.format(end='return last, """a\n    b"""'), error_in_local, "multi-line string"),
        (
            WORK.format(end='if last: return 1\n        b = """a\n    b"""\n        return last'),
            error_in_local,
            "multi-line string",
        ),
        (WORK.format(end="return (last for _ in 'ab')"), error_in_local, "a generator uses last"),
        (WORK.format(end="yield last"), error_in_local, "work can be suspended"),
        ("def work(x):\n  pass", error_in_local, "does not use last"),
        (
            "def outer():\n  def load(): load()\n  return load",
            recursive,
            "may let other code call load later",
        ),
        ("def outer():\n  def load(): yield load()\n  load()", recursive, "load can be suspended"),
        (
            "def outer():\n  def load(): load()\n  map(load, [])",
            recursive,
            "may let other code call load later",
        ),
        ("def outer():\n  def load(): load()\n  (load() for _ in '')", recursive, "a generator"),
        (
            "def outer():\n  class A:\n    def load(): load()\n    load()",
            recursive,
            "load is not an inner function with a unique name",
        ),
        ("class load:\n  def load(", recursive, "does not compile"),
    ],
)
def test_no_diff_if_the_change_is_not_mechanical(program, text, make, reason):
    path = program(text)
    with pytest.raises(source_edit.NoDiff, match=reason):
        source_diff.propose(make(path))


LISTED = METHOD.replace("= self.step", "= [self.step]")


def listed_method(path):
    place = line_of(path, "self._run = ")
    method = "bound method program.Model.step"
    return finding(
        "bound-method-on-self",
        [reference(method, "__self__", "program.Model", place)],
        reference("program.Model", "._run", "list", place),
        reference("list", "[0]", method, None),
    )


def method(text):
    """Text to add to the last class of a program."""
    return "\n" + textwrap.indent(text, " " * 8) + "\n"


def module(text):
    """Text to add to a program."""
    return "\n" + textwrap.indent(text, " " * 4) + "\n"


NO_WEAK_REFERENCE = "may use an object that does not support weak references"


@pytest.mark.parametrize(
    ("text", "make", "reason"),
    [
        # Each access to a method creates an equal object, but a lambda is only equal to itself.
        (METHOD + module("off(trainer.step)"), bound_method, "line 8 may compare .step"),
        (
            METHOD + method("def has(self, call): return call == self._run"),
            bound_method,
            "line 8 may compare a stored method",
        ),
        (
            LISTED + method("def has(self, call): return call in self._run"),
            listed_method,
            "line 8 may compare a stored method",
        ),
        (
            LISTED + method("def off(self, call):\n  for x in self._run: x != call or x()"),
            listed_method,
            "line 9 may compare a stored method",
        ),
        (
            LISTED + method("def off(self, call): self._run.remove(call)"),
            listed_method,
            "line 8 finds a method by comparison",
        ),
        (
            LISTED + module("print((call, 0) in trainer._run)"),
            listed_method,
            "line 8 may compare a stored method",
        ),
        (
            METHOD.replace("self._run = self.step", "self._run = {0}; self._run.add(self.step)"),
            listed_method,
            "adds the method to a set",
        ),
        # Inspected.
        (
            METHOD + method("def reset(self): self._run.cache_clear()"),
            bound_method,
            "line 8 uses .cache_clear of a function",
        ),
        (
            LISTED + method("def show(self):\n  for call in self._run: print(call)"),
            listed_method,
            "line 9 may let other code call a function from ._run later",
        ),
        (
            LISTED + method("def show(self):\n  for i, call in enumerate(self._run): print(call)"),
            listed_method,
            "line 9 may let other code call a function from ._run later",
        ),
        (
            LISTED + method("def show(self):\n  for self.x in self._run: self.x()"),
            listed_method,
            "line 9 may let other code call a stored function later",
        ),
        (
            LISTED + method("def reset(self): [x.cache_clear() for x in self._run]"),
            listed_method,
            "line 8 uses .cache_clear of a function",
        ),
        (
            METHOD + module("class Bus:\n  def emit(self, call): call.__self__"),
            bound_method,
            "line 9 reads __self__, which a lambda changes",
        ),
        (
            METHOD + module("def show(call): print(getattr(call, '__qualname__'))"),
            bound_method,
            "line 8 reads __qualname__, which a lambda changes",
        ),
        (METHOD + module("import inspect"), bound_method, "line 8 imports inspect, which"),
        (
            METHOD + module("from inspect import ismethod"),
            bound_method,
            "line 8 imports inspect, which",
        ),
        (METHOD + module("from types import MethodType"), bound_method, "imports MethodType"),
        # Values that do not support weak references.
        (PARENT + module("Head([1])"), back_pointer, NO_WEAK_REFERENCE),
        (PARENT + module("Head(model=1)"), back_pointer, NO_WEAK_REFERENCE),
        (PARENT + module("Head('a' if x else None)"), back_pointer, NO_WEAK_REFERENCE),
        (PARENT + module("name = 'a'\nHead(name)"), back_pointer, NO_WEAK_REFERENCE),
        (
            PARENT + module("[Head(name) for name in 'ab']"),
            back_pointer,
            "an unknown value to name",
        ),
        (PARENT + module("Head(imported)"), back_pointer, NO_WEAK_REFERENCE),
        (
            PARENT + module("class Pair(tuple): pass\nclass Sub(Pair): pass\nHead(Sub())"),
            back_pointer,
            "Pair is a tuple, which does not support weak references",
        ),
        (
            PARENT + module("class Pair:\n  __slots__ = ('x',)\nHead(Pair())"),
            back_pointer,
            "Pair has slots without __weakref__",
        ),
        (PARENT.replace("model):", "model=0):"), back_pointer, NO_WEAK_REFERENCE),
        (PARENT.replace("model):", "*, model=0):"), back_pointer, NO_WEAK_REFERENCE),
        (PARENT.replace("model):", "*model):"), back_pointer, "the values of the parameter model"),
        (PARENT + module("Head(*arguments)"), back_pointer, "passes unknown arguments"),
        (PARENT + module("map(Head, 'ab')"), back_pointer, "may call __init__ with unknown"),
        (
            PARENT + module("for kind in (Head, Base): kind('a')"),
            back_pointer,
            "may call __init__ with unknown",
        ),
        (PARENT + module("class Top(Head): pass\nTop('a')"), back_pointer, NO_WEAK_REFERENCE),
        (
            PARENT + method("@classmethod\ndef top(cls): return cls('a')"),
            back_pointer,
            NO_WEAK_REFERENCE,
        ),
        (
            PARENT + module("def make(model): return Head(model)\nmake('a')"),
            back_pointer,
            NO_WEAK_REFERENCE,
        ),
        (
            PARENT + module("def make(model): return Head(model)\nmap(make, 'ab')"),
            back_pointer,
            "may call make with unknown",
        ),
        (
            PARENT + module("class Top:\n  def __init__(self): self.model=1\nHead(Top().model)"),
            back_pointer,
            NO_WEAK_REFERENCE,
        ),
        (
            PARENT + module("head = Head(Model())\nhead.model = []"),
            back_pointer,
            NO_WEAK_REFERENCE,
        ),
        (
            PARENT + module("head = Head(Model())\nhead.model, x = Model(), *y"),
            back_pointer,
            "assigns an unknown value to head.model",
        ),
        (PARENT + module("setattr(Head(None), 'model', 1)"), back_pointer, "uses setattr"),
        # Another binding of the name `weakref`.
        (MODEL + module("import zlib as weakref"), lambda_on_self, "name weakref for something"),
        (MODEL + module("def f(weakref): pass"), lambda_on_self, "name weakref for something"),
        (MODEL + module("def f(): import weakref"), lambda_on_self, "name weakref for something"),
        (MODEL + module("import weakref\ndel weakref"), lambda_on_self, "name weakref for"),
        # The object may be temporary.
        (
            PARENT.replace(
                "pass\n\n    class Head", "def get(self): return self.head\n    class Head"
            )
            + module("def build():\n  model = Model()\n  return model.get()"),
            back_pointer,
            "line 13 stores or returns an attribute or item of an object",
        ),
        (
            PARENT + module("model = Model()\nhead = model.head\ndel model\nprint(head.model)"),
            back_pointer,
            "line 15 uses an attribute or item of an object that may be freed",
        ),
        (
            PARENT + module("def build():\n  x = Model()\n  part = Head(x)\n  return part"),
            back_pointer,
            "line 15 stores or returns an attribute or item of an object",
        ),
        (
            MODEL + method("def register(self): calls.append(self._scale)"),
            lambda_on_self,
            "line 13 may let other code call a function from ._scale later",
        ),
        (
            MODEL + method("@property\ndef scale(self): return self._scale"),
            lambda_on_self,
            "line 14 may let other code call a function from ._scale later",
        ),
        (
            MODEL + method("def get(self):\n  scale = self._scale\n  return scale"),
            lambda_on_self,
            "line 15 may let other code call a function from ._scale later",
        ),
        (
            MODEL + method("def get(self):\n  scale = self._scale\n  return lambda: scale()"),
            lambda_on_self,
            "an inner function uses scale",
        ),
        (
            LISTED + method("def steps(self): return list(self._run)"),
            listed_method,
            "line 8 may let other code call a function from ._run later",
        ),
        (
            LISTED + method("def first(self): return self._run.pop()"),
            listed_method,
            "line 8 may let other code call a function from ._run later",
        ),
        (MODEL + module("x = Model(3).chain().end()"), lambda_on_self, "of a temporary object"),
    ],
)
def test_no_diff_if_the_file_shows_that_the_program_would_break(program, text, make, reason):
    path = program(text)
    with pytest.raises(source_edit.NoDiff, match=reason):
        source_diff.propose(make(path))


@pytest.mark.parametrize(
    ("text", "make"),
    [
        (METHOD + module("if __name__ == '__main__':\n  print(Model.__name__)"), bound_method),
        (METHOD + method("def name(self): return type(self).__name__"), bound_method),
        (METHOD + module("def f(call): call.__doc__ = ''"), bound_method),
        (
            LISTED + method("def call(self):\n  for i, x in enumerate(self._run): print(i, x())"),
            listed_method,
        ),
        (METHOD + method("def is_off(self): return self._run is None"), bound_method),
        (LISTED + method("def off(self): return len(self._run) == size"), listed_method),
        (LISTED + method("def call(self): return [x() for x in self._run]"), listed_method),
        (LISTED + method("def add(self, call): self._run.append(call)"), listed_method),
        (LISTED + method("def call(self):\n  x = self._run[0]\n  return x()"), listed_method),
        (PARENT + module("model = Model()\nHead(model)\nHead(None)\nHead(Model())"), back_pointer),
        (PARENT + module("def make(m, x): return Head(model=m)\nmake(Model(), 1)"), back_pointer),
        (
            PARENT
            + module(
                "m = Model()\na = Head(m)\na.model, b = None, 1\nHead(a.model if b else None)"
            ),
            back_pointer,
        ),
        (PARENT + module("def f():\n  m = Model()\n  return m.head.count()"), back_pointer),
        (LISTED + method("def call(self):\n  for x in list(self._run): x()"), listed_method),
        (PARENT + module("class Other:\n  def __init__(self): self.model=1"), back_pointer),
        (
            PARENT + module("class Top(Head):\n  def __init__(self): super().__init__(Model())"),
            back_pointer,
        ),
        (PARENT + module("def f(head): return isinstance(head, (Head, Base))"), back_pointer),
        (PARENT + module("def f():\n  m = Model()\n  return m, m.head"), back_pointer),
        (PARENT + module("Model().run()"), back_pointer),
        (
            PARENT
            + module("def f():\n  m = Model()\n  m.head = Head(m)\n  m.heads.append(m.head)"),
            back_pointer,
        ),
        (PARENT + module("m = Model()\nh = m.head\nprint(h.model)\ndel m, h"), back_pointer),
    ],
)
def test_a_diff_if_the_file_does_not_show_that_the_program_would_break(program, text, make):
    path = program(text)
    assert "\n+" in source_diff.propose(make(path))


NETWORK = """\
    import torch

    class Layer:
        known = []
        def __init__(self, model):
            self.model = model

    class Network:
        def __init__(self, depth):
            self.layers = [Layer(self) for _ in range(depth)]

        def __iter__(self):
            return iter(self.layers)

        def __enter__(self):
            return self.layers[0]

        def first(self):
            return self.layers[0]

        def forward(self, x):
            return sum(x for _ in self.layers)

        def add(self):
            self.layers.append(Layer(self))
            return self

        def __call__(self, x):
            return x
    """


def layers(path):
    location = line_of(path, "self.model = ")
    return finding(
        "back-pointer",
        [reference("program.Layer", ".model", "program.Network", location)],
        reference("program.Network", ".layers", "list", None),
        reference("list", "[0]", "program.Layer", None),
    )


TEMPORARY = "may use an attribute or item of a temporary object"
IN_FUNCTION = "def build(n):\n  net = Network(n)\n  "
KEEPS = "stores or returns an attribute or item of an object, but not the object"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        # The object is not stored.
        ("layers = list(Network(3))", TEMPORARY),
        ("first, second = Network(2)", TEMPORARY),
        ("head, *rest = [*Network(3)]", TEMPORARY),
        ("best = max(Network(3), key=id)", TEMPORARY),
        ("print(next(iter(Network(3))).model)", TEMPORARY),
        ("for layer in Network(3): print(layer.model)", TEMPORARY),
        ("with Network(3) as layer: pass\nprint(layer.model)", TEMPORARY),
        ("def f(name): return getattr(Network(3), name)", TEMPORARY),
        ("pick = lambda net: net.layers[0]\nlayer = pick(Network(3))", TEMPORARY),
        ("layer = Network(3).first()", TEMPORARY),
        ("layer = Network(3).add().add().first()", TEMPORARY),
        ("make = lambda: Network(3)\nlayer = make().layers[0]", "of a temporary object"),
        ("for layers in map(list, map(Network, (1, 2))): pass", "create a temporary Network"),
        ("def make():\n  net = Network(3)\n  return net\na, b, c = make()", TEMPORARY),
        ("layer = next(iter([Network(3)]))", TEMPORARY),
        # A function stores or returns an attribute or item, but not the object.
        (IN_FUNCTION + "return sorted(net, key=id)", KEEPS),
        (IN_FUNCTION + "return dict(zip('abc', net))", KEEPS),
        (IN_FUNCTION + "return [layer for layer in net]", KEEPS),
        (IN_FUNCTION + "for layer in net:\n    yield layer", KEEPS),
        (IN_FUNCTION + "yield from net.layers", KEEPS),
        (IN_FUNCTION + "first, *rest = net\n  return rest", KEEPS),
        (IN_FUNCTION + "with net as first:\n    return first", KEEPS),
        (IN_FUNCTION + "return pick(net)", KEEPS),
        (IN_FUNCTION + "return net[0]", KEEPS),
        (IN_FUNCTION + "layer = net.first()\n  return lambda: layer.model", KEEPS),
        (IN_FUNCTION + "self.a, self.b = net.layers[0], net.layers[1]", KEEPS),
        (IN_FUNCTION + "kept.extend(net.layers)", KEEPS),
        # The object is replaced while one of its attributes or items is in use.
        (
            "old = None\nfor n in (1, 2):\n  net = Network(n)\n  print(old)\n  old = net.first()",
            "line 34 uses an attribute or item of an object that may be freed",
        ),
        (
            "def f(old=None):\n  for n in (1, 2):\n    net = Network(n)\n    old = net.first()\n"
            "  print(old.model)",
            "line 35 uses an attribute or item of an object that may be freed",
        ),
        (
            "kept = []\nfor n in (1, 2):\n  net = Network(n)\n  kept.append(net.first())",
            "line 34 stores an attribute or item of an object that may be freed when its variable"
            " is reassigned",
        ),
    ],
)
def test_no_diff_if_a_part_may_outlive_its_parent(program, text, reason):
    path = program(NETWORK + module(text))
    with pytest.raises(source_edit.NoDiff, match=reason):
        source_diff.propose(layers(path))


@pytest.mark.parametrize(
    "store", ["Layer.known.append(self)", "Layer.last = self", "LAST[0] = self"]
)
def test_no_diff_if_the_child_stores_itself_elsewhere(program, store):
    path = program(NETWORK.replace("self.model = model", f"self.model = model; {store}"))
    with pytest.raises(source_edit.NoDiff, match="line 6 stores the Layer in another object"):
        source_diff.propose(layers(path))


@pytest.mark.parametrize(
    "text",
    [
        "net = Network(3)\nfor layer in net: print(layer.model)",
        "Network(3).add().first()",
        "Network(3)",
        "print(Network(3))",
        "print(Network(3).forward(1))",
        "print(Network(3)(1), Network(3).add().add().forward(1))",
        "nets = [Network(n) for n in (1, 2)]",
        "self.net = Network(1) if big else Network(2)",
        "def make(): return Network(3)\nnet = make()\nlayer = net.first()",
        "def build(n):\n  net = Network(n)\n  return net, net.layers[0]",
        "def build(n):\n  net = Network(n)\n  return max(len(layer.name) for layer in net)",
        "for n in (1, 2):\n  net = Network(n)\n  layer = net.first()\n  print(layer.model)",
        "net = Network(1)\nnet = None",
    ],
)
def test_a_diff_if_the_parent_outlives_its_parts(program, text):
    path = program(NETWORK + module(text))
    assert "\n+" in source_diff.propose(layers(path))


@pytest.mark.parametrize(
    "text",
    [
        "def get(model, name): return getattr(model, name)",
        "def get(model): return getattr(model, '_scale')",
    ],
)
def test_no_diff_if_getattr_may_read_the_function(program, text):
    path = program(MODEL + module(text))
    with pytest.raises(source_edit.NoDiff, match=r"line 13 may use getattr\(\) to read"):
        source_diff.propose(lambda_on_self(path))
    assert source_diff.propose(lambda_on_self(program(MODEL + "    getattr(os, 'name')")))


@pytest.mark.parametrize("store", ["PENDING.append(self.action)", "PENDING[0] = action"])
def test_no_diff_if_another_class_publishes_the_function(program, store):
    job = "    class Job:\n        def __init__(self, action):\n            self.action = action\n"
    text = METHOD.replace("self.step\n", "Job(self.step)\n")

    def stored_in_job(path):
        found = bound_method(path)
        function = found.cuts[0].holder
        stored = reference("program.Model", "._run", "program.Job", found.cuts[0].location)
        found.cycle = [stored, reference("program.Job", ".action", function, None), *found.cuts]
        return found

    assert "WeakMethod" in source_diff.propose(stored_in_job(program(job + text)))
    path = program(job + f"            {store}\n" + text)
    with pytest.raises(source_edit.NoDiff, match="line 4 of Job stores a function elsewhere"):
        source_diff.propose(stored_in_job(path))


def test_the_comment_names_the_other_variants(program):
    found = lambda_on_self(program(MODEL))
    names = ["Model", *(f"Part{i}" for i in range(8))]
    found.variants = [
        types.SimpleNamespace(signature=f"cw1-{i}", name=name) for i, name in enumerate(names, 1)
    ]
    comment = source_diff.propose(found).partition("---")[0].replace("\n# ", " ")
    assert "also has cycles in Part0, Part1, Part2, Part3, Part4, Part5 and 2 more: ch" in comment
    found.variants = found.variants[:1]
    assert "also has" not in source_diff.propose(found)


def test_a_late_import_of_weakref_does_not_count(program):
    path = program(MODEL + module("model = Model(3)\nprint(model._scale(2))\nimport weakref"))
    names = applied(source_diff.propose(lambda_on_self(path)), path)
    assert names["model"]._scale(2) == 6
    assert path.read_text().count("import weakref") == 2
    early = program(MODEL.replace("import os", "import os, weakref"))
    assert "+import" not in source_diff.propose(lambda_on_self(early))


def test_a_byte_order_mark_stays_at_the_start_of_the_file(program):
    path = program(
        "def make(self):\n    self._scale = lambda: self\n\n\nclass Model: make = make\n"
    )
    found = lambda_on_self(path)  # its lines include the first one
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    with pytest.raises(source_edit.NoDiff, match="self may be None"):
        source_diff.propose(found)
    path = program("class Model:\n    def __init__(self):\n        self._scale = lambda: self\n")
    found = lambda_on_self(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    names = applied(source_diff.propose(found), path)
    assert isinstance(names["Model"](), names["Model"])
    assert path.read_bytes().startswith(b"\xef\xbb\xbfimport weakref\n")
    assert path.read_bytes().count(b"\xef\xbb\xbf") == 1


def test_no_diff_for_an_unsuitable_file(program):
    path = program(MODEL)
    found = lambda_on_self(path)
    now = path.stat().st_ctime
    source_diff.propose(found, now)
    os.utime(path, (now - 10, now - 10))  # the modification time can be set
    for contents, since, reason in (
        (path.read_bytes(), now - 1, "has changed since the run"),
        (b"\xff\xfe" + path.read_bytes(), None, "is not UTF-8 text"),
        (path.read_bytes().replace(b"\n", b"\r\n"), None, "has carriage returns"),
        (b"#\n" * (1 << 20), None, "is larger than 1 MiB"),
        (b"#\n" * 200_001, None, "has more than 200,000 lines"),
        (b"\n" * 3, None, "has changed since the run"),
    ):
        path.write_bytes(contents)
        with pytest.raises(source_edit.NoDiff, match=reason):
            source_diff.propose(found, since)
    path.unlink()
    with pytest.raises(source_edit.NoDiff, match="No such file"):
        source_diff.propose(found)
    os.mkfifo(path)
    with pytest.raises(source_edit.NoDiff, match="is not a file"):
        source_diff.propose(found)


def test_no_diff_if_the_lines_of_the_report_are_not_those_of_the_file(program):
    path = program(MODEL)
    found = lambda_on_self(path)
    path.write_text(path.read_text().replace("# Scales.", "# Scales it."))
    with pytest.raises(source_edit.NoDiff, match="has changed since the run"):
        source_diff.propose(found)
    found.cuts[0].source = None
    with pytest.raises(source_edit.NoDiff, match="no source lines to compare the file with"):
        source_diff.propose(found)


def test_the_report_has_one_line_of_a_field(program):
    path = program(PARENT.replace("class Head", "@dataclass\n    class Head"))
    found = back_pointer(path, "model = None")
    [source] = [cut.source for cut in found.cuts]
    source.first_line, source.lines = source.line, source.lines[1:2]
    with pytest.raises(source_edit.NoDiff, match="a decorator"):
        source_diff.propose(found)


def test_no_diff_from_another_folder(program, monkeypatch):
    path = program(MODEL)
    (path.parent / "reports").mkdir()
    monkeypatch.chdir("reports")
    with pytest.raises(source_edit.NoDiff, match=f"command in {path.parent} or a folder above"):
        source_diff.propose(lambda_on_self(path))
    monkeypatch.chdir(path.parent.parent)
    assert f"--- {path.parent.name}/program.py\n" in source_diff.propose(lambda_on_self(path))


def test_a_file_that_does_not_end_with_a_newline(program):
    path = program(MODEL.rstrip())
    names = applied(source_diff.propose(lambda_on_self(path)), path)
    assert names["Model"](3)._scale.__name__ == "<lambda>"
    assert not path.read_text().endswith("\n")
