# SPDX-License-Identifier: Apache-2.0
"""A collection does not change the storages that survive it."""

import gc

import pytest
import torch

import cyclewatch

FLOAT = 4

has_use_count = pytest.mark.skipif(
    not hasattr(torch._C, "_storage_Use_Count"), reason="torch 2.6 does not have storage use counts"
)


@has_use_count
def test_no_reference_to_a_storage_is_left(in_cycle):
    # Autograd accumulates in place only if it has the only reference to the gradient's storage.
    living = torch.zeros(100)
    address = torch._C._storage_address(living)
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        in_cycle(view=living[10:])
        gc.collect()
        assert watch.stats.owners == 1
    assert torch._C._storage_Use_Count(address) == 1


def gc_count_after_freeing(in_cycle):
    living = [torch.zeros(4) for _ in range(50)]
    for tensor in living:
        in_cycle(view=tensor[1:])
    del tensor
    gc.collect()
    made_since = [[] for _ in range(100)]
    living.clear()
    return gc.get_count()[0], len(made_since)


def test_freed_storage_does_not_change_gc_count(in_cycle):
    gc.callbacks.append(lambda *_: None)  # any callback makes the collector create objects
    try:
        without = gc_count_after_freeing(in_cycle)
        with cyclewatch.watch(devices="cpu", budget=1) as watch:
            assert gc_count_after_freeing(in_cycle) == without
        assert watch.stats.owners == 50
    finally:
        gc.callbacks.pop()


@has_use_count
def test_finalizer_may_swap_a_tensor():
    # Module.half() does so after torch.__future__.set_swap_module_params_on_conversion(True).
    class Offloading:
        def __del__(self):
            torch.utils.swap_tensors(self.parameter, torch.nn.Parameter(torch.ones(3)))
            swapped.append(self.parameter.numel())

    swapped = []
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        node = Offloading()
        node.self = node
        node.parameter = torch.nn.Parameter(torch.ones(10))
        del node
        gc.collect()
        assert watch.stats.owners == 1
    assert swapped == [3]


def test_resurrected_tensor_is_not_reported():
    saved = []

    class Saving:
        def __del__(self):
            saved.append(self.tensor)

    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        node = Saving()
        node.self = node
        node.tensor, node.other = torch.ones(10), torch.ones(20)
        del node
        gc.collect()
        assert (watch.stats.owners, watch.report().retained_bytes) == (1, 20 * FLOAT)
    assert saved[0].sum() == 10


WITHOUT_STORAGE = {
    "vmap": "torch.vmap(leave_cycles)(torch.ones(3, 4))",
    "grad": "torch.func.grad(leave_cycles)(torch.ones(4))",
    "jvp": "torch.func.jvp(leave_cycles, (torch.ones(4),), (torch.ones(4),))",
    "nested": "leave_cycle(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))",
    "coo": "leave_cycle(torch.eye(3).to_sparse())",
    "csr": "leave_cycle(torch.eye(3).to_sparse_csr())",
    "mkldnn": "leave_cycle(torch.eye(3).to_mkldnn())",
}


@pytest.mark.parametrize("act", WITHOUT_STORAGE.values(), ids=WITHOUT_STORAGE)
def test_tensors_without_a_storage_cause_no_torch_error(main_interpreter, act):
    # With TORCH_SHOW_CPP_STACKTRACES torch prints every error.
    program = f"""
        import gc, warnings
        import torch
        import cyclewatch

        class Node:
            pass

        def leave_cycle(tensor):
            node = Node()
            node.itself, node.tensor = node, tensor

        def leave_cycles(tensor):
            leave_cycle(tensor * 2)
            gc.collect()
            return tensor.sum()

        gc.disable()
        warnings.simplefilter("ignore")
        with cyclewatch.watch(budget=1, devices="cpu") as watch:
            {act}
            gc.collect()
            print(watch.stats.unreachable > 0)
    """
    outcome = main_interpreter.run(program, TORCH_SHOW_CPP_STACKTRACES="1")
    assert (outcome.stdout, outcome.stderr) == ("True\n", "")


def test_storages_are_read_without_storage_address(main_interpreter):
    program = """
        import gc
        import torch
        import cyclewatch

        class Node:
            def __init__(self, tensor):
                self.itself, self.tensor = self, tensor

        del torch._C._storage_address
        living = torch.zeros(100)
        gc.disable()
        with cyclewatch.watch(budget=1, devices="cpu") as watch:
            Node(living[1:])
            Node(torch.zeros(20)[1:])
            gc.collect()
            print(watch.stats.owners, watch.report().retained_bytes)
    """
    assert main_interpreter.run(program).stdout == f"2 {20 * FLOAT}\n"


def test_no_module_is_imported_in_a_collection(main_interpreter):
    program = """
        import gc, sys
        import cyclewatch

        before, imported = [], []
        gc.callbacks.append(lambda *_: before.append(set(sys.modules)))
        with cyclewatch.watch(budget=1, devices="cpu") as watch:
            gc.callbacks.append(lambda *_: imported.extend(set(sys.modules) - before[-1]))
            import torch
            looked = len(before)
            node = torch.nn.Identity()
            node.itself, node.tensor = node, torch.zeros(10)
            del node
            gc.collect()
            print(looked > 10, imported, watch.stats.owners)
    """
    assert main_interpreter.run(program).stdout == "True [] 1\n"
