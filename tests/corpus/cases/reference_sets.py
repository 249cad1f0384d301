# SPDX-License-Identifier: Apache-2.0
"""Cycles through many similar references to one object."""

# %% own_error_knows_job
"""A job lists its problems as exceptions that were never raised; each of them refers to the job."""

EXPECTED = ["ReadError .job"]


class ReadError(Exception):
    def __init__(self, job):
        super().__init__("unreadable")
        self.job = job


class Job:
    def __init__(self, frames):
        self.frames = frames
        self.problems = []

    def check(self, job):
        self.problems.append(ReadError(job))


def leaky(payload):
    job = Job(payload())
    job.check(job)


def fixed(payload):
    job = Job(payload())
    job.check("job 1")


# %% own_logging_handler
"""A trainer has its own logger, whose handler refers to the trainer."""

import logging
import weakref

EXPECTED = ["RunHandler .trainer"]
KEEP = ["emit"]


class RunHandler(logging.Handler):
    def __init__(self, trainer):
        super().__init__()
        self.trainer = trainer

    def emit(self, record):
        pass


class Trainer:
    def __init__(self, weights):
        self.weights = weights
        self.logger = logging.Logger("run")


def leaky(payload):
    trainer = Trainer(payload())
    trainer.logger.addHandler(RunHandler(trainer))


def fixed(payload):
    trainer = Trainer(payload())
    trainer.logger.addHandler(RunHandler(weakref.proxy(trainer)))


# %% own_many_kinds_of_callbacks
"""A trainer lists callbacks of many classes, each of which refers to the trainer."""

EXPECTED = [
    "Clock .trainer + Early .trainer + Plotter .trainer + Printer .trainer + Saver .trainer"
]


class Callback:
    def attach(self, trainer):
        self.trainer = trainer


class Saver(Callback):
    pass


class Early(Callback):
    pass


class Printer(Callback):
    pass


class Plotter(Callback):
    pass


class Clock(Callback):
    pass


class Trainer:
    def __init__(self, model, refer):
        self.model = model
        self.callbacks = [Saver(), Early(), Printer(), Plotter(), Clock()]
        for callback in self.callbacks:
            callback.attach(refer(self))


def leaky(payload):
    Trainer(payload(), lambda trainer: trainer)


def fixed(payload):
    Trainer(payload(), id)


# %% own_observer_list
"""A subject stores methods of its observers, and each observer refers to the subject."""

import weakref

EXPECTED = ["changed __self__", "Observer .subject", "list [x]"]


class Subject:
    def __init__(self, values):
        self.values = values
        self.observers = []


class Observer:
    def __init__(self, subject, refer):
        self.subject = subject
        subject.observers.append(refer(self.changed))

    def changed(self):
        return self.subject.values


def leaky(payload):
    Observer(Subject(payload()), lambda method: method)


def fixed(payload):
    Observer(Subject(payload()), weakref.WeakMethod)


# %% own_several_parts
"""Two children of different classes refer back to their parent; both references must be cut."""

EXPECTED = ["Checkpoint .trainer + Logger .trainer"]


class Logger:
    def __init__(self, trainer):
        self.trainer = trainer


class Checkpoint:
    def __init__(self, trainer):
        self.trainer = trainer


class Trainer:
    def __init__(self, model, refer):
        self.model = model
        self.logger = Logger(refer(self))
        self.checkpoint = Checkpoint(refer(self))


def leaky(payload):
    Trainer(payload(), lambda trainer: trainer)


def fixed(payload):
    Trainer(payload(), id)


# %% own_two_kinds_of_callbacks
"""A trainer lists callbacks of two classes, each of which refers to the trainer."""

EXPECTED = ["Early .trainer + Saver .trainer"]


class Callback:
    def attach(self, trainer):
        self.trainer = trainer


class Saver(Callback):
    pass


class Early(Callback):
    pass


class Trainer:
    def __init__(self, model, refer):
        self.model = model
        self.callbacks = [Saver(), Early()]
        for callback in self.callbacks:
            callback.attach(refer(self))


def leaky(payload):
    Trainer(payload(), lambda trainer: trainer)


def fixed(payload):
    Trainer(payload(), id)


# %% own_two_kinds_of_commands
"""A canvas lists commands of two classes; the commands refer to the canvas to undo changes."""

EXPECTED = ["Paint .receiver + Erase .receiver"]


class Paint:
    def __init__(self, receiver, before):
        self.receiver = receiver
        self.before = before


class Erase:
    def __init__(self, receiver, before):
        self.receiver = receiver
        self.before = before


class Canvas:
    def __init__(self):
        self.done = []


def leaky(payload):
    canvas = Canvas()
    canvas.done += [Paint(canvas, payload()), Erase(canvas, payload()), Paint(canvas, payload())]


def fixed(payload):
    canvas = Canvas()
    canvas.done += [Paint(None, payload()), Erase(None, payload()), Paint(None, payload())]
