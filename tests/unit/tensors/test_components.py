# SPDX-License-Identifier: Apache-2.0
"""The values and indices of sparse and nested tensors."""

import gc

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import cyclewatch

pytestmark = pytest.mark.filterwarnings("ignore:.*(Sparse|nested)")

FLOAT, INT = 4, 8


def coo():
    return torch.sparse_coo_tensor([[0, 2, 4]], torch.ones(3, 7), (6, 7))


def nested(layout):
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)


def compressed(layout, *values):
    return torch.sparse_compressed_tensor([0, 1, 2], [1, 0], torch.ones(2, *values), layout=layout)


# A function that creates the tensor, and the number of bytes of the tensor.
TENSORS = {
    "coo": (coo, 3 * 7 * FLOAT + 3 * INT),
    "csr": (lambda: compressed(torch.sparse_csr), 2 * FLOAT + 5 * INT),
    "csc": (lambda: compressed(torch.sparse_csc), 2 * FLOAT + 5 * INT),
    "bsr": (lambda: compressed(torch.sparse_bsr, 3, 3), 18 * FLOAT + 5 * INT),
    "bsc": (lambda: compressed(torch.sparse_bsc, 3, 3), 18 * FLOAT + 5 * INT),
    "strided": (lambda: nested(torch.strided), 5 * FLOAT),
}


def live_bytes():
    return sum(owner.nbytes for owner in cyclewatch.live_owners(10_000, min_bytes=0))


@pytest.fixture(params=TENSORS)
def layout(request):
    TENSORS[request.param][0]()  # torch may create permanent tensors
    return request.param


def test_live_storages_are_counted_once(layout):
    make, nbytes = TENSORS[layout]
    before = live_bytes()
    tensor = make()
    assert live_bytes() == before + nbytes
    values = tensor._values() if layout == "coo" else tensor.values()  # shares a storage
    assert live_bytes() == before + nbytes
    assert values.numel() * FLOAT <= nbytes


def test_live_jagged_tensor_is_counted_once():
    before = live_bytes()
    tensor = nested(torch.jagged)
    assert live_bytes() == before + 5 * FLOAT + tensor.offsets().numel() * INT


def test_cycles_retain_values_and_indices(layout, in_cycle):
    make, nbytes = TENSORS[layout]
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        in_cycle(tensor=make())
        gc.collect()
    assert watch.report().retained_bytes == nbytes


@pytest.mark.parametrize(("layout", "known"), [("coo", True), ("csr", False), ("strided", False)])
def test_scan_counts_components_only_if_all_references_are_known(layout, known, in_cycle):
    make, nbytes = TENSORS[layout]
    with cyclewatch.watch(devices="cpu", budget=1):
        in_cycle(tensor=make())
        assert cyclewatch.scan().retained_bytes == (nbytes if known else 0)


class Recorder(TorchDispatchMode):
    """Records the operators that are called."""

    def __init__(self):
        super().__init__()
        self.operators = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.operators.append(function)
        return function(*args, **(kwargs or {}))


def test_no_operator_is_visible(layout, in_cycle):
    make, nbytes = TENSORS[layout]
    tensor = make()
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        in_cycle(tensor=tensor)
        del tensor
        with torch.autograd.profiler.profile() as profile, Recorder() as recorder:
            cyclewatch.live_owners(min_bytes=0)
            gc.collect()
    assert watch.report().retained_bytes == nbytes
    assert (recorder.operators, list(profile.key_averages())) == ([], [])


def test_advice_for_the_indices_of_a_sparse_tensor_can_be_followed():
    """The result of a method cannot be set to None."""
    values = torch.ones(2003)
    kept = torch.sparse_coo_tensor(torch.arange(2003).view(1, -1), values, (2003,))
    table = torch.nn.Embedding(50, 3, sparse=True)
    table(torch.tensor([1, 2])).sum().backward()
    remedies = {
        str(owner.held_by[0]).split(" -> ")[1]: owner.held_by[0].remedy
        for owner in cyclewatch.live_owners(10_000, min_bytes=0)
        if ".indices()" in owner.type
    }
    assert remedies["kept.indices()"].startswith("delete the variable `kept` of ")
    assert "set `table.weight.grad` to None" in remedies["table.weight.grad.indices()"]
    assert kept.is_sparse


def test_indices_that_only_a_compressed_tensor_holds_belong_to_it():
    size = 2011
    kept = [
        torch.sparse_csr_tensor(
            torch.arange(size + 1), torch.arange(size), torch.ones(size), (size, size)
        )
    ]
    groups = [
        each
        for each in cyclewatch.live_owners(devices="cpu", min_bytes=4 * size)
        if each.nbytes in (8 * (size + 1), 8 * size, 4 * size)
    ]
    assert {each.category for each in groups} == {"other"}
    texts = sorted(str(each.held_by[0]).rpartition(" -> ")[2] for each in groups)
    assert texts == ["kept[0]", "kept[0].col_indices()", "kept[0].crow_indices()"]
    assert kept


def test_sparse_gradient_is_part_of_its_parameter():
    table = torch.nn.Embedding(50, 3, sparse=True)
    table(torch.tensor([1, 2])).sum().backward()
    found = {
        owner.type: (owner.nbytes, owner.category, str(owner.held_by[0]).split(" -> ")[1])
        for owner in cyclewatch.live_owners(10_000, min_bytes=0)
        if "Parameter" in owner.type and "table" in str(owner.held_by[0])
    }
    name = "torch.nn.parameter.Parameter"
    assert found == {
        name: (50 * 3 * FLOAT, "parameter", "table.weight"),
        f"{name} (.grad)": (2 * 3 * FLOAT, "gradient", "table.weight.grad"),
        f"{name} (.grad.indices())": (2 * INT, "gradient", "table.weight.grad.indices()"),
    }


def test_sparse_tensor_without_values_keeps_its_indices(in_cycle):
    with cyclewatch.watch(devices="cpu", budget=1):
        in_cycle(tensor=torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 0), (6, 0)))
        assert cyclewatch.scan().retained_bytes == 2 * INT


def test_scan_does_not_report_values_that_others_use(in_cycle):
    with cyclewatch.watch(devices="cpu", budget=1):
        tensor = coo()
        shared, values = tensor.detach(), coo()._values()
        in_cycle(tensor=tensor)
        in_cycle(tensor=torch.sparse_coo_tensor([[0, 1, 2]], values, (6, 7)))
        del tensor
        assert cyclewatch.scan().retained_bytes == 3 * INT  # the indices of the second one
    assert shared._values().sum() == values.sum()
