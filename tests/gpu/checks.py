# SPDX-License-Identifier: Apache-2.0
"""What is to hold with a real device: one check a process, `checks.py NAME DEVICE`.

Each check asserts what must be so and prints, as JSON, what is worth knowing of it. On "cpu" it
runs the same code as far as there is a counterpart, so that it is known to work before it is
taken to a machine with a device.
"""

import gc
import json
import statistics
import sys
import tempfile
import threading
import time
import warnings

import torch
from torch import nn

import cyclewatch

BLOCK = 512  # torch's allocator on CUDA hands out multiples of this many bytes


class Holder:
    """One object of a cycle that keeps a tensor."""


def leave(tensor):
    holder = Holder()
    holder.me, holder.tensor = holder, tensor


def allocated(device):
    """Bytes that torch's allocator has handed out; nobody counts them for the CPU."""
    return torch.cuda.memory_allocated() if device == "cuda" else None


def settle(device):
    gc.collect()
    if device == "cuda":
        torch.cuda.synchronize()


def watching(device, **options):
    return cyclewatch.watch(devices=device, budget=1, **options)


def exact_bytes(device):
    """Retained bytes are what torch's allocator got back, to the byte."""
    sizes = [BLOCK * count for count in (1, 3, 1000, 65536)] * 5
    settle(device)
    with watching(device) as watch:
        for size in sizes:
            leave(torch.empty(size, dtype=torch.uint8, device=device))
        # Twice one storage, and a tensor that somebody alive keeps: neither counts again.
        whole = torch.empty(BLOCK * 8, dtype=torch.uint8, device=device)
        leave(whole[:100])
        leave(whole[100:])
        del whole
        kept = torch.empty(BLOCK * 16, dtype=torch.uint8, device=device)
        leave(kept)
        before = allocated(device)
        settle(device)
        after = allocated(device)
    held = watch.report().retained_bytes
    assert held == sum(sizes) + BLOCK * 8, held
    assert kept.numel() == BLOCK * 16
    if before is not None:
        assert before - after == held, (before, after, held)
    return {"retained bytes": held, "bytes torch's allocator got back": before and before - after}


