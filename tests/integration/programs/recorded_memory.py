# SPDX-License-Identifier: Apache-2.0
"""Creates cycles that own memory from a simulated CUDA allocator that records a memory history.

The simulation implements `torch._C._cuda_memoryStats`, `torch._C._cuda_isHistoryEnabled` and
`torch.cuda.memory._snapshot`. Usage: recorded_memory.py SCENARIO; prints the findings as JSON.
"""

import gc
import json
import logging
import sys
import time
import types

import cyclewatch

MIB = 1 << 20


class Allocator:
    """Reuses the most recently freed address, as a caching allocator does."""

    def __init__(self):
        self.recording = True
        self.newest = True  # False: the snapshot format of torch 2.6
        self.gather = calls
        self.name_calls = list  # gathered stacks -> frames of each
        self.cached = []
        self.fresh = 0x7F0000000000
        self.trace = []
        self.calls = {"history": 0, "snapshot": 0, "in a collection": 0}
        self.collecting = False
        self.before_snapshot = lambda: None
        gc.callbacks.append(self.on_gc)

    def on_gc(self, phase, _info):
        self.collecting = phase == "start"

    def record(self, action, address, size, frames):
        if not self.recording:
            return
        entry = {
            "action": action,
            "addr": address,
            "size": size,
            "stream": 0,
            "time_us": time.time_ns() // 1000,
            "frames": frames,
        }
        if self.newest:
            entry |= {"compile_context": "N/A", "user_metadata": "", "pool_id": (0, 0)}
        self.trace.append(entry)

    def allocate(self, size):
        address = self.cached.pop() if self.cached else self.fresh
        if address == self.fresh:
            self.fresh += 64 * MIB
            self.record("segment_alloc", address, 64 * MIB, self.gather())
        self.record("alloc", address, size, self.gather())
        return address

    def free(self, address, size):
        self.record("free_requested", address, size, self.gather())
        self.record("free_completed", address, size, self.gather())
        self.cached.append(address)

    def is_history_enabled(self):
        self.calls["history"] += 1
        self.calls["in a collection"] += self.collecting
        return self.recording

    def snapshot(self):
        self.calls["snapshot"] += 1
        self.calls["in a collection"] += self.collecting
        self.before_snapshot()
        named = self.name_calls([entry["frames"] for entry in self.trace])
        trace = [{**entry, "frames": frames} for entry, frames in zip(self.trace, named)]
        self.record("snapshot", 0, 0, [])
        answer = {"segments": [], "device_traces": [trace, []]}
        if self.newest:
            answer |= {"allocator_settings": {}, "external_annotations": []}
        return answer


def calls():
    """The call stack as symbolized by torch: C++ and Python frames, innermost first."""
    frames = [
        {"name": "malloc", "filename": "/pytorch/c10/cuda/CUDACachingAllocator.cpp", "line": 7},
        {"name": "CUDAGeneratorImpl", "filename": "??", "line": 0},
    ]
    frame = sys._getframe(2)  # the allocator's caller
    while frame is not None:
        code = frame.f_code
        frames.append({"name": code.co_name, "filename": code.co_filename, "line": frame.f_lineno})
        frame = frame.f_back
    return frames


def stand_in_for_torch(allocator):
    """Install simulated torch modules whose state indicates that a device has been used."""
    modules = {
        name: types.ModuleType(name)
        for name in ("torch", "torch._C", "torch.cuda", "torch.cuda.memory")
    }
    statistics = {"allocated_bytes": {"all": {"current": 0}}}
    # A built-in method, as in torch.
    modules["torch._C"]._cuda_memoryStats = {0: statistics}.__getitem__
    modules["torch._C"]._cuda_isHistoryEnabled = allocator.is_history_enabled
    modules["torch.cuda.memory"]._snapshot = allocator.snapshot
    sys.modules.update(modules)


allocator = Allocator()

# Buffers are created by library code and free their memory when they are destroyed.
LIBRARY = """
class Buffer:
    def __init__(self, mib):
        self.size = mib << 20
        self.address = allocator.allocate(self.size)

    def __del__(self):
        allocator.free(self.address, self.size)
"""
library = {"allocator": allocator, "__name__": "library"}
exec(compile(LIBRARY, "/x/site-packages/library.py", "exec"), library)
Buffer = library["Buffer"]


class Model:
    pass


class Trainer:
    pass


def read(buffer):
    return {"device": "cuda:0", "nbytes": buffer.size, "data_ptr": buffer.address}


def leak(mib=4, kind=Model):
    holder = kind()
    holder.self = holder
    holder.weight = Buffer(mib)


