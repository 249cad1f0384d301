# SPDX-License-Identifier: Apache-2.0
"""Programs with a cycle through torch's C++ objects, and the same programs with the advice applied.

Each function creates the cycle, or applies the advice if `advised` is true. It returns weak
references to its tensors, a function that uses the result (it runs a backward pass), and a function
that breaks the cycle.
"""

import gc
import weakref

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint
from uncollectable import SIZE, leaf, refer_to


def check_gradient(tensor, output):
    """The derivative of exp() at 1."""
    output.sum().backward()
    assert torch.allclose(tensor.grad, torch.ones(1).exp())


def clear_captured(function, name):
    """Returns a function that clears the container in the variable `name` of `function`."""
    reference = weakref.ref(function)

    def clear():
        variables = reference().__code__.co_freevars
        reference().__closure__[variables.index(name)].cell_contents.clear()

    return clear


def pack_hook_with_dict(advised):
    store = {}

    def pack(tensor):
        store[len(store)] = tensor.detach() if advised else tensor
        return len(store) - 1

    def unpack(number):
        return store[number]

    tensor = leaf()
    with saved_tensors_hooks(pack, unpack):
        output = tensor.exp()
    cut = clear_captured(pack, "store")
    return refer_to(output), lambda: check_gradient(tensor, output), cut


def pack_hook_with_names(advised):
    """The keys differ, so that two items must be removed."""
    store = {}
    names = ["second", "first"]

    def pack(tensor):
        name = names.pop()
        store[name] = tensor.detach() if advised else tensor
        return name

    tensor = leaf()
    with saved_tensors_hooks(pack, lambda name: store[name]):
        first = tensor.exp()
        output = first.exp()
    cut = clear_captured(pack, "store")
    return refer_to(first, output), lambda: check_gradient(tensor, output.log()), cut


class Offload:
    def __init__(self, advised):
        self.tensors = []
        self.advised = advised

    def pack(self, tensor):
        self.tensors.append(tensor.detach() if self.advised else tensor)
        return len(self.tensors) - 1

    def unpack(self, number):
        return self.tensors[number]


class CallableOffload(Offload):
    __call__ = Offload.pack


def pack_hook_of_object(advised):
    offload = Offload(advised)
    return with_hooks_of(offload, offload.pack)


def pack_hook_that_is_an_object(advised):
    offload = CallableOffload(advised)
    return with_hooks_of(offload, offload)


def with_hooks_of(offload, pack):
    tensor = leaf()
    with saved_tensors_hooks(pack, offload.unpack):
        output = tensor.exp()
    reference = weakref.ref(offload)
    return (
        refer_to(output),
        lambda: check_gradient(tensor, output),
        lambda: reference().tensors.clear(),
    )


def optimizers_in_hook(advised):
    layer = torch.nn.Linear(SIZE, 1, bias=False)
    optimizers = {p: torch.optim.SGD([p], lr=1.0) for p in layer.parameters()}
    layer.optimizers = optimizers if advised else None
    model = weakref.ref(layer)

    def step_at_once(parameter):
        optimizers[parameter].step()

    def step(parameter):
        model().optimizers[parameter].step()

    layer.weight.register_post_accumulate_grad_hook(step if advised else step_at_once)
    references = refer_to(layer.weight)

    def use():
        before = layer.weight.detach().clone()
        layer(torch.ones(SIZE)).sum().backward()
        assert torch.allclose(layer.weight, before - 1)

    return references, use, clear_captured(step_at_once, "optimizers")


class Block(torch.nn.Module):
    def __init__(self, reentrant, advised):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(SIZE))
        self.reentrant = reentrant
        self.advised = advised

    def run(self, tensor):
        return (self.weight * tensor).exp()

    def forward(self, tensor):
        function = self.run
        if self.advised:
            ref = weakref.WeakMethod(function)
            function = lambda *args, **kwargs: (m := ref()) and m(*args, **kwargs)  # noqa: E731
        self.output = checkpoint(function, tensor, use_reentrant=self.reentrant) * 1
        return self.output


def method_in_checkpoint(advised, reentrant=False):
    block = Block(reentrant, advised)
    block(leaf())
    reference = weakref.ref(block)
    return (
        refer_to(block.weight),
        lambda: check_gradient(block.weight, block.output),
        lambda: delattr(reference(), "output"),
    )


