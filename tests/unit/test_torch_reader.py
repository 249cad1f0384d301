# SPDX-License-Identifier: Apache-2.0
"""What tensors own, as the watch sees it: every kind of tensor, and no Python run to find out."""

import gc
import sys
import warnings

import pytest

import cyclewatch

torch = pytest.importorskip("torch")


class Holder:
    """A loop of one: what it is given dies with the next collection."""

    def __init__(self, content):
        self.content = content
        self.loop = self


def collect(make, devices=("cpu",)):
    """The report on garbage that holds what `make` returns."""
    gc.collect()
    gc.disable()
    try:
        with cyclewatch.watch(devices=devices, budget=1.0) as watch:
            Holder(make())
            gc.collect()
            return watch.report()
    finally:
        gc.enable()


def owners(report):
    return [owner for finding in report.findings for owner in finding.owners]


def test_tensor_is_read_with_device_shape_dtype_and_bytes():
    report = collect(lambda: torch.zeros(2, 3, dtype=torch.bfloat16))
    (owner,) = owners(report)
    assert (owner.type, owner.device, owner.nbytes) == ("torch.Tensor", "cpu", 12)
    assert (owner.shape, owner.dtype) == ((2, 3), "bfloat16")


def test_parameter_is_read_under_its_own_type():
    (owner,) = owners(collect(lambda: torch.nn.Parameter(torch.zeros(5))))
    assert owner.type.endswith("Parameter")
    assert owner.nbytes == 20


def test_view_counts_the_whole_storage():
    assert collect(lambda: torch.zeros(100)[10:12]).held_bytes == 400


def test_views_of_one_storage_count_it_once():
    def views():
        base = torch.zeros(100)
        return [base[:10], base[10:]]

    assert collect(views).held_bytes == 400


def test_memory_that_a_live_view_keeps_is_not_counted():
    alive = torch.zeros(100)
    assert collect(lambda: alive[1:]).held_bytes == 0
    assert alive.sum() == 0


def test_storage_object_is_an_owner_itself():
    assert collect(lambda: torch.zeros(4).untyped_storage()).held_bytes == 16


def test_parameters_that_an_autograd_graph_holds_too_are_counted():
    def module_that_keeps_its_output():
        module = torch.nn.Linear(10, 4, bias=False)
        module.output = module(torch.ones(1, 10))
        return module

    assert collect(module_that_keeps_its_output).held_bytes == 10 * 4 * 4 + 4 * 4


def test_base_that_its_view_holds_too_is_an_owner():
    def base_and_view():
        base = torch.zeros(100)
        return [base, base[1:]]

    report = collect(base_and_view)
    assert report.held_bytes == 400
    assert sorted(owner.shape for owner in owners(report)) == [(99,), (100,)]


def test_tensor_that_a_live_autograd_graph_holds_is_not_reported():
    alive = []

    def leaf():
        parameter = torch.nn.Parameter(torch.zeros(100))
        alive.append((parameter * 2).sum())
        return parameter

    assert collect(leaf).held_bytes == 0


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: torch.empty(4, device="meta"), id="meta"),
        pytest.param(lambda: torch.empty(0), id="empty"),
        pytest.param(lambda: torch._efficientzerotensor(3), id="zero tensor"),
        pytest.param(lambda: torch.nn.parameter.UninitializedParameter(), id="uninitialized"),
        pytest.param(lambda: torch._to_functional_tensor(torch.zeros(3)), id="functional"),
    ],
)
def test_tensor_without_memory_of_its_own_is_no_owner(make):
    report = collect(make, devices="all")
    assert report.findings == []
    assert report.held_bytes == 0


def test_fake_tensor_is_no_owner_whatever_device_it_names():
    from torch._subclasses.fake_tensor import FakeTensorMode

    def fake():
        with FakeTensorMode():
            return torch.empty(1000, device="cuda")

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert collect(fake, devices=("cuda",)).held_bytes == 0
    # Asked for its data pointer, a fake storage warns, which runs Python.
    assert [str(warning.message) for warning in warned] == []


@pytest.mark.parametrize("policy", [None, "sizes", "strides"])
def test_wrapper_owns_nothing_its_inner_tensor_does_and_its_dispatch_never_runs(policy):
    ran = []

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            self = torch.Tensor._make_wrapper_subclass(
                cls,
                inner.shape,
                dtype=inner.dtype,
                dispatch_sizes_strides_policy=policy,
                dispatch_device=True,
                dispatch_layout=True,
            )
            self.inner = inner
            return self

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            ran.append(func)
            return NotImplemented

    report = collect(lambda: Wrapper(torch.zeros(5)), devices="all")
    assert [(owner.type, owner.nbytes) for owner in owners(report)] == [("torch.Tensor", 20)]
    assert ran == []


def test_nothing_that_a_subclass_defines_runs():
    ran = []

    class Nosy(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            ran.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

        def __getattribute__(self, name):
            ran.append(name)
            return super().__getattribute__(name)

        def untyped_storage(self):
            ran.append("untyped_storage")

    def nosy():
        tensor = torch.zeros(3).as_subclass(Nosy)
        ran.clear()
        return tensor

    (owner,) = owners(collect(nosy))
    assert ran == []
    assert (owner.nbytes, owner.shape) == (12, (3,))


def test_reading_a_tensor_changes_no_count_of_the_collector():
    def counted():
        Holder(torch.zeros(3))
        return gc.collect()

    gc.collect()
    without = counted()
    with cyclewatch.watch(devices=("cpu",)):
        assert counted() == without


def test_reading_leaves_no_object_behind():
    collect(lambda: torch.zeros(3))
    before = len(gc.get_objects())
    for _ in range(20):
        collect(lambda: torch.zeros(3))
    assert len(gc.get_objects()) - before < 20


def test_error_pending_in_the_program_survives_a_collection():
    with cyclewatch.watch(devices=("cpu",)):
        try:
            raise KeyError("mine")
        except KeyError:
            Holder(torch.eye(3).to_sparse())  # has no storage: torch raises when it is asked
            gc.collect()
            assert sys.exc_info()[0] is KeyError
