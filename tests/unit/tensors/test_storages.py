# SPDX-License-Identifier: Apache-2.0
"""A storage that lives on after a collection is as it would be if nobody had asked for it."""

import gc

import pytest
import torch

import cyclewatch

FLOAT = 4

tells_who_holds_storages = pytest.mark.skipif(
    not hasattr(torch._C, "_storage_Use_Count"), reason="this torch, as 2.6, does not tell"
)


@tells_who_holds_storages
def test_nobody_holds_a_storage_that_a_collection_asked_for(in_cycle):
    # Autograd adds to a gradient in place only where it is the one that holds its storage.
    living = torch.zeros(100)
    address = torch._C._storage_address(living)
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        in_cycle(view=living[10:])
        gc.collect()
        assert watch.stats.owners == 1
    assert torch._C._storage_Use_Count(address) == 1


def count_after_the_end_of_tensors_whose_views_died(in_cycle):
    living = [torch.zeros(4) for _ in range(50)]
    for tensor in living:
        in_cycle(view=tensor[1:])
    del tensor
    gc.collect()
    made_since = [[] for _ in range(100)]
    living.clear()
    return gc.get_count()[0], len(made_since)


def test_end_of_a_storage_moves_no_collection(in_cycle):
    gc.callbacks.append(lambda *_: None)  # any entry makes the collector make objects
    try:
        without = count_after_the_end_of_tensors_whose_views_died(in_cycle)
        with cyclewatch.watch(devices="cpu", budget=1) as watch:
            assert count_after_the_end_of_tensors_whose_views_died(in_cycle) == without
        assert watch.stats.owners == 50
    finally:
        gc.callbacks.pop()


@tells_who_holds_storages
def test_dying_tensor_may_be_swapped():
    # As Module.half() does with torch.__future__.set_swap_module_params_on_conversion(True).
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


def test_tensor_that_a_finalizer_saves_is_not_reported():
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


REFUSED = {
    "vmap": "torch.vmap(leave_cycles)(torch.ones(3, 4))",
    "grad": "torch.func.grad(leave_cycles)(torch.ones(4))",
    "jvp": "torch.func.jvp(leave_cycles, (torch.ones(4),), (torch.ones(4),))",
    "nested": "leave_cycle(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))",
}


@pytest.mark.parametrize("act", REFUSED.values(), ids=REFUSED)
def test_tensor_that_speaks_of_no_storage_is_not_asked_for_it(main_interpreter, act):
    # Torch would print a line for each refusal here.
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
        with cyclewatch.watch(devices="cpu") as watch:
            {act}
            gc.collect()
            print(watch.stats.unreachable > 0)
    """
    outcome = main_interpreter.run(program, TORCH_SHOW_CPP_STACKTRACES="1")
    assert (outcome.stdout, outcome.stderr) == ("True\n", "")


def test_storages_are_asked_where_torch_does_not_say_where_they_are(main_interpreter):
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
        with cyclewatch.watch(devices="cpu") as watch:
            Node(living[1:])
            Node(torch.zeros(20)[1:])
            gc.collect()
            print(watch.stats.owners, watch.report().retained_bytes)
    """
    assert main_interpreter.run(program).stdout == f"2 {20 * FLOAT}\n"


def test_no_module_is_imported_in_a_collection(main_interpreter):
    # As the first storage made for a lens would do while torch is being imported.
    program = """
        import gc, sys
        import cyclewatch

        before, imported = [], []
        gc.callbacks.append(lambda *_: before.append(set(sys.modules)))
        with cyclewatch.watch(devices="cpu") as watch:
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


def test_storage_class_of_the_program_is_not_called(main_interpreter):
    program = """
        import gc
        import torch
        import cyclewatch

        def new(cls, *args, **kwargs):
            made.append(cls)
            return super(torch.UntypedStorage, cls).__new__(cls, *args, **kwargs)

        made = []
        torch.UntypedStorage.__new__ = new
        gc.disable()
        with cyclewatch.watch(devices="cpu") as watch:
            node = torch.nn.Identity()
            node.itself, node.tensor = node, torch.zeros(10)
            del node
            gc.collect()
            print(made, watch.stats.owners)
    """
    assert main_interpreter.run(program).stdout == "[] 1\n"
