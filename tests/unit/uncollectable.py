# SPDX-License-Identifier: Apache-2.0
"""Shapes of cycles through torch's C++ objects.

Each function creates one, and returns weak references to its tensors and a function that removes
the reference that cyclewatch suggests to cut.
"""

import weakref

import torch
from torch.autograd.graph import register_multi_grad_hook
from torch.utils.checkpoint import checkpoint

SIZE = 1024


def leaf():
    return torch.ones(SIZE, requires_grad=True)


def refer_to(*tensors):
    return [weakref.ref(tensor) for tensor in tensors]


def empty_cell(function):
    """Returns a function that empties the closure cell of `function`."""
    reference = weakref.ref(function)

    def cut():
        (cell,) = reference().__closure__
        del cell.cell_contents

    return cut


class KeepsModule(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, module):
        ctx.module = module
        return tensor.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class KeepsOutput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        output = tensor.clone()
        ctx.output = output
        return output

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class SavesView(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        output = tensor + 1
        ctx.save_for_backward(output.view(-1))
        return output

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class MarksDirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        tensor.relu_()
        ctx.mark_dirty(tensor)
        ctx.save_for_backward(tensor)
        return tensor

    @staticmethod
    def backward(ctx, gradient):
        return gradient


# ---- Never freed -----------------------------------------------------------------------------


def gradient_with_graph():
    tensor = leaf()
    tensor.tanh().sum().backward(create_graph=True)
    (reference,) = refer_to(tensor)
    return [reference, *refer_to(tensor.grad)], lambda: setattr(reference(), "grad", None)


def gradient_with_graph_of_a_layer():
    """The graph saves a view of the weight, which its initialization modified in place."""
    layer = torch.nn.Linear(SIZE, 4, bias=False)
    tensor = leaf()
    layer(tensor).tanh().sum().backward(create_graph=True)
    references = refer_to(layer.weight, tensor)

    def cut():
        for reference in references:
            reference().grad = None

    return [*references, *refer_to(layer.weight.grad, tensor.grad)], cut


def pack_hook_returns_output():
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        output = leaf().exp()
    (reference,) = refer_to(output)
    return [reference], lambda: torch.autograd.backward(reference().sum())


def saved_on_cpu():
    """On a CPU, the copy of a tensor that save_on_cpu() saves is the tensor itself."""
    with torch.autograd.graph.save_on_cpu():
        output = leaf().exp()
    (reference,) = references = refer_to(output)
    return references, lambda: reference().sum().backward()


def tensor_hook_captures_later_output():
    inner = leaf() * 2
    output = inner * 3

    def hook(gradient):
        return output.sum() * 0 + gradient

    inner.register_hook(hook)
    return refer_to(output), empty_cell(hook)


def node_hook_captures_later_output():
    inner = leaf() * 2
    output = inner * 3

    def hook(*_):
        return (output,)

    inner.grad_fn.register_hook(hook)
    return refer_to(output), empty_cell(hook)


def node_hook_captures_own_output():
    output = leaf() * 2

    def hook(*_):
        return (output,)

    output.grad_fn.register_hook(hook)
    return refer_to(output), empty_cell(hook)


def node_prehook_captures_own_output():
    output = leaf() * 2

    def hook(*_):
        return (output,)

    output.grad_fn.register_prehook(hook)
    return refer_to(output), empty_cell(hook)


def accumulate_grad_hook_captures_loss():
    tensor = leaf()
    loss = (tensor * 2).sum()

    def hook(*_):
        return loss

    loss.grad_fn.next_functions[0][0].next_functions[0][0].register_hook(hook)
    return refer_to(loss, tensor), empty_cell(hook)


def post_accumulate_grad_hook():
    tensor = leaf()

    def hook(_):
        return tensor

    tensor.register_post_accumulate_grad_hook(hook)
    return refer_to(tensor), empty_cell(hook)


def hook_of_own_module():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(SIZE))
            self.handle = self.weight.register_post_accumulate_grad_hook(lambda _: self.done())

        def done(self):
            pass

    model = Model()
    reference = weakref.ref(model)
    return refer_to(model.weight), lambda: reference().handle.remove()


