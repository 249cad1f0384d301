# SPDX-License-Identifier: Apache-2.0
"""Compares each of cyclewatch's CUDA queries with torch, the driver and nvidia-smi.

`answers.py NAME cuda`. The queries are those of `_native.query_cuda()`.
"""

import ctypes
import gc
import threading

import support
from probes import cuda_api as cuda
from probes.device import Device
from support import BLOCK, cycle, leak, watching

import cyclewatch
from cyclewatch import _native

MIB = 1 << 20


def equal(**pairs):
    """Record pairs of values that must be equal, and fail if they are not."""
    support.record(**{name: left for name, (left, _) in pairs.items()})
    wrong = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    assert not wrong, wrong


def reserved_memory(device):
    """Ask the runtime for the memory of the pool and of captured graphs."""
    names = {"pool_reserved": cuda.RESERVED, "pool_used": cuda.USED}
    answers = {
        name: cuda.pool_attribute(device.runtime, device.pool, attribute)[1]
        for name, attribute in names.items()
    }
    answers["graphs"] = cuda.graph_memory(device.runtime)[1]
    return answers


def with_torch(_):
    """Every query of a program that uses torch."""
    import torch

    tensor = torch.ones(MIB, device="cuda")
    device = Device()  # in torch's context
    device.allocate_from_pool(64 * MIB)
    torch.cuda.synchronize()
    answers = _native.query_cuda(tensor.data_ptr())
    free, total = torch.cuda.mem_get_info()
    properties = torch.cuda.get_device_properties(0)
    facts, allocation = answers["device"], answers["allocation"]
    equal(
        responder=(answers["responder"], "runtime"),
        pending_error=(answers["pending_error"], 0),
        accelerator_usable=(answers["accelerator_usable"], True),
        memory=(answers["memory"], {"device": 0, "free": free, "total": total}),
        reserved=(answers["reserved"], reserved_memory(device)),
        name=(facts["name"], properties.name),
        uuid=(facts["uuid"], str(properties.uuid)),
        total=(facts["total"], properties.total_memory),
        runtime_version=(facts["runtime_version"], cuda.version(device.runtime, "Runtime")),
        driver_version=(facts["driver_version"], cuda.version(device.runtime, "Driver")),
        address=(answers["address"], {"kind": "device", "device": 0}),
    )
    assert allocation["start"] <= tensor.data_ptr()
    assert tensor.data_ptr() + tensor.nbytes <= allocation["start"] + allocation["bytes"]
    smi = support.nvidia_smi("name", "uuid", "pci.bus_id")
    if smi is not None:
        # nvidia-smi prints eight digits of the PCI domain, the runtime four.
        found = [facts["name"], f"GPU-{facts['uuid']}", facts["pci_id"].lower()]
        assert found == [*smi[:2], smi[2].lower()[-len(facts["pci_id"]) :]], (found, smi)
    pinned = torch.ones(10).pin_memory()
    pageable = torch.ones(10)
    equal(
        pinned=(_native.query_cuda(pinned.data_ptr())["address"]["kind"], "host"),
        pageable=(_native.query_cuda(pageable.data_ptr())["address"]["kind"], "unregistered"),
    )


def with_the_driver_only(_):
    """Every query of a program that has loaded no CUDA runtime (CuPy links its own statically)."""
    import cupy

    array = cupy.zeros(MIB, dtype=cupy.uint8)  # compiles nothing
    cupy.cuda.get_current_stream().synchronize()
    answers = _native.query_cuda(array.data.ptr)
    loaded = bool(cuda.loaded_libraries("libcudart"))
    free, total = cupy.cuda.runtime.memGetInfo()
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    equal(
        responder=(answers["responder"], "runtime" if loaded else "driver"),
        memory=(answers["memory"], {"device": 0, "free": free, "total": total}),
        name=(answers["device"]["name"], properties["name"].decode()),
        total=(answers["device"]["total"], properties["totalGlobalMem"]),
        pci_id=(answers["device"]["pci_id"], cupy.cuda.Device(0).pci_bus_id),
        driver_version=(
            answers["device"]["driver_version"],
            cupy.cuda.runtime.driverGetVersion(),
        ),
        address=(answers["address"], {"kind": "device", "device": 0}),
    )
    assert answers["allocation"]["start"] <= array.data.ptr


