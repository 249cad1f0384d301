# SPDX-License-Identifier: Apache-2.0
"""A weak reference is suggested only if one can be created."""

import collections
import gc
import weakref

import owners
import pytest

import cyclewatch

pytestmark = pytest.mark.usefixtures("buffers_are_owners")


class Plain:
    pass


class Slots:
    __slots__ = ("child", "data")


class WeakSlots:
    __slots__ = ("__weakref__", "child", "data")


class Child:
    def __init__(self, parent):
        self.parent = parent


class SlotChild:
    __slots__ = ("parent",)

    def __init__(self, parent):
        self.parent = parent


class DictChild:
    def __init__(self, parent):
        self.__dict__["parent"] = parent


class Order:
    def __init__(self, parent):
        self.parent = parent
        self.items = [parent]


def supports_weakref(instance):
    try:
        weakref.ref(instance)
    except TypeError:
        return False
    return True


def advice_on(create):
    with cyclewatch.watch(devices="cpu") as watch:
        create()
        gc.collect()
    (finding,) = watch.report().findings
    return finding.advice


@pytest.mark.parametrize("parent", [Plain, Slots, WeakSlots])
def test_parent(parent):
    def create():
        instance = parent()
        instance.data = owners.Buffer(10)
        instance.child = Child(instance)

    advice = advice_on(create)
    assert ("weakref.ref(" in advice) == supports_weakref(parent())
    assert ("weak references to Slots do not work" in advice) == (parent is Slots)
    assert ("add `__weakref__` to its `__slots__`" in advice) == (parent is Slots)


def test_a_class_that_cannot_have_slots_is_not_given_one():
    class Pair(tuple):
        __slots__ = ()

    def create():
        child = Plain()
        child.data = owners.Buffer(10)
        child.parent = Pair([child])

    with pytest.raises(TypeError):
        type("Other", (tuple,), {"__slots__": ("__weakref__",)})
    assert "__weakref__" not in advice_on(create)


@pytest.mark.parametrize("child", [Child, DictChild])
def test_a_property_needs_a_store_that_calls_its_setter(child):
    def create():
        instance = Plain()
        instance.data = owners.Buffer(10)
        instance.child = child(instance)

    advice = advice_on(create)
    assert ("a property `parent`" in advice) == (child is Child)
    where = "store `weakref.ref(value)` where the value of `parent` is stored"
    assert (where in advice) == (child is DictChild)


@pytest.mark.parametrize("container", [dict, collections.OrderedDict, collections.UserDict])
def test_mapping(container):
    def create():
        instance = container()
        instance["data"] = owners.Buffer(10)
        instance["children"] = [SlotChild(instance), SlotChild(instance)]

    advice = advice_on(create)
    assert supports_weakref(container()) or "weakref.ref" not in advice


@pytest.mark.parametrize("parent", [Plain, Slots])
def test_items_of_containers(parent):
    def create():
        instance = parent()
        instance.data = owners.Buffer(10)
        instance.child = [Child(instance), Child(instance), Order(instance)]

    advice = advice_on(create)
    assert ("In `.items`, store a weakref.ref to each object" in advice) == (parent is Plain)
    assert "weakref" not in advice or parent is Plain


def test_methods_in_a_container():
    class Hub:
        def __init__(self, parent):
            self.calls = [parent.run, parent.run]

    class Net:
        def __init__(self):
            self.data = owners.Buffer(10)
            self.hub = Hub(self)
            self.other = Child(self)

        def run(self):
            pass

    advice = advice_on(Net)
    assert "WeakMethod" in advice
    assert "store a weakref.ref to each" not in advice