def odd_sizes(device):
    """Bytes of storages, not of blocks: the allocator rounds up, a report does not."""
    sizes = [1, 100, 513, 70_001]
    settle(device)
    with watching(device) as watch:
        for size in sizes:
            leave(torch.empty(size, dtype=torch.uint8, device=device))
        before = allocated(device)
        settle(device)
        after = allocated(device)
    assert watch.report().retained_bytes == sum(sizes)
    if before is not None:
        assert before - after == sum(-(-size // BLOCK) * BLOCK for size in sizes)
    return {"retained bytes": sum(sizes), "bytes of their blocks": before and before - after}


def capture(device):
    """A collection in the middle of a stream capture: the graph is whole and replays."""
    if device == "cpu":
        return {"modes": 0}
    modes = ("global", "thread_local", "relaxed")
    source = torch.arange(1000.0, device=device)
    for mode in modes:
        leave(torch.empty(BLOCK, device=device))
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with watching(device) as watch:
            with torch.cuda.graph(graph, capture_error_mode=mode):
                doubled = source * 2
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
    """Tensors of several streams, some still in use there when their cycle dies."""
    if device == "cpu":
        return {"streams": 0}
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
                leave(tensor)
            del tensor
        gc.collect()
        torch.cuda.synchronize()
    assert watch.report().retained_bytes == 4 * 4_000_000
    assert float(result) == 1_000_003
    return {"streams": len(several)}


class Collecting(torch.autograd.Function):
    """Leaves a cycle behind and collects, wherever autograd runs it."""

    threads = []

    @staticmethod
    def forward(context, tensor):
        return tensor.clone()

    @staticmethod
    def backward(context, gradient):
        Collecting.threads.append(threading.current_thread() is threading.main_thread())
        leave(torch.empty(BLOCK, dtype=torch.uint8, device=gradient.device))
        gc.collect()
        return gradient


def autograd_threads(device):
    """Collections on the threads that autograd computes on."""
    tensor = torch.ones(10, device=device, requires_grad=True)
    with watching(device) as watch:
        for _ in range(3):
            Collecting.apply(tensor).sum().backward()
    assert watch.report().retained_bytes == 3 * BLOCK
    assert tensor.grad.tolist() == [3.0] * 10
    # On CUDA a thread of autograd's own, on the CPU the caller's.
    assert all(Collecting.threads) == (device == "cpu")
    return {"collections on autograd's threads": len(Collecting.threads)}


def compiled(device):
    """A compiled model computes the same, and as often compiled, with a watch and without."""
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
            leave(torch.empty(BLOCK, dtype=torch.uint8, device=device))
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
    """Memory runs out while cycles hold some of it: the error is the program's, and it goes on."""
    error = torch.cuda.OutOfMemoryError if device == "cuda" else RuntimeError
    with watching(device) as watch:
        for _ in range(10):
            leave(torch.empty(1 << 20, dtype=torch.uint8, device=device))
        try:
            torch.empty(1 << 50, dtype=torch.uint8, device=device)
        except error as raised:
            gc.collect()
            words = str(raised).splitlines()[0]
        else:
            raise AssertionError("there is a petabyte")
        assert watch.report().retained_bytes == 10 << 20
        # Nothing is pending that was not before.
        assert float(torch.ones(10, device=device).sum()) == 10
        settle(device)
    return {"error": words[:60]}


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
    """While torch records its memory, an owner says which line allocated it.

    The address had another tenant before and has one again when it is looked up.
    """

    def block():
        return torch.empty(BLOCK, dtype=torch.uint8, device=device)

    if device == "cuda":
        torch.cuda.memory._record_memory_history(max_entries=10_000)
    with watching(device) as watch:
        block()
        leave(torch.empty(BLOCK, dtype=torch.uint8, device=device))
        frame = sys._getframe()
        line = frame.f_lineno - 2
        modules = len(sys.modules)
        begin = time.perf_counter()
        settle(device)
        later = block()
        report = watch.report()
        seconds = time.perf_counter() - begin
    del later
    (finding,) = report.findings
    (owner,) = finding.owners
    # Nobody records memory of the CPU.
    assert owner.allocated_at == (
        f"{frame.f_code.co_filename}:{line}" if device == "cuda" else None
    ), (owner.allocated_at, report.stats.skipped)
    return {
        "collection and look-up, ms": round(1000 * seconds, 3),
        "modules that torch imported for it": len(sys.modules) - modules,
    }


def overhead(device):
    """What a step of training costs with a watch and without, taken alternately."""
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
        "of": f"{rounds} rounds of {steps} steps",
    }


def against_torch(device):
    """torch's own detector on the same garbage in the same run: the same tensors, and the time."""
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
        gc.disable()
        for _ in range(100):
            leave(torch.empty(BLOCK, dtype=torch.uint8, device=device))
        begin = time.perf_counter()
        gc.collect()
        # torch's detector works one event of the profiler later.
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
            held = watch.report().retained_bytes
        remove = observe_garbage(observer)
        theirs = statistics.median(collection() for _ in range(2))
        remove()
        # Both at once: each finds all of it.
        found.clear()
        both = watching(device)
        remove = observe_garbage(observer)
        collection()
        remove()
        gc.collect()
        both.stop()
    assert held == 5 * 100 * BLOCK
    assert found == [100 * BLOCK], found
    assert both.report().retained_bytes == 100 * BLOCK
    return {
        "collection without either, ms": round(1000 * plain, 3),
        "we add, ms": round(1000 * (ours - plain), 3),
        "torch adds, ms": round(1000 * (theirs - plain), 3),
    }


CHECKS = {
    check.__name__: check
    for check in (
        *(exact_bytes, odd_sizes, capture, streams, autograd_threads, compiled),
        *(out_of_memory, memory_history, overhead, against_torch),
    )
}

if __name__ == "__main__":
    import logging

    logging.getLogger("cyclewatch").setLevel(logging.CRITICAL)
    print(json.dumps(CHECKS[sys.argv[1]](sys.argv[2])))
