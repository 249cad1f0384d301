# SPDX-License-Identifier: Apache-2.0
"""Garbage whose methods, finalizers and callbacks do what they can against who looks at it."""

import gc
import operator
import sys
import threading
import types
import unittest.mock
import weakref

from acts import Owner, cycle, main

CALLS = []
ARMED = []


class RefusedError(Exception):
    """What a special method raises that nobody was to call."""


def refuse(name):
    def method(*arguments, **keywords):
        if ARMED:
            CALLS.append(name)
            raise RefusedError(name)
        return DEFAULTS[name](*arguments, **keywords)

    return method


# Everything that looking at an object might call, with what it does while the cycle is built.
DEFAULTS = {
    "__getattribute__": object.__getattribute__,
    "__setattr__": object.__setattr__,
    "__hash__": object.__hash__,
    "__eq__": object.__eq__,
    "__ne__": object.__ne__,
    "__lt__": object.__lt__,
    "__repr__": object.__repr__,
    "__str__": object.__str__,
    "__format__": object.__format__,
    "__dir__": object.__dir__,
    "__sizeof__": object.__sizeof__,
    "__reduce_ex__": object.__reduce_ex__,
}
ADDED = (
    *("__getattr__", "__bool__", "__len__", "__iter__", "__next__", "__getitem__", "__contains__"),
    *("__call__", "__int__", "__index__", "__bytes__", "__buffer__", "__get__", "__length_hint__"),
    *("__torch_function__", "__array__", "__dlpack__", "__enter__", "__exit__", "__fspath__"),
)
DEFAULTS.update(dict.fromkeys(ADDED))
META_DEFAULTS = ("__getattribute__", "__hash__", "__eq__", "__repr__", "__dir__")


class Meta(type):
    """A metaclass that is no better than its classes."""


for name in META_DEFAULTS:

    def meta_method(cls, *arguments, name=name):
        if ARMED:
            CALLS.append(f"type {name}")
            raise RefusedError(name)
        return getattr(type, name)(cls, *arguments)

    setattr(Meta, name, meta_method)
for name in ("__instancecheck__", "__subclasscheck__", "__len__", "__iter__"):
    setattr(Meta, name, refuse(name))
DEFAULTS.update(__instancecheck__=type.__instancecheck__, __subclasscheck__=type.__subclasscheck__)

Hostile = Meta("Hostile", (), {name: refuse(name) for name in DEFAULTS})


class Disguised:
    """Says that it is an owner."""

    __class__ = property(lambda self: CALLS.append("__class__") or Owner)
    __cuda_array_interface__ = property(lambda self: CALLS.append("interface") or 1 / 0)


def every_special_method():
    hostile = Hostile()
    hostile.me = hostile
    hostile.table = {hostile: Owner()}
    del hostile
    ARMED.append(True)
    collected = gc.collect()
    ARMED.clear()
    print(collected > 0, CALLS)


def class_that_is_garbage_itself():
    kind = Meta("Fleeting", (), {name: refuse(name) for name in DEFAULTS})
    fleeting = kind()
    fleeting.me = fleeting
    fleeting.owner = Owner()
    del kind, fleeting
    ARMED.append(True)
    collected = gc.collect()
    ARMED.clear()
    print(collected > 0, CALLS)


def disguise():
    disguised = Disguised()
    disguised.me = disguised
    disguised.__dict__["owner"] = Owner()
    del disguised
    print(gc.collect() > 0, CALLS)


def proxies():
    node = cycle()
    node.proxy = weakref.proxy(node)
    node.view = types.MappingProxyType({"node": node})
    node.mock = unittest.mock.MagicMock(node=node)
    del node
    print(gc.collect() > 0, gc.collect())


def names_from_hell():
    names = ("</script>", "\x1b[2J", "a\nb", "\ud800", "%s{0}", "", "x" * 9999)
    for number, name in enumerate(names):
        kind = type("Named", (), {})
        kind.__module__ = number
        kind.__qualname__ = name
        node = kind()
        node.me = node
        setattr(node, name, Owner())
        node.__dict__[number] = node
    del node, kind
    print(gc.collect() > 0)


def finalizer_that(method):
    class Final:
        __del__ = method

    def act():
        final = Final()
        final.me = final
        final.owner = Owner()
        del final
        print("collected", gc.collect(), gc.garbage)
        cycle()
        print("after", gc.collect())

    return act


