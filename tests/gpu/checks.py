# SPDX-License-Identifier: Apache-2.0
"""Checks of watches over programs that use torch: `checks.py NAME DEVICE`.

With the device "cpu", a check runs as much of the same code as possible, so that the check itself
is tested on machines without a GPU.
"""

import gc
import logging
import statistics
import sys
import tempfile
import threading
import time
import warnings

import support
import torch
from support import BLOCK, allocated, collect, cycle, leak, watching
from torch import nn

import cyclewatch


def exact_bytes(device):
    """The retained bytes equal the bytes freed by torch's allocator."""
    sizes = [BLOCK * count for count in (1, 3, 1000, 65536)] * 5
    collect(device)
    with watching(device) as watch:
        for size in sizes:
            leak(torch.empty(size, dtype=torch.uint8, device=device))
        # Two views of one storage, which count once, and a tensor that survives.
        base = torch.empty(BLOCK * 8, dtype=torch.uint8, device=device)
        leak(base[:100])
        leak(base[100:])
        del base
        kept = torch.empty(BLOCK * 16, dtype=torch.uint8, device=device)
        leak(kept)
        before = allocated(device)
        collect(device)
        after = allocated(device)
    retained = watch.report().retained_bytes
    assert retained == sum(sizes) + BLOCK * 8, retained
    assert kept.numel() == BLOCK * 16
    if before is not None:
        assert before - after == retained, (before, after, retained)
    return {
        "retained bytes": retained,
        "bytes freed by torch's allocator": before and before - after,
    }


