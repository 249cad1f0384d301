# SPDX-License-Identifier: Apache-2.0
"""The locations and names of references to cut."""

import functools
import gc
import inspect
import sys

import pytest
from owners import Buffer

import cyclewatch

pytestmark = pytest.mark.usefixtures("buffers_are_owners")


class Base:
    """An object that owns a buffer."""

    def __init__(self):
        self.block = Buffer()


def findings_of(*makers):
    """Call all `makers`, collect their garbage in one collection, and return the findings."""
    gc.collect()
    with cyclewatch.watch(budget=1, devices=("cpu",)) as watch:
        for make in makers:
            make()
        gc.collect()
    return watch.report().findings


def cut_of(make):
    """The cut of the only finding."""
    (finding,) = findings_of(make)
    return finding.cut


def lines_of(function):
    """The location of each line of a function."""
    lines, first = inspect.getsourcelines(function)
    path = inspect.getsourcefile(function)
    return [f"{path}:{first + line}" for line in range(len(lines))]


def line_with(function, text):
    """The location of the only line of `function` that contains `text`."""
    lines, _ = inspect.getsourcelines(function)
    (found,) = (i for i, line in enumerate(lines) if text in line)
    return lines_of(function)[found]


def counted(cls):
    """A class decorator that wraps a method of each instance."""
    original = cls.__init__

    def init(self):
        original(self)
        method = self.update

        @functools.wraps(method)
        def wrapper():
            return method()

        self.update = wrapper

    cls.__init__ = init
    return cls


@counted
class Accuracy(Base):
    """A decorated class."""

    def update(self):
        """Wrapped."""


@counted
class Recall(Base):
    """Another one."""

    def update(self):
        """Wrapped."""


def test_a_decorator_is_one_finding_at_its_inner_function():
    findings = findings_of(Accuracy, Recall, Recall)
    assert len(findings) == 1, [finding.headline for finding in findings]
    (finding,) = findings
    assert finding.cut.label == "closure:method"
    assert finding.cut.location == line_with(counted, "@functools.wraps")
    assert finding.occurrences == 3
    assert sorted((variant.name, variant.occurrences) for variant in finding.variants) == [
        ("Accuracy", 1),
        ("Recall", 2),
    ]
    assert "`wrapper` wraps" in finding.cut.reason
    assert "`__wrapped__`" in finding.advice


class Child:
    """A child whose class does not assign any attributes."""


def put(target, name, value):
    object.__setattr__(target, name, value)


class WithHelper(Base):
    """Stores a reference to itself through a helper."""

    def __init__(self):
        super().__init__()
        self.child = Child()
        put(self.child, "parent", self)


class WithLoop(Base):
    """Stores itself under a computed name."""

    def __init__(self):
        super().__init__()
        self.child = Child()
        self.attach(self.child, ["parent"])

    def attach(self, child, names):
        for name in names:
            setattr(child, name, self)


class Early:
    """Stores the methods named in `instance.names` as attributes of the instance."""

    @staticmethod
    def bind(instance):
        for name in instance.names:
            method = getattr(instance, name)
            setattr(instance, name, method)


class WithEarlyMethods(Base):
    """Passes itself to a helper that sets attributes with computed names."""

    names = ("step",)

    def __init__(self):
        super().__init__()
        Early.bind(self)

    def step(self):
        """Do nothing."""

    def stop(self):
        """Do nothing."""


class WithTwoEarlyMethods(WithEarlyMethods):
    """One line stores two methods."""

    names = ("step", "stop")


class WithTwoCalls(WithEarlyMethods):
    """Two lines store the method; which of them ran last is unknown."""

    def __init__(self):
        super().__init__()
        Early.bind(self)


def store_parameters():
    variables = sys._getframe(1).f_locals
    for name in set(variables) - {"self", "__class__"}:
        object.__setattr__(variables["self"], name, variables[name])


class Callback:
    """Stores its parameters through a helper that reads the caller's frame."""

    def __init__(self, owner):
        store_parameters()


class WithParameters(Base):
    """Creates a Callback, which stores all its parameters, including this object."""

    def __init__(self):
        super().__init__()
        self.callback = Callback(self)


def test_an_attribute_with_a_computed_name_is_located_at_the_call_of_the_helper():
    assert cut_of(WithEarlyMethods).label == ".step"
    assert cut_of(WithEarlyMethods).location == line_with(WithEarlyMethods, "Early.bind")
    assert cut_of(WithTwoCalls).location is None  # either call may have stored it
    assert cut_of(WithParameters).label == ".owner"
    assert cut_of(WithParameters).location == line_with(Callback, "store_parameters")