def multi_grad_hook():
    """Each hook that torch creates refers to all nodes, no matter what the function refers to."""
    layer = torch.nn.Linear(SIZE, 4)
    output = layer(torch.ones(2, SIZE))
    handle = register_multi_grad_hook([layer.weight, output], lambda gradients: None)
    return refer_to(layer.weight), handle.remove


def multi_grad_hook_of_leaf():
    tensor = leaf()
    handle = register_multi_grad_hook([tensor], lambda gradients: None)
    return refer_to(tensor), handle.remove


def multi_grad_hook_of_any_tensor():
    first, second = leaf() * 2, leaf() * 3

    def hook(_):
        return first

    register_multi_grad_hook([first, second], hook, mode="any")
    return refer_to(first), empty_cell(hook)


def tensor_hook_captures_own_output():
    output = leaf() * 2

    def hook(_):
        return output

    output.register_hook(hook)
    return refer_to(output), empty_cell(hook)


def view_on_its_base():
    base = torch.ones(SIZE)
    base.view_of_it = base[:2]
    (reference,) = refer_to(base)
    return [reference, *refer_to(base.view_of_it)], lambda: delattr(reference(), "view_of_it")


def view_of_a_parameter():
    """The parameter was modified in place, by its initialization and after the view was created."""
    layer = torch.nn.Linear(SIZE, 4)
    layer.weight.transposed = layer.weight.t()
    with torch.no_grad():
        layer.weight.mul_(2)
    (reference,) = refer_to(layer.weight)
    return [reference], lambda: delattr(reference(), "transposed")


def part_computed_from_the_tensor():
    """The operation saves a view of the tensor that its result changes (onn #4)."""
    tensor = torch.ones(4, SIZE)
    tensor[1] = tensor[0] * leaf()
    (reference,) = refer_to(tensor)
    return [reference], lambda: reference().detach_()


def gradient_refers_back():
    tensor = leaf()
    tensor.grad = torch.ones(SIZE)
    tensor.grad.owner = tensor
    (reference,) = refer_to(tensor.grad)
    return [*refer_to(tensor), reference], lambda: delattr(reference(), "owner")


def gradient_of_an_output():
    """The output does not retain its gradient; the program has assigned it."""
    output = leaf() * 2
    output.grad = torch.ones(SIZE)
    output.grad.owner = output
    (reference,) = refer_to(output.grad)
    return [*refer_to(output), reference], lambda: delattr(reference(), "owner")


def context_keeps_module():
    module = torch.nn.Linear(8, 8)
    module.output = KeepsModule.apply(module(torch.ones(2, 8)), module) * 2
    context = weakref.ref(module.output.grad_fn.next_functions[0][0])
    return refer_to(module.output, module.weight), lambda: delattr(context(), "module")


def reentrant_checkpoint():
    data = {}

    def run(tensor):
        return (data, tensor * 1)[1]

    data["output"] = checkpoint(run, leaf(), use_reentrant=True) * 2
    return refer_to(data["output"]), empty_cell(run)


def checkpoint_without_reentry():
    data = {}

    def run(tensor):
        return (data, tensor.exp())[1]

    data["output"] = checkpoint(run, leaf(), use_reentrant=False) * 2
    return refer_to(data["output"]), empty_cell(run)


def argument_of_checkpoint_keeps_output():
    argument = leaf()
    argument.output = checkpoint(torch.exp, argument, use_reentrant=False)
    (reference,) = refer_to(argument)
    return [reference], lambda: delattr(reference(), "output")


def saves_view_of_output():
    output = SavesView.apply(leaf())
    (reference,) = refer_to(output)
    return [reference], lambda: torch.autograd.backward(reference().sum())


def node_metadata():
    output = leaf() * 2
    output.grad_fn.metadata["output"] = output
    (reference,) = refer_to(output)
    return [reference], lambda: reference().grad_fn.metadata.clear()


