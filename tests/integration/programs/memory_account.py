# SPDX-License-Identifier: Apache-2.0
"""Prints the account of a simulated CUDA device as JSON: memory_account.py DRIVER RUNTIME CASE."""

import ctypes
import gc
import sys
import types

from simulated_cuda_program import Library, stage

import cyclewatch

MIB = 1 << 20


class Tensor:
    """Simulates torch.Tensor; registered as an owner of device memory."""

    def __init__(self, mib, device="cuda:0"):
        self.facts = {"device": device, "nbytes": mib * MIB, "data_ptr": id(self)}


class ForeignArray:
    """An array of another library."""

    def __init__(self, mib):
        self.facts = {"device": "cuda:0", "nbytes": mib * MIB, "data_ptr": id(self)}


def install_torch(mib):
    """Simulate a torch that has used the device. `mib` maps counters to MiB."""
    torch = types.ModuleType("torch")
    torch.Tensor = Tensor
    torch.cuda = types.SimpleNamespace(is_initialized=lambda: True, current_device=lambda: 0)
    native = torch._C = types.ModuleType("torch._C")
    statistics = {f"{name}_bytes": {"all": {"current": mib[name] * MIB}} for name in mib}
    # A built-in method, as in torch.
    native._cuda_memoryStats = {0: statistics}.__getitem__
    native._cuda_isHistoryEnabled = lambda: False
    blocks = [{"size": 3 * MIB, "state": "inactive"}, {"size": 1, "state": "active_allocated"}]
    native._cuda_memorySnapshot = lambda _: {"segments": [{"device": 0, "blocks": blocks}]}
    sys.modules.update({"torch": torch, "torch._C": native})


def main(driver_path, runtime_path, case):
    driver, runtime = Library(driver_path), Library(runtime_path)
    stage("not in use" if case == "not in use" else "none", driver, runtime)
    allocate = driver.calls.cyclewatch_simulated_allocate
    allocate.restype = ctypes.c_void_p
    allocate.argtypes = [ctypes.c_size_t, ctypes.c_int, ctypes.c_bool]
    allocate(700 * MIB, 2, False)
    driver.state.pool_reserved, driver.state.pool_used = 50 * MIB, 30 * MIB
    driver.state.graphs_reserved = 10 * MIB
    if case != "no torch":
        counters = {"allocated": 300, "active": 310, "inactive_split": 40, "reserved": 400}
        install_torch(counters)
    for owner in (Tensor, ForeignArray):
        cyclewatch.register_owner(owner, lambda each: each.facts)
    gc.disable()
    kept = [Tensor(200), ForeignArray(20)]
    dead = Tensor(60)
    dead.me = dead
    del dead
    before = driver.counted().get("contexts_created")
    account = cyclewatch.memory("cuda" if case == "no torch" else None)
    assert driver.counted().get("contexts_created") == before
    assert account.in_use == sum(size for _, size in account.lines), account.lines
    assert str(account).startswith(account.verdict)
    assert len(kept) == 2
    print(account.to_json())


if __name__ == "__main__":
    main(*sys.argv[1:])