def leak_two_alike():
    holder = Model()
    holder.self = holder
    holder.weights = [
        Buffer(4),
        Buffer(4),
    ]


def off():
    allocator.recording = False
    leak()
    gc.collect()


def once():
    leak()
    gc.collect()


def as_torch_2_6():
    allocator.newest = False
    once()


def named_by_torch():
    """torch itself gathers and symbolizes the call stack; its CPU builds can do this too."""
    for name in [name for name in sys.modules if name.split(".")[0] == "torch"]:
        del sys.modules[name]
    import torch.cuda.memory
    from torch._C._profiler import gather_traceback, symbolize_tracebacks

    def without_the_stand_in(frames):
        library = [frame["filename"] for frame in frames].index("/x/site-packages/library.py")
        own = [frame for frame in frames[:library] if frame["filename"] != __file__]
        return own + frames[library:]

    # Naming frames would import torch's compiler, which takes seconds.
    torch._inductor = types.ModuleType("torch._inductor")
    allocator.gather = lambda: gather_traceback(python=True, script=True, cpp=True)
    allocator.name_calls = lambda gathered: [
        without_the_stand_in(frames) for frames in symbolize_tracebacks(gathered)
    ]
    torch._C._cuda_memoryStats = {0: {"allocated_bytes": {"all": {"current": 0}}}}.__getitem__
    torch._C._cuda_isHistoryEnabled = allocator.is_history_enabled
    torch.cuda.memory._snapshot = allocator.snapshot
    once()


def repeated():
    for _ in range(5):
        leak()
        gc.collect()


def two_kinds_at_once():
    leak()
    leak(kind=Trainer)
    gc.collect()


def alike():
    leak_two_alike()
    gc.collect()


def reused():
    """Other blocks use the leaked block's address before the leak and during the lookup."""
    Buffer(4)
    leak()
    allocator.before_snapshot = lambda: kept.append(Buffer(4))
    gc.collect()


def begun_late():
    allocator.recording = False
    leak()
    allocator.recording = True
    gc.collect()


def raising():
    allocator.before_snapshot = lambda: 1 // 0
    two_kinds_one_after_the_other()


def two_kinds_one_after_the_other():
    leak()
    gc.collect()
    watch.report()  # processes the finding
    leak(kind=Trainer)
    gc.collect()


def over_budget():
    """The first snapshot takes longer than the watch's budget allows."""
    allocator.before_snapshot = lambda: time.sleep(0.3)
    two_kinds_one_after_the_other()


def automatic_collections():
    """The objects that torch creates for a snapshot must not trigger a collection."""

    def collections():
        return sum(generation["collections"] for generation in gc.get_stats())

    def make_many():
        seen = collections()
        lists = [[] for _ in range(10_000)]
        kept.append(f"{collections() - seen} collections amid {len(lists)} lists")

    allocator.before_snapshot = make_many
    leak()
    gc.enable()
    gc.collect()
    watch.report()
    kept.append("enabled" if gc.isenabled() else "disabled")


def without_allocator():
    """torch is imported but has not used a device, so its allocator does not exist."""
    sys.modules["torch._C"]._cuda_memoryStats = {}.__getitem__
    once()


kept = []
logged = []
reported = []


def on_report(report):
    reported.extend([owner.allocated_at for f in report.findings for owner in f.owners])


def main(scenario):
    global watch
    cyclewatch.register_owner(Buffer, read)
    stand_in_for_torch(allocator)
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    logging.getLogger("cyclewatch").addHandler(handler)
    gc.disable()
    gc.collect()
    budget = 1e-9 if scenario == "over_budget" else 0.01
    with cyclewatch.observe_tensor_cycles(on_report, devices="cuda", budget=budget) as watch:
        globals()[scenario]()
    report = watch.report()
    answer = {
        "owners": sorted(
            [f.cycle[0].holder.rpartition(".")[2], owner.count, owner.allocated_at]
            for f in report.findings
            for owner in f.owners
        ),
        "signatures": sorted(f.signature for f in report.findings),
        "occurrences": [f.occurrences for f in report.findings],
        "stacks": [owner.allocation_stack for f in report.findings for owner in f.owners],
        "reported": reported,
        "calls": allocator.calls,
        "skipped": dict(report.stats.skipped),
        "logged": logged,
        "kept": [thing for thing in kept if isinstance(thing, str)],
        "card": report.findings[0].to_text() if report.findings else "",
        "json": report.to_json(),
        "html": report.to_html(),
        "addresses": [format(event["addr"]) for event in allocator.trace if event["addr"]],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