NEVER_FREED = {
    gradient_with_graph: (".grad", "gradient-with-graph"),
    gradient_with_graph_of_a_layer: (".grad", "gradient-with-graph"),
    pack_hook_returns_output: ("saved:result", "saved-for-backward"),
    saved_on_cpu: ("[1]", "saved-for-backward"),
    tensor_hook_captures_later_output: ("closure:output", "closure-captures-owner"),
    node_hook_captures_later_output: ("closure:output", "closure-captures-owner"),
    node_hook_captures_own_output: ("closure:output", "closure-captures-owner"),
    node_prehook_captures_own_output: ("closure:output", "closure-captures-owner"),
    accumulate_grad_hook_captures_loss: ("closure:loss", "closure-captures-owner"),
    post_accumulate_grad_hook: ("closure:tensor", "closure-captures-owner"),
    hook_of_own_module: ("closure:self", "closure-captures-self"),
    multi_grad_hook: ("tensor hook", "registered-hook"),
    multi_grad_hook_of_leaf: ("tensor hook", "registered-hook"),
    multi_grad_hook_of_any_tensor: ("closure:first", "closure-captures-owner"),
    tensor_hook_captures_own_output: ("closure:output", "closure-captures-owner"),
    view_on_its_base: (".view_of_it", "view-on-its-base"),
    view_of_a_parameter: (".transposed", "view-on-its-base"),
    part_computed_from_the_tensor: ("saved:self", "saved-for-backward"),
    gradient_refers_back: (".owner", "gradient-refers-back"),
    gradient_of_an_output: (".owner", "gradient-refers-back"),
    context_keeps_module: (".module", "context-keeps-output"),
    reentrant_checkpoint: ("closure:data", "closure"),
    checkpoint_without_reentry: ("closure:data", "closure"),
    argument_of_checkpoint_keeps_output: (".output", "mutual-references"),
    saves_view_of_output: ("saved:tensors[0]", "saved-for-backward"),
    node_metadata: ("['output']", "node-metadata"),
}


# ---- Freed by collections --------------------------------------------------------------------


def context_keeps_output():
    return refer_to(KeepsOutput.apply(leaf()))


# Each collection frees the last context and its output, which lets the next one see the reference
# of the output before them to its node.
def contexts_of_a_chain_keep_their_outputs():
    outputs = [leaf()]
    for _ in range(4):
        outputs.append(KeepsOutput.apply(outputs[-1].sin()))
    return refer_to(*outputs[1:])


def context_keeps_output_after_backward():
    output = KeepsOutput.apply(leaf())
    output.sum().backward()
    return refer_to(output)


def leaf_hook_captures_leaf():
    tensor = leaf()
    tensor.register_hook(lambda _: tensor)
    return refer_to(tensor)


def tensor_refers_to_itself():
    tensor = torch.ones(SIZE)
    tensor.itself = tensor
    return refer_to(tensor)


def module_keeps_its_output():
    module = torch.nn.Linear(8, 8)
    module.itself = [module]
    module.output = module(torch.ones(2, 8))
    return refer_to(module.output, module.weight)


def context_keeps_module_with_output():
    module = torch.nn.Linear(8, 8)
    module.output = KeepsModule.apply(module(torch.ones(2, 8)), module)
    return refer_to(module.output)


def direct_reentrant_checkpoint():
    data = {}
    data["output"] = checkpoint(lambda t: (data, t * 1)[1], leaf(), use_reentrant=True)
    return refer_to(data["output"])


def marks_view_dirty():
    base = leaf() + 1
    view = base[:4]
    MarksDirty.apply(view)
    return refer_to(base, view)


COLLECTED = [
    context_keeps_output,
    contexts_of_a_chain_keep_their_outputs,
    context_keeps_output_after_backward,
    leaf_hook_captures_leaf,
    tensor_refers_to_itself,
    module_keeps_its_output,
    context_keeps_module_with_output,
    direct_reentrant_checkpoint,
    marks_view_dirty,
]