def raise_error(self):
    raise RuntimeError("raised in __del__")


def raise_exit(self):
    raise SystemExit("left in __del__")


def interrupt(self):
    raise KeyboardInterrupt


def collect_again(self):
    print("nested", gc.collect())


def make_more(self):
    cycle()
    print("nested", gc.collect())


def run_a_thread(self):
    thread = threading.Thread(target=lambda: (cycle(), print("nested", gc.collect())))
    thread.start()
    thread.join()


def clear_the_owner(self):
    self.__dict__.clear()


SAVED = []


def finalizer_that_resurrects():
    class Final:
        def __del__(self):
            SAVED.append(self)

    final = Final()
    final.me = final
    final.owner = Owner()
    del final
    print("collected", gc.collect(), len(SAVED), type(SAVED[0].owner).__name__)
    SAVED.clear()
    print("collected", gc.collect() > 0, len(SAVED))


def callback_that(function):
    def act():
        node = cycle()
        reference = weakref.ref(node, function)
        del node
        print("collected", gc.collect() > 0, reference())
        cycle()
        print("after", gc.collect())

    return act


def raise_in_callback(reference):
    raise RuntimeError("raised in a callback")


def import_in_callback(reference):
    import xml.dom.minidom

    print(xml.dom.minidom.__name__)


def collect_in_callback(reference):
    cycle()
    print("nested", gc.collect())


def generator_that_raises():
    def generate(me, held):
        try:
            yield held, me
        finally:
            raise RuntimeError("raised while closed")

    me = []
    me.append(generate(me, Owner()))
    next(me[0])
    del me
    print("collected", gc.collect(), gc.collect() > 0)


def generator_that_refuses_to_end():
    def generate(me, held):
        try:
            yield held, me
        finally:
            yield

    me = []
    me.append(generate(me, Owner()))
    next(me[0])
    del me
    print("collected", gc.collect(), gc.collect() > 0)


def coroutine_never_awaited():
    async def work(me, held):
        return me, held

    me = []
    me.append(work(me, Owner()))
    del me
    print("collected", gc.collect() > 0)


def owner_with_slots_and_no_weakref():
    class Bare:
        __slots__ = ("me",)

    node = Bare()
    node.me = [node, Owner()]
    del node
    print("collected", gc.collect())


class Unreferable:
    """An owner that no weak reference can tell the end of."""

    __slots__ = ()
    answer = Owner.answer


def living_owner_on_the_stack_of_a_generator():
    # What a variable of it holds, the generator pushes without counting it (3.14 and later), and
    # tp_traverse shows both.
    def generate(held):
        me = yield
        print((held, (yield)), me)

    if "cyclewatch" in sys.modules:
        sys.modules["cyclewatch"].register_owner(Unreferable, operator.attrgetter("answer"))
    alive = Unreferable()
    generator = generate(alive)
    next(generator)
    generator.send(generator)
    del generator
    cycle()
    print("collected", gc.collect() > 0, alive.answer)


def stack_that_is_nearly_full():
    def descend(depth):
        try:
            descend(depth + 1)
        except RecursionError:
            cycle()
            try:
                print("collected", gc.collect())
            except RecursionError:
                print("no room")
            raise SystemExit from None

    try:
        descend(0)
    except SystemExit:
        pass
    gc.collect()
    cycle()
    print("after", gc.collect())


ACTS = {
    act.__name__: act
    for act in (
        every_special_method,
        class_that_is_garbage_itself,
        disguise,
        proxies,
        names_from_hell,
        finalizer_that_resurrects,
        generator_that_raises,
        generator_that_refuses_to_end,
        coroutine_never_awaited,
        owner_with_slots_and_no_weakref,
        living_owner_on_the_stack_of_a_generator,
        stack_that_is_nearly_full,
    )
}
for method in (
    *(raise_error, raise_exit, interrupt, collect_again, make_more, run_a_thread),
    clear_the_owner,
):
    ACTS[f"finalizer: {method.__name__}"] = finalizer_that(method)
for function in (raise_in_callback, import_in_callback, collect_in_callback):
    ACTS[f"callback: {function.__name__}"] = callback_that(function)

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print("\n".join(ACTS))
    else:
        main(ACTS)
