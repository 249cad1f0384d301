# SPDX-License-Identifier: Apache-2.0
"""The memory of tensors is read without running the program's Python code."""

import gc
import subprocess
import sys

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import cyclewatch

FLOAT = 4


def report_of(make):
    """Collect the garbage that `make` creates, and return the report."""
    gc.collect()
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        kept = make()
        gc.collect()
        report = watch.report()
    assert report.stats.skipped == {}
    del kept
    gc.collect()
    return report


CALLS = []


class Overriding(torch.Tensor):
    """A subclass that records calls to its Python code."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        CALLS.append(function)
        return super().__torch_function__(function, types, args, kwargs or {})

    def __getattr__(self, name):
        CALLS.append(name)
        raise AttributeError(name)


class Wrapping(torch.Tensor):
    """A wrapper subclass: the wrapped tensor owns the memory."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        CALLS.append(function)
        return NotImplemented


@pytest.mark.parametrize(
    ("make_tensor", "type_name"),
    [
        (lambda: torch.zeros(8), "torch.Tensor"),
        (lambda: torch.nn.Parameter(torch.zeros(8)), "Parameter"),
        (lambda: torch.zeros(8).as_subclass(Overriding), "Overriding"),
        (lambda: torch.zeros(8).untyped_storage(), "UntypedStorage"),
    ],
    ids=["tensor", "parameter", "subclass", "storage"],
)
def test_bytes_are_read_without_calling_python(in_cycle, make_tensor, type_name):
    CALLS.clear()
    report = report_of(lambda: in_cycle(tensor=make_tensor()) and None)
    called = list(CALLS)
    ((owner,),) = [finding.owners for finding in report.findings]
    assert report.retained_bytes == 8 * FLOAT
    assert owner.type.endswith(type_name)
    assert (owner.device, owner.nbytes) == ("cpu", 8 * FLOAT)
    assert called == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16, torch.bool])
def test_later_tensors_of_a_kind_are_read_like_the_first(in_cycle, dtype):
    base = torch.zeros(64, dtype=dtype)
    for shape in [(4,), (), (2, 3), (1, 2, 3, 4, 5, 6, 7), (5, 0)]:
        report = report_of(lambda shape=shape: in_cycle(x=torch.zeros(shape, dtype=dtype)) and None)
        size = torch.Size(shape).numel() * dtype.itemsize
        read = [(o.shape, o.dtype, o.nbytes) for f in report.findings for o in f.owners]
        assert read == ([(shape, str(dtype).removeprefix("torch."), size)] if size else [])
    # The storage of a slice is alive.
    assert report_of(lambda: in_cycle(x=base[8:16]) and None).retained_bytes == 0


def test_shape_and_dtype(in_cycle):
    report = report_of(lambda: in_cycle(tensor=torch.zeros(2, 3, dtype=torch.float64)) and None)
    (owner,) = report.findings[0].owners
    assert (owner.shape, owner.dtype) == ((2, 3), "float64")


def test_wrapped_tensor_is_the_owner(in_cycle):
    CALLS.clear()
    report = report_of(lambda: in_cycle(tensor=Wrapping(torch.zeros(8))) and None)
    assert CALLS == []
    assert report.retained_bytes == 8 * FLOAT
    assert [owner.type for owner in report.findings[0].owners] == ["torch.Tensor"]


def test_views_of_one_storage_are_counted_once(in_cycle):
    def make():
        base = torch.zeros(100)
        in_cycle(base=base, head=base[:10], reshaped=base.view(10, 10), detached=base.detach())

    report = report_of(make)
    assert report.stats.owners == 4
    assert report.retained_bytes == 100 * FLOAT


def test_storage_with_a_living_view_is_not_counted(in_cycle):
    def make():
        base = torch.zeros(100)
        in_cycle(tensor=base.detach())
        return base

    report = report_of(make)
    assert report.stats.owners == 1
    assert report.retained_bytes == 0