def test_references_that_one_line_stores_are_one_place():
    (finding,) = findings_of(WithTwoEarlyMethods)
    assert "2 references lead back to it" in finding.cut.reason
    assert "all of them must be cut" not in finding.to_text()
    assert "__self__ of 2 bound methods" in finding.to_text()


class Cache:
    def __init__(self, function):
        self._function = function


class Table:
    """Refers to its parent and passes one of the parent's methods to a Cache."""

    key = None

    def __init__(self, model):
        self.model = model
        self.cache = Cache(model.key)


class WithCache(Base):
    """Does not store its own method: `self.table.key` is an attribute of another object."""

    def __init__(self):
        super().__init__()
        self.table = Table(self)
        self.use(self.table.key)

    def use(self, function):
        pass

    def key(self):
        pass


def test_a_bound_method_is_located_by_what_stores_it():
    (finding,) = findings_of(WithCache)
    (method,) = (cut for cut in finding.cuts if cut.label == "__self__")
    assert method.holder_path == "Cache._function"
    assert method.location is None  # the definition of the method stores nothing
    assert "bound method WithCache.key in Cache._function" in finding.to_text()


class Handler:
    """Refers to the engine that stores it."""

    def __init__(self, engine):
        self.engine = engine


class Engine(Base):
    """Stores handlers and their arguments in a table."""

    def __init__(self):
        super().__init__()
        self.handlers = {}


def with_handler():
    engine = Engine()
    engine.handlers["start"] = [(Handler(engine), 1)]


def test_an_item_of_a_data_structure_is_not_an_alternative_to_an_attribute():
    (finding,) = findings_of(with_handler)
    assert finding.cut.label == ".engine"
    assert not finding.alternatives


def test_an_attribute_set_by_a_helper_is_located():
    assert cut_of(WithHelper).label == ".parent"
    assert cut_of(WithHelper).location == line_with(WithHelper, '"parent", self')
    assert cut_of(WithLoop).location == line_with(WithLoop, "setattr(child")


class Axes:
    """Owns a list."""

    def __init__(self):
        self.children = []
        self.line = None


class Line(Base):
    """Stores a bound method of another object's list."""

    def __init__(self, axes):
        super().__init__()
        axes.children.append(self)
        self.remove = axes.children.remove
        self.axes = None


class Pair(Base):
    """Stores itself in a tuple in a dict."""

    def __init__(self):
        super().__init__()
        self.pairs = {"first": ("key", self)}


def with_cycle_of_axes():
    axes = Axes()
    Line(axes)
    axes.me = axes


def test_a_container_is_named_by_the_attribute_that_stores_it():
    cut = cut_of(Pair)
    assert (cut.label, cut.holder, cut.holder_path) == ("[1]", "tuple", "Pair.pairs['first']")
    assert cut.location == line_with(Pair, "self.pairs =")


def test_a_method_of_a_container_is_named_by_the_owner_of_the_container():
    cuts = [finding.cut for finding in findings_of(with_cycle_of_axes)]
    (cut,) = (cut for cut in cuts if cut.label == "__self__")
    assert (cut.holder, cut.holder_path) == ("builtin method list.remove", "Axes.children")
    assert cut.location == line_with(Line, "self.remove =")


class Saved(Base):
    """Stores its locals() in a list."""

    def __init__(this, rate=1):  # noqa: N805
        super().__init__()
        this.saved = [locals()]


def build(model, rate=1):
    model.parameters = locals()


def built():
    build(Base())


def test_the_result_of_locals_is_cut_where_it_is_stored():
    cut = cut_of(Saved)
    assert (cut.label, cut.holder_path) == ("[0]", "Saved.saved")
    assert cut.target.startswith("locals() of ")
    assert cut.target.endswith("Saved.__init__")
    cut = cut_of(built)
    assert cut.label == ".parameters"
    assert cut.target.endswith(".build")


class Loader(Base):
    """Stores a suspended generator whose function is called `it`, like the English word."""

    def __init__(self):
        super().__init__()
        self.stream = self.it()
        next(self.stream)

    def it(self):
        yield 1
        yield self


def test_names_of_functions_are_marked_in_sentences():
    (finding,) = findings_of(Loader)
    assert "the suspended `it` " in finding.cut.reason
    assert finding.advice.startswith("Drop `it` when")
