# SPDX-License-Identifier: Apache-2.0
"""Cycles through autograd: most contain C++ objects that the collector does not see.

Such a cycle is not garbage to the collector: it is never freed and not reported.
"""

import json

import pytest

START = """
import gc, functools, json, sys, weakref
import torch, cyclewatch

def observe(leak, *arguments):
    gc.collect()
    with cyclewatch.watch(devices="all") as watch:
        alive = weakref.ref(leak(*arguments))
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

observe(leak)
"""

HOOK_ON_GRAPH = """
class Strategy:
    def __init__(self):
        self.cache = torch.ones(1000, requires_grad=True) * 2
        self.cache.grad_fn.register_hook(functools.partial(clear, self))

def clear(strategy, *gradients):
    strategy.cache = None

observe(Strategy)
"""

SAVED_TENSOR_HOOK = """
class Storage(list):
    pass

def leak():
    storage = Storage()

    def pack(tensor):
        return lambda: storage

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: torch.ones(1000)):
        storage.append(torch.ones(1000, requires_grad=True).exp())
    return storage

observe(leak)
"""

SAVED_VIEW_OF_OUTPUT = """
class Identity(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        output = x.clone()
        ctx.kept = [output.view(-1)]
        ctx.output = output
        return output

    @staticmethod
    def backward(ctx, gradient):
        return gradient

class Mark:
    pass

def leak():
    output = Identity.apply(torch.ones(1000, requires_grad=True))
    output.mark = Mark()
    return output.mark

observe(leak)
"""

HOOK_ON_MODULE = """
class Probe(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(100, 100)
        self.layer.register_forward_hook(self.record)

    def record(self, module, arguments, output):
        self.last = output

gc.disable()
observe(Probe)
"""


def run(interpreter, program):
    [labels, alive] = json.loads(interpreter.run(START + program).stdout)
    return labels, alive


def test_output_stored_on_its_own_context_is_reported(main_interpreter):
    pytest.importorskip("torch")
    assert run(main_interpreter, OUTPUT_ON_CTX) == ([".y"], False)


@pytest.mark.parametrize(
    "program",
    [HOOK_ON_GRAPH, SAVED_TENSOR_HOOK, SAVED_VIEW_OF_OUTPUT],
    ids=["hook_on_graph", "saved_tensor_hook", "saved_view_of_output"],
)
def test_cycles_through_autograd_are_not_reported(main_interpreter, program):
    pytest.importorskip("torch")
    assert run(main_interpreter, program) == ([], True)


def test_hook_that_is_a_method_of_the_parent_module_is_reported(main_interpreter):
    pytest.importorskip("torch")
    assert run(main_interpreter, HOOK_ON_MODULE) == (["__self__"], False)
