# SPDX-License-Identifier: Apache-2.0
"""Checks of cyclewatch's own CUDA queries, and of what a watch leaves of a program's CUDA state.

`queries.py NAME DEVICE`, with the device "cuda" or "cpu".
"""

import ctypes
import gc
import os
import threading

import support
import torch
from probes import cuda_api as cuda
from support import BLOCK, collect, cycle, leak, watching

import cyclewatch

MIB = 1 << 20
NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED
INVALID_DEVICE = 101


def runtime_of_torch():
    """The CUDA runtime that torch has loaded."""
    torch.empty(1, device="cuda")
    return ctypes.CDLL(cuda.loaded_libraries("libcudart")[0])


def block(device):
    """A tensor of one block."""
    return torch.empty(BLOCK, dtype=torch.uint8, device=device)


def memory_with_torch(device):
    """The samples around a collection equal torch's counters."""
    kept = torch.empty(3 * MIB, dtype=torch.uint8, device=device)
    collect(device)
    with watching(device) as watch:
        for _ in range(10):
            leak(torch.empty(MIB, dtype=torch.uint8, device=device))
        before = support.allocated(device)
        collect(device)
        after = support.allocated(device)
    (sample,) = [each for each in watch.report().collections if each.owners][-1].device_memory
    assert kept.nbytes == 3 * MIB
    if device == "cuda":
        assert (sample.device, sample.source) == ("cuda:0", "torch")
        assert (sample.used_before, sample.used_after) == (before, after)
        assert before - after == 10 * MIB
        assert sample.total == torch.cuda.mem_get_info()[1]
        smi = support.nvidia_smi("memory.total")
        # nvidia-smi includes the memory that the driver reserves for itself.
        assert smi is None or 0 <= int(smi[0]) * MIB - sample.total < 2048 * MIB, (
            smi,
            sample.total,
        )
    return {
        "used before": sample.used_before,
        "used after": sample.used_after,
        "total": sample.total,
    }


def scans(device):
    """dead_bytes(), scan() and live_owners() account for all memory that torch has allocated."""
    collect(device)
    kept = [torch.empty(2 * MIB, dtype=torch.uint8, device=device) for _ in range(3)]
    for _ in range(10):
        leak(torch.empty(MIB, dtype=torch.uint8, device=device))
    name = "cuda:0" if device == "cuda" else "cpu"
    dead = cyclewatch.dead_bytes().get(name)
    found = cyclewatch.scan(devices=device).retained_bytes
    live = cyclewatch.live_owners(1000, device=device, min_bytes=0)
    reachable = sum(owner.nbytes for owner in live)
    assert dead == found == 10 * MIB, (dead, found)
    assert reachable >= sum(tensor.nbytes for tensor in kept), reachable
    if device == "cuda":
        total = support.allocated(device)
        assert dead + reachable == total, (dead, reachable, total)
    return {"dead": dead, "reachable": reachable, "torch": support.allocated(device)}


def unused_device(device):
    """A watch does not initialize CUDA; a child that is forked later can use the device."""
    with cyclewatch.watch(devices="auto", budget=1) as watch:
        leak(block("cpu"))
        gc.collect()
    watch.report().to_html()
    cyclewatch.dead_bytes()
    assert not torch.cuda.is_initialized()
    loaded = bool(cuda.loaded_libraries("libcuda.so"))
    if loaded:
        error, _count = cuda.answer(cuda.load_driver().cuDeviceGetCount, ctypes.c_int)
        assert error == NOT_INITIALIZED, error

    def use():
        assert float(torch.ones(10, device=device).sum()) == 10

    assert support.status_of_child(use) == 0
    return {"driver loaded by the import of torch": loaded}


def fork_after_use(device):
    """A forked child collects without calling CUDA; the parent continues to use the device."""
    tensor = torch.ones(10, device=device)
    with watching(device) as watch:
        leak(block(device))

        def collect_in_child():
            leak(torch.empty(BLOCK, dtype=torch.uint8))
            gc.collect()
            watch.report().to_html()

        status = support.status_of_child(collect_in_child)
        assert status == 0, status
        collect(device)
    assert watch.report().retained_bytes == BLOCK
    assert float(tensor.sum()) == 10
    return {"status of the child": status}


