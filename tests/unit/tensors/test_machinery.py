# SPDX-License-Identifier: Apache-2.0
"""A collection does not affect dispatch modes, traces, symbolic sizes or compiled functions."""

import gc

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import cyclewatch

FLOAT = 4
CALLS = []


class Overriding(torch.Tensor):
    """A subclass with __torch_function__."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        CALLS.append(function)
        return super().__torch_function__(function, types, args, kwargs or {})


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


class NotingFunctions(TorchFunctionMode):
    """A mode that records every call of a torch function."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        CALLS.append(function)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("subclass", [torch.Tensor, torch.nn.Parameter, Overriding])
def test_active_function_mode_is_not_called(in_cycle, subclass):
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        in_cycle(tensor=torch.zeros(8).as_subclass(subclass))
        with NotingFunctions():
            CALLS.clear()
            gc.collect()
            called = list(CALLS)
            still_on = torch.zeros(1)
        assert watch.report().retained_bytes == 8 * FLOAT
    assert called == []
    assert len(CALLS) == 1 and still_on.numel() == 1


class NotingOperators(TorchDispatchMode):
    """A mode that records every operator call."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        CALLS.append(function)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("dtype", [torch.float, torch.cfloat])
def test_stale_view_is_not_regenerated(in_cycle, dtype):
    weight = torch.ones(3, requires_grad=True)
    with cyclewatch.watch(devices="cpu", budget=1) as watch, NotingOperators():
        buffer = torch.zeros(4, 3, dtype=dtype)
        in_cycle(view=(torch.view_as_real(buffer) if dtype.is_complex else buffer)[0])
        buffer[0] = weight * 2
        before = buffer.sum()
        CALLS.clear()
        gc.collect()
        called = list(CALLS)
        after = buffer.sum()
        assert watch.stats.owners == 1
    assert called == []
    # Consecutive numbers: no other graph node was created.
    assert after.grad_fn._sequence_nr() == before.grad_fn._sequence_nr() + 1


def test_gradient_of_a_leaf_view_is_counted(in_cycle):
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        leaf = torch.zeros(6)[3:].requires_grad_()
        leaf.sum().backward()
        in_cycle(leaf=leaf)
        del leaf
        gc.collect()
        assert watch.report().retained_bytes == (6 + 3) * FLOAT


def test_symbolic_sizes_get_no_guards(in_cycle):
    # Not at the top, because they create 100,000 objects, which the collections in all other tests
    # would examine.
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import (
        DimDynamic,
        ShapeEnv,
        StatelessSymbolicContext,
    )

    environment = ShapeEnv()
    dynamic = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * 2)
    real = torch.ones(6, 7)
    with cyclewatch.watch(devices="cpu", budget=1), FakeTensorMode(shape_env=environment) as mode:
        tensor = mode.from_tensor(real, source=ConstantSource("tensor"), symbolic_context=dynamic)
        wrapped = Wrapping(tensor[3:])
        in_cycle(wrapped=wrapped, storage=wrapped.untyped_storage())
        del wrapped
        guards = [str(guard.expr) for guard in environment.guards]
        assert guards  # created by slicing
        gc.collect()
        assert [str(guard.expr) for guard in environment.guards] == guards


def test_no_storage_object_is_left(in_cycle):
    base = torch.zeros(100)
    storages = [each for each in gc.get_objects() if type(each) is torch.UntypedStorage]
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        in_cycle(view=base[10:])
        gc.collect()
        assert watch.stats.owners == 1
    left = [each for each in gc.get_objects() if type(each) is torch.UntypedStorage]
    assert len(left) == len(storages)
    assert base.untyped_storage().nbytes() == 100 * FLOAT


def test_surviving_gradient_is_tracked():
    saved = []

    class Saving:
        def __del__(self):
            saved.append(self.parameter)

    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        node = Saving()
        node.self = node
        node.parameter = torch.nn.Parameter(torch.ones(10))
        node.parameter.sum().backward()
        del node
        gc.collect()
    assert watch.stats.collections == 1
    assert gc.is_tracked(saved[0].grad)


def test_copy_on_write_tensor_is_not_copied(in_cycle):
    original = torch.zeros(100)
    clone = torch._lazy_clone(original)
    alias = clone[:1]
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        in_cycle(clone=clone)
        del clone
        gc.collect()
        assert watch.stats.collections == 1
    assert torch._C._is_cow_tensor(alias)


def test_warnings_do_not_affect_compiled_functions(main_interpreter, tmp_path):
    program = """
        import gc, logging, sys, warnings
        import torch
        import torch._dynamo.utils
        import cyclewatch

        class Node:
            def __init__(self):
                self.itself = self
                self.tensor = torch.ones(5)

        def collecting(tensor):
            gc.collect()
            return tensor + 1

        @torch.compile(backend="eager")
        def compiled(tensor):
            tensor = tensor * 2
            torch._dynamo.graph_break()
            return collecting(tensor).sin()

        warnings.simplefilter("ignore")
        logging.getLogger("cyclewatch").addHandler(handler := logging.Handler())
        records = []
        handler.emit = records.append
        gc.disable()
        if sys.argv[1] == "watched":
            watch = cyclewatch.warn_tensor_cycles(devices="cpu", formats="json")
        compiled(torch.ones(3))
        Node()
        compiled(torch.ones(3))
        print(dict(torch._dynamo.utils.counters["frames"]))
        assert len(records) == (sys.argv[1] == "watched")
    """
    outcomes = [
        main_interpreter.run(program, how, cwd=tmp_path).stdout for how in ("unwatched", "watched")
    ]
    assert "total" in outcomes[0]
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("kind", ["plain", "leaf", "stale view"])
def test_collection_adds_nothing_to_a_trace(main_interpreter, kind):
    # Reading a shape would add a node, and the freed tensor, to the trace.
    program = """
        import contextlib, gc, sys
        import torch
        import cyclewatch

        class Node:
            def __init__(self):
                self.itself = self
                self.tensor = torch.ones(5, requires_grad=sys.argv[1] == "leaf")
                if sys.argv[1] == "stale view":
                    spectrum = torch.zeros(5, dtype=torch.cfloat)
                    self.tensor = spectrum.real
                    spectrum *= torch.ones(5, requires_grad=True)

        def traced(tensor):
            gc.collect()
            return tensor * 2

        watched = sys.argv[2] == "watched"
        with cyclewatch.watch(devices=("cpu",)) if watched else contextlib.nullcontext() as watch:
            gc.disable()
            Node()
            print(torch.jit.trace(traced, torch.ones(3), check_trace=False).graph)
        if watched:
            assert watch.report().retained_bytes == (40 if sys.argv[1] == "stale view" else 20)
    """
    outcomes = [main_interpreter.run(program, kind, how).stdout for how in ("unwatched", "watched")]
    assert "aten::mul" in outcomes[0]
    assert outcomes[0] == outcomes[1]