def method_in_reentrant_checkpoint(advised):
    return method_in_checkpoint(advised, reentrant=True)


def clear_weakly(container):
    """Returns a function that clears a dict or list, to which it does not refer."""
    # Neither type supports weak references.
    address = id(container)

    def clear():
        (found,) = [each for each in gc.get_objects() if id(each) == address]
        found.clear()

    return clear


def checkpoint_with_dict(advised):
    """The function stores two outputs in the argument `cache`."""

    def block(tensor, cache):
        hidden = tensor.exp()
        output = hidden.exp()
        cache["first"] = hidden.detach() if advised else hidden
        cache["second"] = output.detach() if advised else output
        return output

    tensor = leaf()
    cache = {}
    output = checkpoint(block, tensor, cache, use_reentrant=False)
    references = refer_to(tensor, *cache.values())
    return references, lambda: check_gradient(tensor, output.log()), clear_weakly(cache)


def checkpoint_with_losses(advised):
    """The function appends a part of the loss to a list, as layers with experts do."""

    def block(tensor, *, losses):
        output = tensor.exp()
        loss = output.mean()
        losses.append((loss.detach() if advised else loss, "balance"))
        return output

    tensor = leaf()
    losses = []
    output = checkpoint(block, tensor, losses=losses, use_reentrant=False)
    references = refer_to(tensor, losses[0][0])
    return references, lambda: check_gradient(tensor, output), clear_weakly(losses)


def checkpoint_with_later_output(advised, reentrant=False):
    """The program stores a later output in the argument, which is nested."""

    def block(tensor, cache):
        return tensor.exp()

    tensor = leaf()
    cache = {"layers": [{}]}
    output = checkpoint(block, tensor, cache, use_reentrant=reentrant) * 1
    cache["layers"][0]["output"] = output.detach() if advised else output
    references = refer_to(tensor, output)
    cut = clear_weakly(cache["layers"][0])
    return references, lambda: check_gradient(tensor, output), cut


def reentrant_checkpoint_with_later_output(advised):
    return checkpoint_with_later_output(advised, reentrant=True)


def default_of_hook(advised):
    tensor = leaf()
    output = tensor.exp()

    def hook(gradient, later=output):
        return gradient

    def weak_hook(gradient, later=weakref.ref(output)):
        return gradient if later() is None else gradient

    output.grad_fn.register_prehook((lambda gradients, hook=weak_hook: None) if advised else hook)
    reference = weakref.ref(hook)
    return (
        refer_to(output),
        lambda: check_gradient(tensor, output),
        lambda: setattr(reference(), "__defaults__", None),
    )


# The labels of the references to cut, the pattern, and a part of the advice.
PROGRAMS = {
    pack_hook_with_dict: (["[<int>]"], "saved-for-backward", "store `tensor.detach()`"),
    pack_hook_with_names: (
        ["['first']", "['second']"],
        "saved-for-backward",
        "store `tensor.detach()`",
    ),
    pack_hook_of_object: (["[0]"], "saved-for-backward", "store `tensor.detach()`"),
    pack_hook_that_is_an_object: (["[0]"], "saved-for-backward", "store `tensor.detach()`"),
    optimizers_in_hook: (
        ["closure:optimizers"],
        "closure",
        "store `optimizers` on an object that the program keeps anyway",
    ),
    method_in_checkpoint: (
        ["__self__"],
        "bound-method-on-self",
        "Pass a function that refers to the instance weakly",
    ),
    method_in_reentrant_checkpoint: (
        ["__self__"],
        "bound-method-on-self",
        "weakref.WeakMethod",
    ),
    checkpoint_with_dict: (
        ["['first']", "['second']"],
        "saved-for-backward",
        "Store `tensor.detach()` in the dict",
    ),
    checkpoint_with_losses: (["[0]"], "saved-for-backward", "Store `tensor.detach()` in the list"),
    checkpoint_with_later_output: (
        ["['output']"],
        "saved-for-backward",
        "Store `tensor.detach()` in the dict",
    ),
    reentrant_checkpoint_with_later_output: (
        ["['output']"],
        "saved-for-backward",
        "Store `tensor.detach()` in the dict",
    ),
    default_of_hook: (["default:later"], "default-argument", "weakref.ref to the value"),
}
