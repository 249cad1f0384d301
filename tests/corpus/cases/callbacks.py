# SPDX-License-Identifier: Apache-2.0
"""Callbacks that lead back to the object that stores them."""

# %% c1_callback_in_own_list
"""An awaitable keeps a list of callbacks, one of which captures the awaitable."""

EXPECTED = ["<lambda> closure:self"]


class Awaitable:
    def __init__(self, permutation):
        self.callbacks = []
        self.permutation = permutation


class LeakyAwaitable(Awaitable):
    def __init__(self, permutation):
        super().__init__(permutation)
        self.callbacks.append(lambda value: (value, self.permutation))


class FixedAwaitable(Awaitable):
    def __init__(self, permutation):
        super().__init__(permutation)
        self.callbacks.append(lambda value: (value, permutation))


def leaky(payload):
    LeakyAwaitable(payload())


def fixed(payload):
    FixedAwaitable(payload())


# %% c2_callback_through_foreign_class
"""A trainer passes a lambda that captures the trainer to a scheduler."""

EXPECTED = ["<lambda> closure:self"]


class Optimizer:
    def __init__(self, moments):
        self.moments = {"exp_avg": moments}


class Scheduler:
    def __init__(self, optimizer, rule):
        self.optimizer = optimizer
        self.rules = [rule]


class Trainer:
    def __init__(self, optimizer):
        self.gamma = 0.9
        self.optimizer = optimizer


def leaky(payload):
    class LeakyTrainer(Trainer):
        def prepare(self):
            self.scheduler = Scheduler(self.optimizer, lambda epoch: self.gamma**epoch)

    make_and_prepare(LeakyTrainer, payload)


def fixed(payload):
    class FixedTrainer(Trainer):
        def prepare(self):
            gamma = self.gamma
            self.scheduler = Scheduler(self.optimizer, lambda epoch: gamma**epoch)

    make_and_prepare(FixedTrainer, payload)


def make_and_prepare(trainer_class, payload):
    trainer_class(Optimizer(payload())).prepare()


# %% c6_method_through_helper
"""A wrapper passes one of its bound methods to a runner that it owns."""

import weakref

EXPECTED = ["forward __self__", "Runner .function"]


class Runner:
    def __init__(self, function):
        self.function = function


class Wrapper:
    def __init__(self, buffers):
        self.buffers = buffers

    def forward(self):
        return self.buffers


def leaky(payload):
    wrapper = Wrapper(payload())
    wrapper.runner = Runner(wrapper.forward)


def fixed(payload):
    wrapper = Wrapper(payload())
    method = weakref.WeakMethod(wrapper.forward)
    wrapper.runner = Runner(lambda: method()())


# %% own_asyncio_callback
"""A job keeps a future whose callback is a method of the job."""

import asyncio

EXPECTED = ["finish __self__", "Job .done"]


class Job:
    def __init__(self, batch):
        self.batch = batch

    def finish(self, future):
        return self.batch


def start(payload, loop, method_of):
    job = Job(payload())
    job.done = loop.create_future()
    job.done.add_done_callback(method_of(job))


def with_loop(payload, method_of):
    loop = asyncio.new_event_loop()
    start(payload, loop, method_of)
    loop.close()


def leaky(payload):
    with_loop(payload, lambda job: job.finish)


def fixed(payload):
    with_loop(payload, lambda job: Job.finish)


# %% own_callbacks_of_a_comprehension
"""Callbacks are created in comprehensions, which are separate functions only on 3.11."""

EXPECTED = ["<lambda> closure:self", "LeakyPanel .callbacks"]


class LeakyPanel:
    def __init__(self, weight):
        self.weight = weight
        self.callbacks = [[lambda: self for _ in range(1)] for _ in range(1)]


class FixedPanel:
    def __init__(self, weight):
        self.weight = weight
        self.callbacks = [[lambda panel: panel for _ in range(1)] for _ in range(1)]


def leaky(payload):
    LeakyPanel(payload())


def fixed(payload):
    FixedPanel(payload())


# %% own_default_argument
"""The default value of a callback's parameter is the object that stores the callback."""

EXPECTED = ["report default:trainer"]


class Trainer:
    def __init__(self, model):
        self.model = model


def leaky(payload):
    trainer = Trainer(payload())

    def report(step, trainer=trainer):
        return trainer.model, step

    trainer.on_step = report


def fixed(payload):
    trainer = Trainer(payload())

    def report(step, trainer):
        return trainer.model, step

    trainer.on_step = report


# %% own_partial_of_method
"""A model stores a partial of one of its own methods."""

import functools

EXPECTED = ["transform __self__", "Model .apply", "partial func"]


class Model:
    def __init__(self, weights):
        self.weights = weights

    def transform(self, batch, scale):
        return self.weights, batch, scale

    def apply_twice(self, batch):
        return self.transform(batch, scale=2)


def leaky(payload):
    model = Model(payload())
    model.apply = functools.partial(model.transform, scale=2)


def fixed(payload):
    Model(payload()).apply_twice(1)


# %% own_shared_variable
"""Two callbacks share a variable through which the object that stores them can be reached."""

EXPECTED = ["read closure:store + write closure:store"]


class Store:
    def __init__(self, values):
        self.values = values


def leaky(payload):
    store = Store(payload())

    def read():
        return store.values

    def write(values):
        store.values = values

    store.callbacks = {"read": read, "write": write}


def fixed(payload):
    store = Store(payload())

    def read(store):
        return store.values

    def write(store, values):
        store.values = values

    store.callbacks = {"read": read, "write": write}


# %% w3_hook_partial
"""A module keeps a hook: a partial whose first argument is the module."""

import collections
import functools
import weakref

EXPECTED = ["partial args[x]"]


class Module:
    def __init__(self, weight):
        self.weight = weight
        self.hooks = collections.OrderedDict()


def hook(module, state):
    return module, state


def weak_hook(module_reference, state):
    return hook(module_reference(), state)


def leaky(payload):
    module = Module(payload())
    module.hooks[7] = functools.partial(hook, module)


def fixed(payload):
    module = Module(payload())
    module.hooks[7] = functools.partial(weak_hook, weakref.ref(module))
