# SPDX-License-Identifier: Apache-2.0
"""Methods replaced by functions that wrap them."""

# %% own_patched_forward
"""A replacement for a model's forward method captures both the model and the old method."""

import weakref

EXPECTED = ["forward closure:model + forward closure:original", "Model .forward"]
KEEP = ["forward"]


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.calls = 0

    def forward(self):
        return self.weights


def patch(model, original):
    def forward():
        model.calls += 1
        return original()

    return forward


def leaky(payload):
    model = Model(payload())
    model.forward = patch(model, model.forward)


def fixed(payload):
    model = Model(payload())
    weak = weakref.proxy(model)
    model.forward = patch(weak, lambda: Model.forward(weak))


# %% own_scheduler_patches_step
"""A scheduler replaces its optimizer's step method with a wrapper that counts calls."""

import weakref

EXPECTED = ["wrapper closure:scheduler"]


class Optimizer:
    def __init__(self, moments):
        self.moments = moments

    def step(self):
        return len(self.moments)


class Scheduler:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.count = 0


def counted(function, scheduler):
    def wrapper():
        scheduler.count += 1
        return function(scheduler.optimizer)

    return wrapper


def leaky(payload):
    scheduler = Scheduler(Optimizer(payload()))
    scheduler.optimizer.step = counted(Optimizer.step, scheduler)


def fixed(payload):
    scheduler = Scheduler(Optimizer(payload()))
    scheduler.optimizer.step = counted(Optimizer.step, weakref.proxy(scheduler))


# %% own_wrapper_marks_module
"""A wrapper sets itself as an attribute of the module that it wraps."""

import weakref

EXPECTED = ["Module .replica"]


class Module:
    def __init__(self, weights):
        self.weights = weights

    def apply(self, x):
        return x


class Wrapper:
    def __init__(self, module):
        self.module = module
        module.replica = self

    def apply(self, x):
        return self.module.apply(x)


class FixedWrapper(Wrapper):
    def __init__(self, module):
        self.module = module
        module.replica = weakref.ref(self)


def leaky(payload):
    Wrapper(Module(payload())).apply(1)


def fixed(payload):
    FixedWrapper(Module(payload())).apply(1)


# %% own_wraps_method
"""A wrapper made with functools.wraps() is stored next to the method that it wraps."""

import functools

EXPECTED = ["quiet .__wrapped__", "run __self__"]


class Engine:
    def __init__(self, weights):
        self.weights = weights

    def run(self):
        return self.weights


def leaky(payload):
    engine = Engine(payload())

    @functools.wraps(engine.run)
    def quiet():
        return None

    engine.quiet = quiet


def fixed(payload):
    engine = Engine(payload())

    @functools.wraps(Engine.run)
    def quiet():
        return None

    engine.quiet = quiet


# %% w1_wrapped_method
"""A method is replaced, on the instance, by a function that wraps it."""

import weakref

EXPECTED = ["wrapper closure:method", "step __self__"]


class Optimizer:
    def __init__(self, moments):
        self.moments = moments

    def step(self):
        return self.moments


def leaky(payload):
    def with_counter(method):
        def wrapper():
            wrapper_calls.append(1)
            return method()

        wrapper_calls = []
        return wrapper

    optimizer = Optimizer(payload())
    optimizer.step = with_counter(optimizer.step)


def fixed(payload):
    def with_counter(method):
        weak_method = weakref.WeakMethod(method)

        def wrapper():
            return weak_method()()

        return wrapper

    optimizer = Optimizer(payload())
    optimizer.step = with_counter(optimizer.step)
