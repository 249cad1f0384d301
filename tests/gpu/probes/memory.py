# SPDX-License-Identifier: Apache-2.0
"""What the memory in use consists of, and in which allocation of the driver a tensor is."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import plan  # noqa: E402
import support  # noqa: E402
from probes import cuda_api as cuda  # noqa: E402
from probes.device import Device  # noqa: E402

MIB = 1 << 20


def pool_state(device):
    """Return the bytes that the default pool of device 0 has reserved and uses."""
    reserved = cuda.pool_attribute(device.runtime, device.pool, cuda.RESERVED)[1]
    return reserved, cuda.pool_attribute(device.runtime, device.pool, cuda.USED)[1]


def composition(_):
    """The memory in use on the device, from each of the sources."""
    import torch

    device = Device()
    kept = torch.empty(256 * MIB, dtype=torch.uint8, device="cuda")
    cached = torch.empty(512 * MIB, dtype=torch.uint8, device="cuda")
    del cached
    device.allocate_from_pool(128 * MIB)
    error, (free, total) = cuda.memory(device.driver.cuMemGetInfo_v2)
    device.check(error)
    torch_allocated, torch_reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    reserved, used = pool_state(device)
    rest = total - free - torch_reserved - reserved
    mib = {
        "in use (total - free)": total - free,
        "torch, allocated": torch_allocated,
        "torch, cached": torch_reserved - torch_allocated,
        "pool, in use": used,
        "pool, cached": reserved - used,
        "the rest: contexts, libraries, other processes": rest,
    }
    support.record(**{f"{name}, MiB": round(count / MIB) for name, count in mib.items()})
    reported = support.nvidia_smi("memory.used", "memory.total")
    support.record(**{"nvidia-smi, used and total, MiB": reported or "not available"})
    assert torch_allocated == kept.nbytes
    assert torch.cuda.mem_get_info()[1] == total
    assert used >= 128 * MIB, used
    assert rest >= 0, rest
    if reported:
        # nvidia-smi adds the memory that the driver reserves for itself.
        difference = int(reported[0]) - (total - free) / MIB
        support.record(**{"nvidia-smi - in use, MiB": round(difference)})
        assert abs(difference) < 2048, difference


def range_of(driver, address):
    """Return (error, first address, size) of the allocation that contains `address`."""
    error, start = cuda.pointer_range(driver, address, cuda.RANGE_START)
    if error:
        return error, 0, 0
    error, size = cuda.pointer_range(driver, address, cuda.RANGE_SIZE)
    return error, start, size


def ranges(_):
    """Whether each tensor lies inside one allocation that the driver knows."""
    import torch

    driver = cuda.load_driver()
    options = os.environ.get(plan.ALLOCATOR, "default")
    support.record(allocator=f"{torch.cuda.get_allocator_backend()}, {options}")
    sizes = {"3 bytes": 3, "1 MiB": MIB, "256 MiB": 256 * MIB}
    outside = []
    for name, size in sizes.items():
        tensor = torch.empty(size, dtype=torch.uint8, device="cuda")
        error, start, length = range_of(driver, tensor.data_ptr())
        inside = start <= tensor.data_ptr() and tensor.data_ptr() + size <= start + length
        where = "inside" if inside else "NOT INSIDE"
        text = f"error {error}" if error else f"{where} an allocation of {length:,} bytes"
        support.record(**{f"tensor of {name}": text})
        if error or not inside:
            outside.append(name)
        address = tensor.data_ptr()
        del tensor
    torch.cuda.synchronize()
    error, _start, length = range_of(driver, address)
    support.record(**{"after the tensor is freed": f"error {error}, {length:,} bytes"})
    torch.cuda.empty_cache()
    error, _start, length = range_of(driver, address)
    support.record(**{"after empty_cache()": f"error {error}, {length:,} bytes"})
    support.record(**{"ranges usable": not outside})


def cupy_pools(_):
    """CuPy links its runtime statically, and its pool is visible through another runtime."""
    import cupy

    cupy.zeros(1)
    names = [Path(path).name for path in cuda.loaded_libraries("libcudart")]
    support.record(
        cupy=cupy.__version__, **{"libcudart loaded by CuPy": ", ".join(names) or "none"}
    )
    device = Device()
    before = pool_state(device)
    cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
    array = cupy.zeros(64 * MIB, dtype=cupy.uint8)
    cupy.cuda.get_current_stream().synchronize()
    during = pool_state(device)
    del array
    cupy.cuda.get_current_stream().synchronize()
    after = pool_state(device)
    for name, (reserved, used) in {"before": before, "with 64 MiB": during, "freed": after}.items():
        support.record(
            **{f"default pool {name}, reserved and used, MiB": [reserved >> 20, used >> 20]}
        )
    assert during[1] - before[1] >= 64 * MIB, (before, during)
    assert after[1] < during[1], (during, after)


CHECKS = {check.__name__: check for check in (composition, ranges, cupy_pools)}

if __name__ == "__main__":
    support.main(CHECKS)
