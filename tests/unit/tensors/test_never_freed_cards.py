# SPDX-License-Identifier: Apache-2.0
"""What cards of never freed cycles name: the program's references, hooks and their lines."""

import gc
import inspect
import re
import weakref

import pytest
import torch
import uncollectable

import cyclewatch

RELEASE = tuple(map(int, torch.__version__.split(".")[:2]))
pytestmark = [
    pytest.mark.skipif(
        RELEASE < (2, 13), reason="before torch 2.13, the counts of nodes cannot be read"
    ),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture
def only_finding():
    known = {finding.signature for finding in cyclewatch.never_freed(settle=0).findings}

    def find():
        gc.collect()
        findings = cyclewatch.never_freed(settle=0, devices="cpu").findings
        (finding,) = [each for each in findings if each.signature not in known]
        return finding

    return find


def test_output_stored_by_the_program_is_cut_instead_of_the_hooks_of_torch(only_finding):
    module = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
    module.register_full_backward_hook(lambda *_: None)
    module.output = module(torch.ones(4, 64, requires_grad=True)) * 1
    reference = weakref.ref(module)
    weight = weakref.ref(module[0].weight)
    del module
    finding = only_finding()
    assert [cut.label for cut in finding.cuts] == [".output"]
    assert finding.status == "new"
    assert "library code" not in finding.advice
    del reference().output
    gc.collect()
    assert weight() is None


def test_attribute_of_a_tensor_is_not_code_of_torch(only_finding):
    parameter = torch.nn.Parameter(torch.ones(64))
    parameter.node = (parameter * 2).grad_fn.next_functions[0][0]
    reference = weakref.ref(parameter)
    del parameter
    finding = only_finding()
    assert (finding.cut.label, finding.status) == (".node", "new")
    assert "library code" not in finding.advice
    del reference().node
    gc.collect()
    assert reference() is None


class Recorder:
    def __init__(self, model):
        self.model = model

    def __call__(self, *_):
        pass


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(64))


def test_hook_that_is_an_object_is_named_once_with_the_line_of_its_call_method(only_finding):
    model = Model()
    model.weight.register_post_accumulate_grad_hook(Recorder(model))
    reference = weakref.ref(model.weight)
    del model
    finding = only_finding()
    line = inspect.getsourcelines(Recorder.__call__)[1]
    cut = finding.cut
    assert (cut.label, cut.holder_path) == ("post-accumulate-grad hook", "Model.weight")
    assert cut.location == f"{__file__}:{line}"
    assert cut.label not in [each.label for each in finding.alternatives]
    reference()._post_accumulate_grad_hooks.clear()
    gc.collect()
    assert reference() is None


def test_hook_of_a_node_is_named_after_the_parameter(only_finding):
    def make():
        model = Model()
        model.output = model.weight * 2

        def hook(*_):
            return model

        model.output.grad_fn.next_functions[0][0].register_prehook(hook)
        return weakref.ref(hook), weakref.ref(model.weight)

    hook, weight = make()
    finding = only_finding()
    assert finding.cut.label == "closure:model"
    assert "registering the autograd pre-hook of `Model.weight` returns" in finding.advice
    (cell,) = hook().__closure__
    del cell.cell_contents
    gc.collect()
    assert weight() is None


class Activations:
    """Registers one of its methods at a module, and another at each output of that module."""

    def __init__(self, model):
        self.model = model
        self.handles = [model.register_forward_hook(self.save)]

    def save(self, _module, _inputs, output):
        self.output = output
        self.handles.append(output.register_hook(self.save_gradient))

    def save_gradient(self, gradient):
        self.gradient = gradient


def test_handles_of_all_hooks_are_named_if_all_must_be_removed(only_finding):
    model = torch.nn.Sequential(torch.nn.Linear(64, 64))
    activations = Activations(model[0])
    model(torch.ones(4, 64)).sum().backward()
    reference, handles = weakref.ref(activations), activations.handles
    del model, activations
    finding = only_finding()
    assert [cut.label for cut in finding.cuts] == ["__self__", "__self__"]
    (hooks,) = re.findall(r"the 2 handles that registering (.*) returns", finding.advice)
    assert sorted(hooks.split(" and ")) == [
        "the forward hook of `Activations.model`",
        "the tensor hook of `Activations.output`",
    ]
    for number, handle in enumerate(handles, 1):
        handle.remove()
        gc.collect()
        assert (reference() is None) == (number == len(handles))


class Stepper:
    def __init__(self, model):
        self.model = model
        self.handles = [
            each.register_post_accumulate_grad_hook(self.step) for each in model.parameters()
        ]

    def step(self, parameter):
        parameter.grad = None


def test_handles_are_counted_if_a_loop_registers_hooks(only_finding):
    stepper = Stepper(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)))
    reference, handles = weakref.ref(stepper), stepper.handles
    del stepper
    finding = only_finding()
    assert "keep the 4 handles that registering the post-accumulate-grad hook" in finding.advice
    assert "there are 4 references of this kind" in finding.cut.reason
    for number, handle in enumerate(handles, 1):
        handle.remove()
        gc.collect()
        assert (reference() is None) == (number == len(handles))


REGISTRATIONS = {
    "tensor and node": lambda t, hook: [t.register_hook(hook), t.grad_fn.register_hook(hook)],
    "tensor and pre-hook": lambda t, hook: [
        t.register_hook(hook),
        t.grad_fn.register_prehook(hook),
    ],
    "node twice": lambda t, hook: [t.grad_fn.register_hook(hook) for _ in range(2)],
    "tensor twice": lambda t, hook: [t.register_hook(hook) for _ in range(2)],
    "both lists of a node": lambda t, hook: [
        t.grad_fn.register_prehook(hook),
        t.grad_fn.register_hook(hook),
    ],
}


def register_twice(kind):
    inner = torch.ones(64, requires_grad=True) * 2
    output = inner * 3
    handles = REGISTRATIONS[kind](inner, lambda *_: (output, None)[1])
    return weakref.ref(output), handles


@pytest.mark.parametrize("kind", REGISTRATIONS)
def test_each_registration_of_a_hook_has_a_handle(only_finding, kind):
    reference, handles = register_twice(kind)
    finding = only_finding()
    assert "keep the 2 handles that registering the " in finding.advice
    for number, handle in enumerate(handles, 1):
        handle.remove()
        gc.collect()
        assert (reference() is None) == (number == len(handles))


def test_parts_of_a_tensor_are_to_be_stacked(only_finding):
    _, cut = uncollectable.part_computed_from_the_tensor()
    finding = only_finding()
    cut()
    assert "Collect the parts in a list and call `torch.stack()`" in finding.advice

    def stacked():
        parts = [torch.ones(64)]
        parts.append(parts[0] * torch.ones(64, requires_grad=True))
        return weakref.ref(torch.stack(parts))

    assert stacked()() is None