def last_error(device):
    """A watch leaves the program's pending error in place, and none of its own."""
    runtime = runtime_of_torch()
    with watching(device) as watch:
        leak(block(device))
        gc.collect()
        clean = runtime.cudaPeekAtLastError()
        leak(block(device))
        assert runtime.cudaSetDevice(99) == INVALID_DEVICE
        gc.collect()
        pending = runtime.cudaGetLastError()
    assert clean == 0, clean
    assert pending == INVALID_DEVICE, pending
    assert watch.report().retained_bytes == 2 * BLOCK
    return {"pending error after the collection": pending}


def device_lost(device):
    """A collection after the device has failed reports the cycles; the error stays."""
    runtime = runtime_of_torch()
    with watching(device) as watch:
        leak(block(device))
        torch.zeros(10, device=device)[torch.tensor([1 << 20], device=device)]
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            message = str(error).splitlines()[0]
        else:
            raise AssertionError("an index out of range did not stop the device")
        gc.collect()
    report = watch.report()
    sticky = runtime.cudaPeekAtLastError()
    support.record(**{"error": message[:60], "error pending afterwards": sticky})
    support.record(**{"notes": [*report.notes, *report.stats.skipped]})
    # The watch notices the error only if the runtime has already returned it to a call.
    support.record(**{"error in the report": [each.error for each in report.device_records]})
    assert report.retained_bytes == BLOCK, report.retained_bytes
    support.write({"outcome": "passed", "reason": ""})
    os._exit(0)  # torch's own cleanup may fail on a device that is lost


def thread_without_a_context(device):
    """A collection on a thread that has not used the device creates no context there."""
    seen = {}

    def work():
        gc.collect()
        if device == "cuda":
            driver = cuda.load_driver()
            seen["context"] = cuda.answer(driver.cuCtxGetCurrent, ctypes.c_void_p)

    with watching(device) as watch:
        leak(block(device))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert watch.report().retained_bytes == BLOCK
    # Freeing a tensor may make the context current; a watch may not.
    return {"context after the collection": str(seen.get("context"))}


def automatic_devices(device):
    """devices="auto" selects the accelerator, before the first use of it and afterwards."""
    with cyclewatch.watch(devices="auto", budget=1) as watch:
        leak(block("cpu"))
        gc.collect()
        if device == "cuda":
            leak(block(device))
            leak(block("cpu"))
            gc.collect()
    found = watch.report().retained_bytes
    owners = {owner.device for finding in watch.report().findings for owner in finding.owners}
    assert owners == ({"cuda:0"} if device == "cuda" else {"cpu"}), owners
    assert found == BLOCK, found
    return {"devices found": ", ".join(owners)}


def capture_and_other_thread(device):
    """A collection on another thread does not invalidate a capture, in any mode."""
    modes = ("global", "thread_local", "relaxed")
    source = torch.arange(1000.0, device=device)
    for mode in modes:
        ready, begin, done = threading.Event(), threading.Event(), threading.Event()

        def work(ready=ready, begin=begin, done=done):
            torch.ones(1, device=device)  # gives the thread a context, as autograd's threads have
            ready.set()
            begin.wait(30)
            gc.collect()
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        assert ready.wait(30)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with watching(device) as watch:
            holder = cycle(block(device))
            with torch.cuda.graph(graph, capture_error_mode=mode):
                doubled = source * 2
                del holder  # here, because older versions of torch collect before a capture
                begin.set()
                assert done.wait(30), "the collection did not end"
                result = doubled + 1
            thread.join()
        result.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(result, source * 2 + 1), mode
        assert watch.report().retained_bytes == BLOCK, mode
    return {"modes": len(modes)}


CHECKS = {
    check.__name__: check
    for check in (
        *(memory_with_torch, scans, unused_device, fork_after_use, last_error, device_lost),
        *(thread_without_a_context, automatic_devices, capture_and_other_thread),
    )
}

if __name__ == "__main__":
    support.main(CHECKS)