@pytest.mark.parametrize("device", ["meta", "cuda"])
def test_tensor_without_memory_is_not_an_owner(in_cycle, device):
    def make():
        if device == "meta":
            in_cycle(tensor=torch.zeros(100, device="meta"))
        else:
            with FakeTensorMode():
                in_cycle(tensor=torch.zeros(100, device="cuda"))

    gc.collect()
    with cyclewatch.watch(devices="all", budget=1) as watch:
        make()
        gc.collect()
        assert watch.stats.unreachable > 0
        assert watch.stats.owners == 0


def test_parameters_have_dotted_names():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(4, 4)
            self.inner.owner_model = [self]

    report = report_of(lambda: Model() and None)
    (finding,) = report.findings
    paths = {owner.path for owner in finding.owners}
    assert finding.retained_bytes == (4 * 4 + 4) * FLOAT
    assert any(path.endswith(".weight") for path in paths), paths
    assert any(path.endswith(".bias") for path in paths), paths
    text = " ".join([finding.title, *paths, *(step.label for step in finding.cycle)])
    assert "_parameters" not in text
    assert "_modules" not in text
    assert any(step.label == ".inner" for step in finding.cycle)


class Saver(torch.nn.Module):
    def __init__(self, register, layer):
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)
        getattr(self.layer if layer else self, register)(self.save)

    def save(self, *given):
        pass


HOOKS = {
    "register_forward_hook": "forward hook",
    "register_forward_pre_hook": "forward pre-hook",
    "register_full_backward_hook": "backward hook",
    "register_full_backward_pre_hook": "backward pre-hook",
    "register_state_dict_pre_hook": "state_dict pre-hook",
    "_register_state_dict_hook": "state_dict hook",
    "register_load_state_dict_pre_hook": "load_state_dict pre-hook",
    "register_load_state_dict_post_hook": "load_state_dict post-hook",
}


@pytest.mark.parametrize("layer", [False, True], ids=["own", "layer"])
@pytest.mark.parametrize("register", HOOKS)
def test_module_hooks_are_named_by_kind(register, layer):
    [finding] = report_of(lambda: Saver(register, layer) and None).findings
    [step] = [step for step in finding.cycle if step.label in HOOKS.values()]
    assert step.label == HOOKS[register]
    assert step.holder.endswith("Linear" if layer else "Saver")
    assert not [step for step in finding.cycle if "Dict" in step.holder]
    assert finding.cut.label == "__self__"
    assert "remove()" in finding.advice


class HookedTensor(torch.nn.Module):
    """Its parameter has a hook that captures the module."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(10))
        self.weight.register_hook(lambda gradient: self.weight)


class HookedNode(torch.nn.Module):
    """Has a gradient accumulator with a hook that captures the module."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(10))
        self.accumulator = self.weight.expand_as(self.weight).grad_fn.next_functions[0][0]
        self.accumulator.register_prehook(lambda *gradients: self.weight)


@pytest.mark.parametrize(
    ("make", "label", "attribute"),
    [(HookedTensor, "tensor hook", ".weight"), (HookedNode, "autograd hook", ".accumulator")],
)
def test_hooks_of_tensors_and_nodes_are_named_and_cut(make, label, attribute):
    [finding] = report_of(lambda: make() and None).findings
    assert {step.label for step in finding.cycle} == {attribute, label, "closure:self"}
    assert finding.cut.label == "closure:self"
    assert finding.cut.location.startswith(f"{__file__}:")
    assert "`handle.remove()`" in finding.advice


class CallableHook:
    """A hook that is an object and needs its model."""

    def __init__(self, model):
        self.model = model

    def __call__(self, *given):
        pass


def test_hook_that_is_an_object_is_removed():
    def leak():
        model = torch.nn.Linear(3, 4)
        model.register_forward_hook(CallableHook(model))

    [finding] = report_of(leak).findings
    assert (finding.pattern, finding.cut.label) == ("registered-hook", "forward hook")
    assert "`handle.remove()`" in finding.advice


