# SPDX-License-Identifier: Apache-2.0
"""Garbage with hostile methods, finalizers and weakref callbacks. PROGRAM SCENARIO [--watch]."""

import gc
import operator
import sys
import threading
import weakref

from scenarios import Owner, cycle, main

CALLS = []
ARMED = []


class RefusedError(Exception):
    """Raised by a special method that must not be called."""


def refuse(name):
    def method(*arguments, **keywords):
        if ARMED:
            CALLS.append(name)
            raise RefusedError(name)
        return DEFAULTS[name](*arguments, **keywords)

    return method


# Special methods that might be called when an object is inspected, with their behaviour until
# ARMED.
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
    """A metaclass with hostile special methods."""


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
    """Pretends to be an owner."""

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

    def scenario():
        final = Final()
        final.me = final
        final.owner = Owner()
        del final
        print("collected", gc.collect(), gc.garbage)
        cycle()
        print("after", gc.collect())

    return scenario


def raise_error(self):
    raise RuntimeError("raised in __del__")


def collect_again(self):
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
    def scenario():
        node = cycle()
        reference = weakref.ref(node, function)
        del node
        print("collected", gc.collect() > 0, reference())
        cycle()
        print("after", gc.collect())

    return scenario


def raise_in_callback(reference):
    raise RuntimeError("raised in a callback")


def collect_in_callback(reference):
    cycle()
    print("nested", gc.collect())


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


class Unreferable:
    """An owner that does not support weak references."""

    __slots__ = ()
    answer = Owner.answer


def living_owner_on_the_stack_of_a_generator():
    # From 3.14 on, the generator pushes the value of a variable without creating a reference, and
    # tp_traverse visits both the variable and the pushed value.
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


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        every_special_method,
        class_that_is_garbage_itself,
        disguise,
        names_from_hell,
        finalizer_that_resurrects,
        generator_that_refuses_to_end,
        living_owner_on_the_stack_of_a_generator,
    )
}
for method in (raise_error, collect_again, run_a_thread, clear_the_owner):
    SCENARIOS[f"finalizer: {method.__name__}"] = finalizer_that(method)
for function in (raise_in_callback, collect_in_callback):
    SCENARIOS[f"callback: {function.__name__}"] = callback_that(function)

if __name__ == "__main__":
    main(SCENARIOS)
