# SPDX-License-Identifier: Apache-2.0
"""Checks of other libraries' arrays, and of torch's other allocators: `libraries.py NAME cuda`."""

import gc
import os

import plan
import support
from probes import cuda_api as cuda
from support import BLOCK, leak, watching

MIB = 1 << 20


def only_sample(report):
    """The memory in use around the last collection with owners."""
    (sample,) = samples(report)
    return sample


def samples(report):
    """The memory in use per device; no entry if the thread has no context that can be asked."""
    return [each for each in report.collections if each.owners][-1].device_memory


def sources(report):
    """The sources of the samples, as text."""
    return ", ".join(sample.source for sample in samples(report)) or "none"


def in_use():
    """Return the memory of the device in use."""
    error, (free, total) = cuda.memory(cuda.load_driver().cuMemGetInfo_v2)
    assert not error, error
    return total - free


def found(make, expected, device="cuda:0"):
    """Leak what `make` returns under a watch; return the watch's report."""
    gc.collect()
    with watching("cuda") as watch:
        leak(make())
        gc.collect()
    report = watch.report()
    assert report.retained_bytes == expected, (report.retained_bytes, report.stats.skipped)
    (finding,) = report.findings
    assert {owner.device for owner in finding.owners} == {device}
    return report


def cupy_arrays(_):
    """An array and a view of it, from CuPy's memory pool."""
    import cupy

    def make():
        array = cupy.zeros(MIB, dtype=cupy.uint8)
        return [array, array[100:]]

    cupy.zeros(1)  # creates the context
    before = in_use()
    report = found(make, MIB)
    sample = only_sample(report)
    assert sample.source == "cuda", sample.source
    support.record(cupy=cupy.__version__, owner=report.findings[0].owners[0].type)
    return {
        "in use, driver before the check": before,
        "in use, report before and after": [sample.used_before, sample.used_after],
    }


def cupy_memory_in_use(_):
    """Without CuPy's pool, the samples equal the driver's numbers before and after."""
    import cupy

    cupy.cuda.set_allocator(None)
    kept = cupy.zeros(MIB, dtype=cupy.uint8)
    with watching("cuda") as watch:
        leak(cupy.zeros(64 * MIB, dtype=cupy.uint8))
        before = in_use()
        gc.collect()
        after = in_use()
    sample = only_sample(watch.report())
    assert kept.nbytes == MIB
    support.record(**{"driver": [before, after]})
    assert (sample.used_before, sample.used_after) == (before, after), sample
    assert before - after == 64 * MIB
    return {"report": [sample.used_before, sample.used_after], "total": sample.total}


def cupy_async_pool(_):
    """Arrays from cudaMallocAsync are found."""
    import cupy

    cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
    report = found(lambda: cupy.zeros(MIB, dtype=cupy.uint8), MIB)
    return {"owner": report.findings[0].owners[0].type}


def cupy_of_torch(_):
    """A CuPy array in a tensor's memory is not an owner; the tensor is."""
    import cupy
    import torch

    def make():
        tensor = torch.ones(MIB, dtype=torch.uint8, device="cuda")
        return [tensor, cupy.from_dlpack(tensor)]

    report = found(make, MIB)
    return {"owners": ", ".join(owner.type for owner in report.findings[0].owners)}


def numba_arrays(_):
    """A device array and a view of it, in a context that Numba has made with the driver API."""
    from numba import cuda as numba_cuda

    def make():
        array = numba_cuda.device_array(MIB, dtype="uint8")
        return [array, array[100:]]

    report = found(make, MIB)
    libraries = cuda.loaded_libraries("libcudart")
    return {
        "owner": report.findings[0].owners[0].type,
        "libcudart loaded": ", ".join(os.path.basename(path) for path in libraries) or "none",
        "in use, source": sources(report),
    }


def jax_arrays(_):
    """An array of JAX is found, and a watch does not disturb JAX."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp

    if jax.default_backend() not in ("gpu", "cuda"):
        raise support.MissingError(f"jax {jax.__version__} has no CUDA plugin")
    report = found(lambda: jnp.ones(MIB, dtype="uint8").block_until_ready(), MIB)
    assert float(jnp.ones(10).sum()) == 10
    return {
        "jax": jax.__version__,
        "owner": report.findings[0].owners[0].type,
        "in use, source": sources(report),
    }


def torch_allocator(_):
    """The retained bytes under another allocator, which run.py selects in the environment."""
    import torch

    collected = torch.empty(MIB, dtype=torch.uint8, device="cuda")
    sizes = [BLOCK, MIB, 64 * MIB]
    with watching("cuda") as watch:
        for size in sizes:
            leak(torch.empty(size, dtype=torch.uint8, device="cuda"))
        before = torch.cuda.memory_allocated()
        gc.collect()
        torch.cuda.synchronize()
        after = torch.cuda.memory_allocated()
    assert collected.nbytes == MIB
    report = watch.report()
    sample = only_sample(report)
    backend = torch.cuda.get_allocator_backend()
    support.record(
        **{
            "backend": backend,
            "freed by torch": before - after,
            "in use, report": [sample.used_before, sample.used_after, sample.source],
        }
    )
    assert report.retained_bytes == sum(sizes), report.retained_bytes
    assert ("cudaMallocAsync" in os.environ[plan.ALLOCATOR]) == (backend == "cudaMallocAsync")
    return {"retained bytes": report.retained_bytes}


CHECKS = {
    check.__name__: check
    for check in (
        *(cupy_arrays, cupy_memory_in_use, cupy_async_pool, cupy_of_torch),
        *(numba_arrays, jax_arrays, torch_allocator),
    )
}

if __name__ == "__main__":
    support.main(CHECKS)