def odd_sizes(device):
    """A report contains storage sizes, not the allocator's rounded block sizes."""
    sizes = [1, 100, 513, 70_001]
    collect(device)
    with watching(device) as watch:
        for size in sizes:
            leak(torch.empty(size, dtype=torch.uint8, device=device))
        before = allocated(device)
        collect(device)
        after = allocated(device)
    assert watch.report().retained_bytes == sum(sizes)
    if before is not None:
        assert before - after == sum(-(-size // BLOCK) * BLOCK for size in sizes)
    return {"retained bytes": sum(sizes), "block bytes": before and before - after}


def capture(device):
    """A collection during a stream capture does not invalidate the captured CUDA graph."""
    modes = ("global", "thread_local", "relaxed")
    source = torch.arange(1000.0, device=device)
    for mode in modes:
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with watching(device) as watch:
            holder = cycle(torch.empty(BLOCK, device=device))
            with torch.cuda.graph(graph, capture_error_mode=mode):
                doubled = source * 2
                del holder  # here, because older versions of torch collect before a capture
                gc.collect()
                result = doubled + 1
            assert watch.report().retained_bytes == BLOCK * 4, mode
            for _ in range(3):
                result.zero_()
                graph.replay()
                torch.cuda.synchronize()
                assert torch.equal(result, source * 2 + 1), mode
    return {"modes": len(modes)}


def streams(device):
    """Tensors are found if their cycles are freed while several streams use the tensors."""
    several = [torch.cuda.Stream() for _ in range(4)]
    result = torch.zeros((), device=device)
    with watching(device) as watch:
        for number, stream in enumerate(several):
            with torch.cuda.stream(stream):
                tensor = torch.ones(1_000_000, device=device)
                for _ in range(20):
                    tensor = tensor * 1.0
                result = tensor.sum() + number
                tensor.record_stream(torch.cuda.default_stream())
                leak(tensor)
            del tensor
        gc.collect()
        torch.cuda.synchronize()
    assert watch.report().retained_bytes == 4 * 4_000_000
    assert float(result) == 1_000_003
    return {"streams": len(several)}


class Collecting(torch.autograd.Function):
    """Leaks a cycle and collects garbage on the thread that runs backward()."""

    threads = []

    @staticmethod
    def forward(context, tensor):
        return tensor.clone()

    @staticmethod
    def backward(context, gradient):
        Collecting.threads.append(threading.current_thread() is threading.main_thread())
        leak(torch.empty(BLOCK, dtype=torch.uint8, device=gradient.device))
        gc.collect()
        return gradient


def autograd_threads(device):
    """Collections on autograd's threads."""
    tensor = torch.ones(10, device=device, requires_grad=True)
    with watching(device) as watch:
        for _ in range(3):
            Collecting.apply(tensor).sum().backward()
    assert watch.report().retained_bytes == 3 * BLOCK
    assert tensor.grad.tolist() == [3.0] * 10
    # On the CPU, backward() is called on the caller's thread.
    assert all(Collecting.threads) == (device == "cpu")
    return {"collections on autograd's threads": len(Collecting.threads)}


def compiled(device):
    """A watch changes neither the results of a compiled model nor the number of compilations."""
    backend = "inductor" if device == "cuda" else "aot_eager"

    def train(watched):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
        step = torch.compile(model, backend=backend)
        losses = []
        watch = watching(device) if watched else None
        for number in range(6):
            loss = step(torch.full((8, 64), number / 10, device=device)).square().mean()
            loss.backward()
            leak(torch.empty(BLOCK, dtype=torch.uint8, device=device))
            gc.collect()
            losses.append(loss.item())
        frames = dict(torch._dynamo.utils.counters["frames"])
        if watch is not None:
            watch.stop()
            holders = [each for each in watch.report().findings if "Holder" in each.title]
            assert sum(each.retained_bytes for each in holders) == 6 * BLOCK
        return losses, frames

    without, with_watch = train(False), train(True)
    assert with_watch == without
    return {"frames compiled": with_watch[1].get("ok", 0)}


def out_of_memory(device):
    """A program that catches an out-of-memory error can collect its cycles and continue."""
    error = torch.cuda.OutOfMemoryError if device == "cuda" else RuntimeError
    with watching(device) as watch:
        for _ in range(10):
            leak(torch.empty(1 << 20, dtype=torch.uint8, device=device))
        try:
            torch.empty(1 << 50, dtype=torch.uint8, device=device)
        except error as raised:
            gc.collect()
            message = str(raised).splitlines()[0]
        else:
            raise AssertionError("allocating a pebibyte succeeded")
        assert watch.report().retained_bytes == 10 << 20
        # The failed allocation left no pending error.
        assert float(torch.ones(10, device=device).sum()) == 10
        collect(device)
    return {"error": message[:60]}


def out_of_memory_report(device):
    """The report shows how many bytes torch's allocator uses and how many bytes cycles retain."""
    torch.ones(1, device=device)
    collect(device)
    kept = torch.empty(3 << 20, dtype=torch.uint8, device=device)
    for _ in range(10):
        leak(torch.empty(1 << 20, dtype=torch.uint8, device=device))
    in_use = allocated(device)
    error = torch.cuda.OutOfMemoryError if device == "cuda" else RuntimeError
    with tempfile.TemporaryDirectory() as folder:
        try:
            with cyclewatch.oom_autopsy(report_dir=folder) as autopsy:
                torch.empty(1 << 50, dtype=torch.uint8, device=device)
        except error as raised:
            (note,) = raised.__notes__
        with open(autopsy.report_path, encoding="utf-8") as file:
            text = file.read()
    assert kept.numel() == 3 << 20
    assert "1.0 PiB requested" in note, note
    assert f"{10 << 20:,}  dead in 10 cycles" in text, text
    if in_use is not None:
        assert f"{in_use:,}  in use (torch's allocator)" in text, text
    return {"headline": text.splitlines()[0]}


def training_step(device):
    width = 1024 if device == "cuda" else 16
    model = nn.Sequential(
        *(layer for _ in range(8) for layer in (nn.Linear(width, width), nn.GELU())),
        nn.Linear(width, 10),
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    inputs = torch.randn(256, width, device=device)
    targets = torch.randint(10, (256,), device=device)
    history = []

    def step(number):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        history.append({"step": number, "loss": loss.detach()})
        if len(history) > 100:
            history.clear()

    return step


def seconds_of(step, steps, device):
    begin = time.perf_counter()
    for number in range(steps):
        step(number)
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps


def memory_history(device):
    """Owners have an allocation site while torch records its memory history.

    Earlier and later allocations use the same addresses as the owners.
    """

    def block():
        return torch.empty(BLOCK, dtype=torch.uint8, device=device)

    if device == "cuda":
        torch.cuda.memory._record_memory_history(max_entries=10_000)
    with watching(device) as watch:
        block()
        leak(torch.empty(BLOCK, dtype=torch.uint8, device=device))
        frame = sys._getframe()
        line = frame.f_lineno - 2
        modules = len(sys.modules)
        begin = time.perf_counter()
        collect(device)
        later = block()
        report = watch.report()
        seconds = time.perf_counter() - begin
    del later
    (finding,) = report.findings
    (owner,) = finding.owners
    # torch records no history for the CPU.
    assert owner.allocated_at == (
        f"{frame.f_code.co_filename}:{line}" if device == "cuda" else None
    ), (owner.allocated_at, report.stats.skipped)
    return {
        "collection and lookup, ms": round(1000 * seconds, 3),
        "modules imported by torch": len(sys.modules) - modules,
    }


def overhead(device):
    """Times a training step with and without a watch, alternating between the two."""
    gc.enable()
    step = training_step(device)
    steps, rounds = (200, 15) if device == "cuda" else (3, 3)
    seconds_of(step, steps, device)
    without, with_watch = [], []
    for number in range(rounds):
        for watched in (True, False) if number % 2 else (False, True):
            if watched:
                with cyclewatch.watch(devices=device):
                    with_watch.append(seconds_of(step, steps, device))
            else:
                without.append(seconds_of(step, steps, device))
    ratios = [on / off for on, off in zip(with_watch, without, strict=True)]
    return {
        "step without, ms": round(1000 * statistics.median(without), 3),
        "step with, ms": round(1000 * statistics.median(with_watch), 3),
        "with / without": round(statistics.median(ratios), 4),
        "samples": f"{rounds} rounds of {steps} steps",
    }


def against_torch(device):
    """torch's own detector finds the same tensors. Also compares the times."""
    from torch.utils.viz._cycles import create_graph, observe_garbage, to_html

    found = []

    def is_ours(candidate):
        return isinstance(candidate, torch.Tensor) and candidate.device.type == device

    def observer(garbage):
        tensors = [each for each in garbage if is_ours(each)]
        if tensors:
            found.append(sum(each.untyped_storage().nbytes() for each in tensors))
            to_html(create_graph(garbage, context=lambda _: None, filter=is_ours))

    def collection():
        for _ in range(100):
            leak(torch.empty(BLOCK, dtype=torch.uint8, device=device))
        begin = time.perf_counter()
        gc.collect()
        # torch's detector runs at the next profiler event.
        str(found)
        str(found)
        return time.perf_counter() - begin

    collection()
    plain = statistics.median(collection() for _ in range(5))
    with tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        options = {"devices": device, "report_dir": folder, "budget": 1}
        with cyclewatch.warn_tensor_cycles(**options) as watch:
            ours = statistics.median(collection() for _ in range(5))
            retained = watch.report().retained_bytes
        remove = observe_garbage(observer)
        theirs = statistics.median(collection() for _ in range(2))
        remove()
        # Both together: each finds all tensors.
        found.clear()
        both = watching(device)
        remove = observe_garbage(observer)
        collection()
        remove()
        gc.collect()
        both.stop()
    assert retained == 5 * 100 * BLOCK
    assert found == [100 * BLOCK], found
    assert both.report().retained_bytes == 100 * BLOCK
    return {
        "plain collection, ms": round(1000 * plain, 3),
        "added by cyclewatch, ms": round(1000 * (ours - plain), 3),
        "added by torch, ms": round(1000 * (theirs - plain), 3),
    }


CHECKS = {
    check.__name__: check
    for check in (
        *(exact_bytes, odd_sizes, capture, streams, autograd_threads, compiled),
        *(out_of_memory, out_of_memory_report, memory_history, overhead, against_torch),
    )
}

if __name__ == "__main__":
    logging.getLogger("cyclewatch").setLevel(logging.CRITICAL)
    support.main(CHECKS)
