# SPDX-License-Identifier: Apache-2.0
"""Cycles through autograd: cycles through C++ objects are invisible to the collector.

Such a cycle is never freed, so it is not reported.
"""

import json

import pytest

START = """
import gc, functools, json, weakref
import torch, cyclewatch

def watch_leak(leak):
    gc.collect()
    with cyclewatch.watch(devices="all") as watch:
        alive = weakref.ref(leak())
        gc.collect()
    print(json.dumps([[f.cut.label for f in watch.report().findings], alive() is not None]))
"""

OUTPUT_ON_CTX = """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x * x
        return ctx.y

    @staticmethod
    def backward(ctx, gradient):
        return gradient

class Mark:
    pass

def leak():
    output = Square.apply(torch.ones(1000, requires_grad=True))
    output.mark = Mark()
    return output.mark

watch_leak(leak)
"""

HOOK_ON_GRAPH = """
class Strategy:
    def __init__(self):
        self.cache = torch.ones(1000, requires_grad=True) * 2
        self.cache.grad_fn.register_hook(functools.partial(clear, self))

def clear(strategy, *gradients):
    strategy.cache = None

watch_leak(Strategy)
"""


@pytest.mark.parametrize(
    ("program", "labels", "alive"),
    [(OUTPUT_ON_CTX, [".y"], False), (HOOK_ON_GRAPH, [], True)],
    ids=["output stored on its context", "hook on grad_fn"],
)
def test_only_cycles_of_python_objects_are_reported(main_interpreter, program, labels, alive):
    pytest.importorskip("torch")
    assert json.loads(main_interpreter.run(START + program).stdout) == [labels, alive]
