# SPDX-License-Identifier: Apache-2.0
"""Shapes of cycles through torch's C++ objects of which several references must be cut.

Each function creates one, and returns weak references to its tensors and the functions that remove
the references, by label.
"""

import weakref

import torch
from uncollectable import KeepsOutput, leaf, refer_to


class KeepsOutputAndModule(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, module):
        ctx.result = tensor * 2
        ctx.module = module
        return ctx.result

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def context_keeps_output_and_module():
    module = torch.nn.Linear(8, 8)
    module.last = KeepsOutputAndModule.apply(module(torch.ones(2, 8)), module).relu()
    context = weakref.ref(module.last.grad_fn.next_functions[0][0])
    return refer_to(module.last, module.weight), {
        ".result": lambda: delattr(context(), "result"),
        ".module": lambda: delattr(context(), "module"),
    }


def context_keeps_output_and_later_output():
    output = KeepsOutput.apply(leaf())
    later = output.exp()
    output.grad_fn.later = later
    context = weakref.ref(output.grad_fn)
    return refer_to(output, later), {
        ".output": lambda: delattr(context(), "output"),
        ".later": lambda: delattr(context(), "later"),
    }


SHAPES = [context_keeps_output_and_module, context_keeps_output_and_later_output]
