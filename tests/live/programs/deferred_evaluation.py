"""An evaluation that is scheduled for later keeps its model.

module global __main__.timer -> timer._queue[0].action.args[0]
"""

import functools
import sched
import weakref

import torch

import cyclewatch

timer = sched.scheduler()


def evaluate(model):
    return sum(parameter.sum() for parameter in model.parameters())


def train():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    timer.enter(600, 1, functools.partial(evaluate, model))
    return weakref.ref(model)


print(cyclewatch.why_alive(train(), 1)[0])