def nobody_answers(_):
    """No query is sent before the device is used, on a thread that has not used it, and in a fork.

    The same holds while the program's own error is pending, except for queries to the driver.
    """
    import torch

    before = _native.query_cuda()
    torch.ones(1, device="cuda")
    other = {}
    thread = threading.Thread(target=lambda: other.update(_native.query_cuda()))
    thread.start()
    thread.join()
    child = support.status_of_child(lambda: check_nobody(_native.query_cuda()))
    equal(
        before_use=(before["responder"], "none"),
        on_another_thread=(other["responder"], "none"),
        in_a_forked_child=(child, 0),
    )
    runtime = ctypes.CDLL(cuda.loaded_libraries("libcudart")[0])
    runtime.cudaSetDevice(99)
    pending = _native.query_cuda()
    equal(
        pending_error=(pending["pending_error"], runtime.cudaGetLastError()),
        responder_then=(pending["responder"], "driver"),
    )
    assert pending["pending_error"] == 101, pending
    assert pending["memory"] is not None


def check_nobody(answers):
    """Fail unless nobody was asked."""
    assert answers["responder"] == "none", answers
    assert answers["memory"] is None, answers


def answers_in_captures(_):
    """Every query in a capture of torch, in each mode: all are answered, and the graph is right."""
    import torch

    source = torch.arange(1000.0, device="cuda")
    missing = {}
    for mode in ("global", "thread_local", "relaxed"):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode=mode):
            doubled = source * 2
            answers = _native.query_cuda(source.data_ptr())
            result = doubled + 1
        missing[mode] = [name for name, answer in answers.items() if answer is None]
        result.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(result, source * 2 + 1), mode
    support.record(**{f"no answer, {mode}": names for mode, names in missing.items()})
    assert not any(missing.values()), missing


def parts_of(memory):
    """The parts of a MemoryBreakdown by name."""
    names = ("live", "dead", "torch_cache", "pool_used", "pool_cache", "graphs", "other", "free")
    return {name: getattr(memory, name) for name in names}


def device_record(_):
    """The report's record of the device; the parts of its memory add up to the total."""
    import torch

    device = Device()
    device.allocate_from_pool(64 * MIB)
    kept = torch.empty(32 * MIB, dtype=torch.uint8, device="cuda")
    with watching("cuda") as watch:
        for _ in range(8):
            leak(torch.empty(4 * MIB, dtype=torch.uint8, device="cuda"))
        gc.collect()
        torch.cuda.synchronize()
    report = watch.report()
    (record,) = report.device_records
    memory = record.memory
    parts, now = parts_of(memory), parts_of(record.memory_now)
    support.record(**parts)
    support.record(**{f"{name}, now": size for name, size in now.items()})
    properties = torch.cuda.get_device_properties(0)
    equal(
        device=(record.device, "cuda:0"),
        name=(record.name, properties.name),
        uuid=(record.uuid, str(properties.uuid)),
        total=(record.total, sum(parts.values())),
        total_now=(record.total, sum(now.values())),
        error=(record.error, None),
        dead_bytes=(memory.dead, 32 * MIB),
        live_bytes=(memory.live, kept.nbytes),
        live_bytes_now=(now["live"], kept.nbytes),
    )
    assert memory.pool_used >= 64 * MIB, memory.pool_used
    for text in (report.to_text(), report.to_html()):
        assert record.name in text


class Claimed:
    """Registered as an owner of the memory that `claim` describes."""

    claim = {}

    def __init__(self):
        self.me = self


def contradicted_owner(_):
    """An owner that claims more memory than CUDA knows is counted, not reported."""
    import torch

    memory = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    Claimed.claim = {"device": "cuda:0", "nbytes": 1 << 32, "data_ptr": memory.data_ptr()}
    cyclewatch.register_owner(Claimed, lambda owner: dict(Claimed.claim))
    with watching("cuda") as watch:
        Claimed()
        gc.collect()
    report = watch.report()
    assert report.retained_bytes == 0, report.retained_bytes
    (reason,) = [reason for reason in report.stats.skipped if "Claimed" in reason]
    return {"reason": reason}


def record_after_a_capture(_):
    """A collection in a capture still describes the device afterwards."""
    import torch

    torch.ones(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with watching("cuda") as watch:
        holder = cycle(torch.empty(BLOCK, dtype=torch.uint8, device="cuda"))
        with torch.cuda.graph(graph, capture_error_mode="global"):
            torch.ones(1, device="cuda")
            del holder
            gc.collect()
    (record,) = watch.report().device_records
    return {"name": record.name, "memory known": record.memory is not None}


CHECKS = {
    check.__name__: check
    for check in (
        *(with_torch, with_the_driver_only, nobody_answers, answers_in_captures),
        *(device_record, contradicted_owner, record_after_a_capture),
    )
}


if __name__ == "__main__":
    support.main(CHECKS)
