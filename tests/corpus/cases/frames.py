# SPDX-License-Identifier: Apache-2.0
"""Stored frames, generators, coroutines and contexts."""

# %% f1_frame_in_own_local
"""A helper stores its own frame in a local variable; the tensor is a variable of the caller."""

import sys

EXPECTED = ["location local:current_frame"]


def location():
    current_frame = sys._getframe()
    return current_frame.f_back.f_lineno


def location_and_forget():
    current_frame = sys._getframe()
    try:
        return current_frame.f_back.f_lineno
    finally:
        del current_frame


def leaky(payload):
    batch = payload()
    return location() and batch and None


def fixed(payload):
    batch = payload()
    return location_and_forget() and batch and None


# %% own_context_variable
"""A request keeps a context in which a context variable is set to the request."""

import contextvars

EXPECTED = ["Request .context"]

CURRENT = contextvars.ContextVar("CURRENT")


class Request:
    def __init__(self, batch):
        self.batch = batch


def leaky(payload):
    request = Request(payload())
    request.context = contextvars.copy_context()
    request.context.run(CURRENT.set, request)


def fixed(payload):
    request = Request(payload())
    context = contextvars.copy_context()
    context.run(CURRENT.set, request)


# %% own_coroutine
"""An object keeps a suspended coroutine of one of its methods."""

EXPECTED = ["Worker .task"]


class Pause:
    def __await__(self):
        yield


class Worker:
    def __init__(self, batch):
        self.batch = batch

    async def work(self):
        await Pause()
        return self.batch


def leaky(payload):
    worker = Worker(payload())
    worker.task = worker.work()
    worker.task.send(None)


def fixed(payload):
    worker = Worker(payload())
    task = worker.work()
    task.send(None)


# %% own_generator
"""An object keeps a started generator of one of its methods."""

EXPECTED = ["Loader .stream"]


class Loader:
    def __init__(self, data):
        self.data = data

    def batches(self):
        while True:
            yield self.data


def leaky(payload):
    loader = Loader(payload())
    loader.stream = loader.batches()
    next(loader.stream)


def fixed(payload):
    loader = Loader(payload())
    stream = loader.batches()
    next(stream)


# %% own_stack_in_local
"""A function keeps the inspected call stack, which contains its own frame, in a variable."""

import inspect

EXPECTED = ["work local:entries"]


def leaky(payload):
    def work():
        values = payload()
        entries = inspect.stack()
        return len(entries), len([values])

    work()


def fixed(payload):
    def work():
        values = payload()
        names = [entry.function for entry in inspect.stack()]
        return len(names), len([values])

    work()
