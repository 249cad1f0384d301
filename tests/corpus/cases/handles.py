# SPDX-License-Identifier: Apache-2.0
"""Handles that an object returns to callers and also stores."""

# %% own_context_manager
"""A session keeps a context manager that it created from its own method."""

import contextlib

EXPECTED = ["Session .guard"]


class Session:
    def __init__(self, buffers):
        self.buffers = buffers

    @contextlib.contextmanager
    def locked(self):
        yield self.buffers


def leaky(payload):
    session = Session(payload())
    session.guard = session.locked()
    session.guard.__enter__()


def fixed(payload):
    session = Session(payload())
    with session.locked():
        pass


# %% own_cursors_of_connection
"""A connection keeps the cursors that it returned, to close them later; callers keep them too."""

import weakref

EXPECTED = ["Connection ._open_cursors"]


class Cursor:
    def __init__(self, connection):
        self.connection = connection
        self.position = 0

    def fetch(self):
        self.position += 1
        return self.connection.block[self.position]


class Connection:
    def __init__(self, block):
        self.block = block
        self._open_cursors = []

    def cursor(self):
        cursor = Cursor(self)
        self._open_cursors.append(cursor)
        return cursor


class FixedConnection:
    def __init__(self, block):
        self.block = block
        self._open_cursors = weakref.WeakSet()

    def cursor(self):
        cursor = Cursor(self)
        self._open_cursors.add(cursor)
        return cursor


def leaky(payload):
    Connection([payload() for _ in range(2)]).cursor().fetch()


def fixed(payload):
    FixedConnection([payload() for _ in range(2)]).cursor().fetch()


# %% own_exit_stack
"""A session keeps an exit stack that contains one of its own methods."""

import contextlib
import weakref

EXPECTED = ["close __self__", "Session .at_end"]


class Session:
    def __init__(self, buffers):
        self.buffers = buffers
        self.at_end = contextlib.ExitStack()

    def close(self):
        self.at_end.pop_all()


def leaky(payload):
    session = Session(payload())
    session.at_end.callback(session.close)


def fixed(payload):
    session = Session(payload())
    session.at_end.callback(weakref.WeakMethod(session.close))


# %% own_hook_handle
"""A model keeps the handle that removes its hook, and the handle refers to the model."""

import weakref

EXPECTED = ["Handle .model"]
MISS = (
    "The model was created before the handle was stored in it, so the model does not seem to need "
    "the handle. Only the name of the handle suggests its purpose."
)


class Handle:
    def __init__(self, model, number):
        self.model = model
        self.number = number

    def remove(self):
        del self.model.hooks[self.number]


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.hooks = {}


def leaky(payload):
    model = Model(payload())
    model.hooks[1] = print
    model.handle = Handle(model, 1)


def fixed(payload):
    model = Model(payload())
    model.hooks[1] = print
    model.handle = Handle(weakref.proxy(model), 1)


# %% own_iterator_of_loader
"""To report progress, a loader stores the iterator that it returned."""

import weakref

EXPECTED = ["Loader .latest"]


class Batches:
    def __init__(self, loader):
        self.loader = loader
        self.taken = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.taken == len(self.loader.samples):
            raise StopIteration
        self.taken += 1
        return self.loader.samples[self.taken - 1]


class Loader:
    def __init__(self, samples):
        self.samples = samples
        self.latest = None

    def __iter__(self):
        self.latest = Batches(self)
        return self.latest


class FixedLoader:
    def __init__(self, samples):
        self.samples = samples
        self.latest = None

    def __iter__(self):
        batches = Batches(self)
        self.latest = weakref.ref(batches)
        return batches


def leaky(payload):
    for _ in Loader([payload()]):
        pass


def fixed(payload):
    for _ in FixedLoader([payload()]):
        pass


# %% own_progress_bar
"""A loader keeps a progress bar that wraps its own generator of batches."""

EXPECTED = ["Loader .progress", "Progress .batches"]


class Progress:
    def __init__(self, batches):
        self.batches = batches
        self.done = 0

    def __iter__(self):
        for batch in self.batches:
            self.done += 1
            yield batch


class Loader:
    def __init__(self, data):
        self.data = data

    def stream(self):
        for _ in range(3):
            yield self.data


def leaky(payload):
    loader = Loader(payload())
    loader.progress = Progress(loader.stream())
    next(iter(loader.progress))


def fixed(payload):
    loader = Loader(payload())
    progress = Progress(loader.stream())
    next(iter(progress))


# %% own_unsubscribe_function
"""A widget keeps the function that unsubscribes it, which captures the bus and the widget."""

EXPECTED = ["Widget ._unsubscribe"]


class Bus:
    def __init__(self):
        self.listeners = []


class Widget:
    def __init__(self, texture):
        self.texture = texture

    def on_event(self):
        return self.texture


def leaky(payload):
    widget, bus = Widget(payload()), Bus()
    bus.listeners.append(widget.on_event)
    widget._unsubscribe = lambda: bus.listeners.remove(widget.on_event)


def fixed(payload):
    widget, bus = Widget(payload()), Bus()
    bus.listeners.append(widget.on_event)
    bus.listeners.clear()
