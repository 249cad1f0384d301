"""Prints the first path from each kind of root to an object, on the running interpreter."""

import contextvars
import functools
import threading
import weakref

import cyclewatch


class Thing:
    @functools.cache
    def cached(self):
        return None


def show(reference):
    print(*cyclewatch.why_alive(reference, 1))


def local():
    thing = Thing()
    thing.part = Thing()
    show(weakref.ref(thing.part))


def captured():
    thing = Thing()

    def use():
        return thing

    uses.append(use)
    return weakref.ref(thing)


def generate(thing):
    yield weakref.ref(thing)


uses = []
local()
show(captured())
uses[:] = [generate(Thing())]
show(next(uses[0]))
uses.clear()
thing = Thing()
thing.cached()
reference = weakref.ref(thing)
del thing
show(reference)
Thing.cached.cache_clear()
variable = contextvars.ContextVar("variable")
variable.set(Thing())
show(weakref.ref(variable.get()))
storage = threading.local()
storage.thing = Thing()
show(weakref.ref(storage.thing))
try:
    thing = Thing()
    reference = weakref.ref(thing)

    def fail(argument):
        raise ValueError

    fail(thing)
except ValueError:
    del thing
    show(reference)
print(cyclewatch.why_alive(reference), cyclewatch.why_alive(*[Thing()]))
