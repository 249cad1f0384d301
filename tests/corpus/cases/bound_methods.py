# SPDX-License-Identifier: Apache-2.0
"""Objects that store one of their own bound methods."""

# %% c3_bound_method_as_attribute
"""A module stores one of its own bound methods."""

EXPECTED = ["run_small __self__", "LeakyModule .run"]


class Module:
    def __init__(self, weight):
        self.weight = weight

    def run_small(self):
        return self.weight


class LeakyModule(Module):
    def __init__(self, weight):
        super().__init__(weight)
        self.run = self.run_small


class FixedModule(Module):
    def run(self):
        return self.run_small()


def leaky(payload):
    LeakyModule(payload())


def fixed(payload):
    FixedModule(payload())


# %% c3_chosen_method
"""A scheduler selects one of its methods and stores the bound method."""

import weakref

EXPECTED = ["triangular __self__", "Schedule .scale_function"]


class Schedule:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def triangular(self, step):
        return step


def leaky(payload):
    schedule = Schedule(payload())
    schedule.scale_function = schedule.triangular


def fixed(payload):
    schedule = Schedule(payload())
    schedule.scale_function = weakref.WeakMethod(schedule.triangular)


# %% c4_cached_method
"""A container selects one of its validation methods and caches the bound method."""

EXPECTED = ["LeakyBatch .validate_cached", "validate_locked __self__"]


class Batch:
    def __init__(self, values):
        self.values = {"observation": values}
        self.locked = True

    def validate_locked(self, value):
        return value

    def validate_open(self, value):
        return value


class LeakyBatch(Batch):
    def validate(self, value):
        if not hasattr(self, "validate_cached"):
            self.validate_cached = self.validate_locked if self.locked else self.validate_open
        return self.validate_cached(value)


class FixedBatch(Batch):
    def validate(self, value):
        return self.validate_locked(value) if self.locked else self.validate_open(value)


def leaky(payload):
    LeakyBatch(payload()).validate(1)


def fixed(payload):
    FixedBatch(payload()).validate(1)


# %% k3_cached_accessor
"""Reading an attribute caches a helper in the instance; the helper refers to the instance."""

import functools

EXPECTED = ["Frame .iloc", "Indexer .frame"]


class Indexer:
    def __init__(self, frame):
        self.frame = frame


class Frame:
    def __init__(self, columns):
        self.columns = columns

    @functools.cached_property
    def iloc(self):
        return Indexer(self)


class FixedFrame:
    def __init__(self, columns):
        self.columns = columns

    @property
    def iloc(self):
        return Indexer(self)


def leaky(payload):
    return Frame(payload()).iloc and None


def fixed(payload):
    return FixedFrame(payload()).iloc and None


# %% own_builtin_iterator
"""A loader stores a map() iterator that calls one of the loader's methods."""

EXPECTED = ["load __self__", "Loader .batches"]


class Loader:
    def __init__(self, data):
        self.data = data

    def load(self, index):
        return self.data, index


def leaky(payload):
    loader = Loader(payload())
    loader.batches = map(loader.load, range(3))


def fixed(payload):
    loader = Loader(payload())
    data = loader.data
    loader.batches = map(lambda index: (data, index), range(3))  # noqa: C417 - the iterator is the case


# %% own_single_dispatch
"""An encoder stores a generic function that it created from one of its methods."""

import functools

EXPECTED = ["encode __self__", "Encoder .generic"]


class Encoder:
    def __init__(self, table):
        self.table = table

    def encode(self, value):
        return self.table, value


def leaky(payload):
    encoder = Encoder(payload())
    encoder.generic = functools.singledispatch(encoder.encode)


def fixed(payload):
    encoder = Encoder(payload())
    encoder.generic = functools.singledispatch(Encoder.encode)


# %% own_table_of_methods
"""A state machine looks up event handlers in a table of its own methods."""

EXPECTED = ["pause __self__ + start __self__ + stop __self__ + wait __self__", "Machine .handlers"]


class Machine:
    def __init__(self, values, refer):
        self.values = values
        self.handlers = {
            "start": refer(self.start),
            "stop": refer(self.stop),
            "pause": refer(self.pause),
            "wait": refer(self.wait),
        }

    def start(self):
        return self.values

    def stop(self):
        return self.values

    def pause(self):
        return self.values

    def wait(self):
        return self.values


def leaky(payload):
    Machine(payload(), lambda method: method)


def fixed(payload):
    Machine(payload(), lambda method: method.__name__)


# %% own_thread_target
"""A worker keeps a thread that was never started and whose target is a method of the worker."""

import threading

EXPECTED = ["work __self__", "Worker .thread"]


class Worker:
    def __init__(self, batch):
        self.batch = batch

    def work(self):
        return self.batch


def leaky(payload):
    worker = Worker(payload())
    worker.thread = threading.Thread(target=worker.work)


def fixed(payload):
    worker = Worker(payload())
    worker.thread = threading.Thread(target=Worker.work)