class Probe:
    """Registers hooks on a model that it did not create."""

    def __init__(self, model):
        self.model = model
        model.register_forward_hook(self.forward)
        model.register_full_backward_hook(self.backward)

    def forward(self, *given):
        pass

    def backward(self, *given):
        pass


def test_hooks_are_cut_and_not_the_model():
    [finding] = report_of(lambda: Probe(torch.nn.Linear(3, 4)) and None).findings
    assert {cut.holder.rsplit(".", 1)[-1] for cut in finding.cuts} == {"forward", "backward"}
    assert {cut.label for cut in finding.cuts} == {"__self__"}


def test_gradient_is_counted_with_its_parameter():
    # Parameters refer to their gradients in C++.
    module = torch.nn.Linear(16, 8, bias=False)
    module(torch.ones(1, 16)).sum().backward()
    module.itself = module
    tracked = count_tracked_tensors()
    with cyclewatch.watch(budget=1, devices=("cpu",)) as watch:
        del module
        gc.collect()
    assert watch.report().retained_bytes == 2 * 16 * 8 * 4
    (finding,) = watch.report().findings
    assert {owner.type for owner in finding.owners} == {
        "torch.nn.parameter.Parameter",
        "torch.nn.parameter.Parameter (.grad)",
    }
    assert count_tracked_tensors() == tracked - 1


def test_retained_gradient_is_counted_with_its_activation():
    activation = torch.ones(10, requires_grad=True) * 2
    activation.retain_grad()
    activation.sum().backward()
    activation.itself = activation
    with cyclewatch.watch(budget=1, devices=("cpu",)) as watch:
        del activation
        gc.collect()
    assert watch.report().retained_bytes == 2 * 10 * FLOAT


@pytest.mark.filterwarnings("error")
def test_activation_without_gradient_causes_no_warning():
    activation = torch.ones(10, requires_grad=True) * 2
    activation.sum().backward()
    activation.itself = activation
    with cyclewatch.watch(budget=1, devices=("cpu",)) as watch:
        del activation
        gc.collect()
    assert watch.report().retained_bytes == 10 * FLOAT


def test_surviving_gradient_is_not_counted():
    parameter = torch.nn.Parameter(torch.ones(10))
    parameter.grad = torch.ones(10)
    alive = parameter.grad
    parameter.itself = parameter
    with cyclewatch.watch(budget=1, devices=("cpu",)) as watch:
        del parameter
        gc.collect()
    assert watch.report().retained_bytes == 10 * 4
    assert alive.sum() == 10


# Replaces one function of torch, so that its result differs from torch's C interface.
DISAGREEING = """
import gc, sys
import torch
import cyclewatch

owner, name, other = sys.argv[1:]
functions = gc.get_referents(getattr(torch._C, owner).__dict__)[0]
functions[name] = functions[other]
gc.disable()
with cyclewatch.watch(devices="cpu", budget=1) as watch:
    for dtype in (torch.float32, torch.float32, torch.float64):
        tensor = torch.zeros(6, dtype=dtype)
        tensor.itself = tensor
        del tensor
        gc.collect()
report = watch.report()
print(report.retained_bytes, *sorted(o.dtype for f in report.findings for o in f.owners))
"""


@pytest.mark.parametrize(
    ("owner", "name", "other", "retained_bytes"),
    [
        ("TensorBase", "_cdata", "output_nr", 2 * 24 + 48),  # the C++ object is not found
        ("StorageBase", "nbytes", "element_size", 3 * 1),
    ],
)
def test_disagreement_with_the_c_interface_leads_to_the_python_functions(
    owner, name, other, retained_bytes
):
    done = subprocess.run(
        [sys.executable, "-c", DISAGREEING, owner, name, other],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(retained_bytes), "float32", "float64"]


def count_tracked_tensors():
    return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())
