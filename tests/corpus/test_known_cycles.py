# SPDX-License-Identifier: Apache-2.0
"""Patterns for known library leaks and benign cycles match these cycles."""

import json

import pytest

START = """
import gc, json, sys, types
import cyclewatch

def print_findings(leak):
    gc.collect()
    with cyclewatch.watch(devices="all") as watch:
        leak()
        gc.collect()
    print(json.dumps([[f.pattern, f.status] for f in watch.report().findings]))
"""

TRACED_MODULE = """
import torch

class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1000))

    def forward(self, x):
        return x * self.weight

gc.disable()
# Tracing creates other cycles: collect them before the watch starts.
traced = [torch.fx.symbolic_trace(Scale())]
print_findings(traced.clear)
"""

WRAP_IN_A_FORWARD_PASS = """
import torch

def leak():
    activations = torch.ones(1000)
    exec(compile("torch.fx.wrap('len')", "lazy.py", "exec"), {"torch": torch, "__name__": "lazy"})
    return activations

gc.disable()
print_findings(leak)
"""

CAST_POINTER = """
import ctypes
import torch

def leak():
    pointer = ctypes.pointer(ctypes.c_float())
    pointer.array = torch.ones(1000)  # as ndarray.ctypes.data_as() does
    ctypes.cast(pointer, ctypes.c_void_p)

gc.disable()
print_findings(leak)
"""

# Imitates the two cycles of tensordict: same names, different code.
STAND_IN = """
class Tensor:
    pass

cyclewatch.register_owner(Tensor, lambda one: {{"device": "cpu", "nbytes": 1, "data_ptr": id(one)}})
SOURCE = '''
class CudaGraphModule:
    def __init__(self, weight):
        self.weight = weight

        def _call():
            return self.weight

        self._call_func = _call

class TensorDict:
    def __init__(self, weight):
        self.weight = weight
        self._validate_value_cached = self._validate_value_generic

    def _validate_value_generic(self):
        pass
'''
package = sys.modules["tensordict"] = types.ModuleType("tensordict")
package.__version__ = {version!r}
module = types.ModuleType({module!r})
exec(compile(SOURCE, "tensordict.py", "exec"), module.__dict__)
gc.disable()
print_findings(lambda: module.{name}(Tensor()))
"""


def finding_of(interpreter, program):
    [finding] = json.loads(interpreter.run(START + program).stdout)
    return finding


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (TRACED_MODULE, ["fx-graph-module", "benign"]),
        (WRAP_IN_A_FORWARD_PASS, ["torch-fx-wrap-frame", "library"]),
        (CAST_POINTER, ["ctypes-cast", "new"]),
    ],
    ids=["traced_module", "wrap_in_a_forward_pass", "cast_pointer"],
)
def test_cycles_of_torch(main_interpreter, program, expected):
    pytest.importorskip("torch")
    assert finding_of(main_interpreter, program) == expected


@pytest.mark.parametrize(
    ("module", "name", "version", "expected"),
    [
        (
            "tensordict.nn.cudagraphs",
            "CudaGraphModule",
            "0.14.3",
            ["tensordict-cuda-graph-module", "library"],
        ),
        (
            "tensordict.nn.cudagraphs",
            "CudaGraphModule",
            "0.15.0",
            ["closure-captures-self", "new"],
        ),
        ("tensordict._td", "TensorDict", "0.8.1", ["tensordict-cached-validator", "library"]),
        ("tensordict._td", "TensorDict", "0.8.2", ["bound-method-on-self", "new"]),
    ],
)
def test_cycles_of_tensordict(interpreter, module, name, version, expected):
    program = STAND_IN.format(module=module, name=name, version=version)
    assert finding_of(interpreter, program) == expected
