# SPDX-License-Identifier: Apache-2.0
"""The account of the memory in use on the CPU, and the choice of the verdict."""

import contextlib
import ctypes
import functools
import gc
import html
import inspect
import json
import os
import re
import signal
import sys
import tracemalloc
import types
import weakref

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch.account import measurement, memory_account
from cyclewatch.account.device_use import TorchUse, torch_use
from cyclewatch.account.gpu_processes import other_processes, process_name
from cyclewatch.account.memory_lines import DEAD, DeviceUse

pytestmark = pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")

MIB = 1 << 20


def leak(size):
    buffer = Buffer(size)
    buffer.me = buffer


def test_lines_add_up_to_the_resident_memory():
    kept = Buffer(1000)
    leak(500)
    account = cyclewatch.memory("cpu")
    assert kept.facts
    sizes = dict(account.lines)
    assert sum(sizes.values()) == account.in_use > 5 * MIB
    assert sizes["reachable: other tensors"] >= 1000
    assert sizes["dead in 1 cycle (a collection frees them)"] == 500
    assert account.source == "resident memory"
    # Other tests of this process may have left cycles that are never freed.
    found = [each for each in account.findings if each.collected != "uncollectable"]
    assert [each.cut.label for each in found] == [".me"]
    assert any(each.nbytes == 1000 for each in account.holders)


def test_tensors_that_are_not_resident():
    kept = Buffer(1 << 40)
    account = cyclewatch.memory("cpu")
    assert kept.facts
    assert (
        "; not all memory of 1.0 TiB other reachable tensors is resident: the " in account.verdict
    )
    assert account.lines[-1][0] == "tensors that are not resident"
    assert account.lines[-1][1] < 0
    assert sum(size for _, size in account.lines) == account.in_use


def test_dead_tensors_that_share_a_part_of_their_memory_are_counted_once():
    torch = pytest.importorskip("torch")
    buffer = bytearray(1 << 20)
    for start in (0, 8, 16):
        tensor = torch.frombuffer(memoryview(buffer)[start:], dtype=torch.int8)
        tensor.me = tensor
    del buffer, tensor
    account = cyclewatch.memory("cpu")
    dead = {key: size for key, _, size in account._entries}[DEAD]
    assert dead == 1 << 20


def test_the_card_and_its_forms():
    kept = Buffer(3000, shape=(10, 300), dtype="float32")
    leak(500)
    account = cyclewatch.memory("cpu")
    card = str(account)
    assert kept.facts
    assert card.startswith(account.verdict + "\n\nBytes:\n")
    assert "in use (resident memory)" in card
    assert "held by" in card
    assert "#1  500 B in 1 cycle" in card
    assert html.escape(card) in account._repr_html_()
    data = json.loads(account.to_json())
    assert data["in_use"] == sum(line["bytes"] for line in data["lines"])
    assert data["findings"][0]["signature"] == account.findings[0].signature
    assert data["holders"][0].keys() == {"type", "category", "bytes", "count", "held_by"}
    assert repr(account).startswith("<MemoryAccount of cpu: ")
    assert data["peak"] == account.peak >= account.in_use
    assert "\nPeak of resident memory so far: " in card
    assert f"({account.peak:,} bytes)\n" in card


def test_the_card_says_where_tensors_are_allocated_or_how_to_record_it():
    kept = [Buffer(1 << 40)]
    unknown = str(cyclewatch.memory("cpu"))
    assert unknown.endswith(
        "\n  To see where they are allocated, run the program with python -X tracemalloc."
    )
    tracemalloc.start()
    try:
        kept.append(Buffer(1 << 41))
        known = cyclewatch.memory("cpu")
    finally:
        tracemalloc.stop()
    line = inspect.currentframe().f_lineno - 4
    assert f"\n             allocated at {__file__}:{line}\n" in str(known)
    assert "tracemalloc" not in str(known)
    assert f", allocated at {__file__}:{line}, held by " in str(known.holders[0])


def test_nothing_is_collected_or_kept():
    leak(500)
    cyclewatch.memory("cpu")
    assert gc.collect() > 0
    cyclewatch.memory("cpu")
    assert gc.collect() == 0


def test_a_dead_owner_that_the_collector_does_not_list():
    def read(array):
        size = 3 * MIB if len(array) == 123 else 0
        return {"device": "cpu", "nbytes": size, "data_ptr": id(array)}

    cyclewatch.register_owner(bytearray, read)
    cycle = [bytearray(123)]
    cycle.append(cycle)
    del cycle
    try:
        account = cyclewatch.memory("cpu")
    finally:
        cyclewatch.unregister_owner(bytearray)
    assert dict(account.lines)["dead in 1 cycle (a collection frees them)"] == 3 * MIB


@pytest.mark.parametrize(
    ("device", "error"),
    [
        (7, TypeError),
        (b"cpu", TypeError),
        ("mps", ValueError),
        ("cuda:x", ValueError),
        ("cpu:1", ValueError),
        ("cuda:3", ValueError),  # not used by this program
    ],
)
def test_other_devices_are_refused(device, error):
    with pytest.raises(error):
        cyclewatch.memory(device)


class Measured:
    """Simulates measurement.Memory of cuda:0, with sizes in MiB."""

    def __init__(self, *, dead=0, frozen=0, never_freed=0, **categories):
        self.device, self.limit, self.source = "cuda:0", None, "torch's allocator"
        self.dead, self.cycles = dead * MIB, 1
        self.frozen, self.frozen_cycles = frozen * MIB, 1
        self.never_freed, self.never_freed_cycles = never_freed * MIB, 1
        self.in_use = self.usual_rest = self.free_heap = self.data_blocks = 0
        self.unread_graphs, self.graph_holders = "", []
        states = {"not yet": dead, "never": frozen, "uncollectable": never_freed}
        self.findings = [
            types.SimpleNamespace(remedy="cut Engine.callbacks (train.py:12)", collected=state)
            for state, size in states.items()
            if size
        ]
        self.owners = [
            types.SimpleNamespace(
                type="torch.Tensor",
                category=name.replace("_", " "),
                nbytes=size * MIB,
                absent_bytes=0,
                held_by=[],
            )
            for name, size in categories.items()
        ]


def verdict(measured, *, reserved=100, allocated=100, fragmented=0, in_use=None):
    cached = reserved - allocated - fragmented
    parts = (reserved, allocated, 0, fragmented, cached)
    use = DeviceUse(None, TorchUse(*(size * MIB for size in parts)))
    if in_use is not None:
        use.in_use = in_use * MIB
    return memory_account.MemoryAccount(measured, use).verdict


def test_the_verdict_names_what_can_be_avoided_first():
    assert verdict(Measured(dead=6, parameter=94)) == (
        "100 MiB in use on cuda:0, of which 6.0 MiB dead in 1 cycle (a collection frees them): "
        "cut Engine.callbacks (train.py:12); 94.0 MiB are parameters: this is the model "
        "itself"
    )
    assert "94.0 MiB parameters: this is the model" in verdict(Measured(dead=4, parameter=94))
    assert "frozen cycle" in verdict(Measured(frozen=9, parameter=91))
    fragmented = verdict(Measured(parameter=60), allocated=60, fragmented=40)
    assert "40.0 MiB free in partly used segments (fragmented): set PYTORCH_CUDA" in fragmented


@pytest.mark.parametrize(
    ("categories", "words"),
    [
        ({"optimizer_state": 80, "parameter": 20}, "optimizer state: use an optimizer with a"),
        ({"saved_for_backward": 80}, "saved for backward: use torch.no_grad() if you do not"),
        ({"held by C++": 80}, "80.0 MiB tensors held by C++ only: no object that could"),
        ({"activation": 80}, "activations: use torch.no_grad() if you do not train"),
        ({"buffer": 80}, "80.0 MiB buffers of modules: `del module.name` frees a buffer that its"),
        ({"gradient": 80}, "gradients: optimizer.zero_grad() frees gradients"),
        (
            {"parameter": 20},
            "80.0 MiB remainder of torch's allocations (C++ code, rounding of sizes): record",
        ),
    ],
)
def test_the_verdict_names_the_largest_line(categories, words):
    assert words in verdict(Measured(**categories))


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("category", ["saved_for_backward", "activation"])
def test_checkpointing_is_suggested_only_if_it_is_not_used(category, reentrant):
    torch = pytest.importorskip("torch")
    gc.collect()  # the graph of another test
    measured = Measured(**{category: 80})
    assert "torch.utils.checkpoint or smaller batches if you do" in verdict(measured)
    leaf = torch.ones(10, requires_grad=True)
    out = torch.utils.checkpoint.checkpoint(torch.tanh, leaf, use_reentrant=reentrant)
    assert "if you do not train, smaller batches if you do" in verdict(measured)
    del out, leaf


def test_the_verdict_names_a_line_once():
    """If nothing is reachable, no second line deserves a sentence."""
    assert verdict(Measured()).count("100 MiB") == 2  # in use, and its only line


def test_the_verdict_on_memory_without_tensors():
    cached = verdict(Measured(parameter=10), allocated=10)
    assert "90.0 MiB free in whole segments (empty_cache() returns them): nothing is lost" in cached
    other = verdict(Measured(parameter=10), reserved=10, allocated=10, in_use=500)
    assert "490 MiB used by CUDA contexts, other libraries and other processes: nvidia-smi" in other


def growing(size):
    return types.SimpleNamespace(
        nbytes=size * MIB,
        rate=4.0 * MIB,
        unit="step",
        held_by="module global __main__.losses -> losses[0]",
        remedy="store `loss.item()`",
    )


def described(*, remainder, dead=0, held=0):
    """The account of a process that uses torch; sizes in MiB."""
    measured = Measured(dead=dead, other=held)
    measured.device, measured.torch, measured.peak = "cpu", None, None
    measured.in_use, measured.rest = (remainder + dead + held) * MIB, remainder * MIB
    measured.usual_rest = 320 * MIB
    for each in measured.findings:
        each.attributed_bytes, each.unowned_bytes = dead * MIB, None
        each.headline = f"Engine keeps {dead} MiB: cut Engine.callbacks (train.py:12)"
        each.to_text = lambda rank: f"#{rank}  the card\n"
    for each in measured.owners:
        each.shape, each.dtype, each.device, each.count = None, "float32", "cpu", 1
        each.allocated_at = None
    return memory_account.MemoryAccount(measured)


def test_a_usual_remainder_is_not_the_verdict():
    assert (
        ", of which 20.0 MiB other reachable tensors" in described(remainder=220, held=20).verdict
    )
    alone = described(remainder=220).verdict
    assert "of which 220 MiB remainder" in alone
    assert ": up to 320 MiB is normal for the modules that are loaded; if it is" in alone
    assert "of which 900 MiB remainder" in described(remainder=900, held=100).verdict
    # Too small to explain anything.
    assert "of which 300 MiB remainder" in described(remainder=300, held=10).verdict


def test_the_usual_remainder_depends_on_the_loaded_modules():
    status = b"VmHWM:\t  900 kB\nRssFile:\t  2048 kB\n"
    small = measurement.usual_rest_from(status, 0)
    assert measurement.usual_rest_from(status, 1_000_000) - small > 100 * MIB
    assert small - measurement.usual_rest_from(b"", 0) == 2 * MIB
    assert measurement.peak_from(b"") is None
    assert measurement.Memory("cpu", None).usual_rest > small


def test_small_findings_follow_the_largest_tensors_in_one_line():
    text = str(described(remainder=300, dead=1, held=1024))
    holders, _, small = text.partition("Dead, but less than 5 % of the memory of tensors:\n")
    assert "Largest reachable tensors:" in holders
    assert "#1" not in text
    assert small == "  Engine keeps 1 MiB: cut Engine.callbacks (train.py:12)"
    large = str(described(remainder=300, dead=60, held=1024))
    assert large.index("#1  the card") < large.index("Largest reachable tensors:")
    assert "less than 5 %" not in large


def test_the_largest_of_several_cuts_comes_with_its_size():
    def finding(cut, size):
        return types.SimpleNamespace(
            remedy=f"cut {cut}",
            collected="not yet",
            attributed_bytes=size * MIB,
            unowned_bytes=None,
        )

    measured = Measured(dead=90)
    measured.findings = [finding("A.me", 30), finding("B.me", 60)]
    assert ": cut B.me, which frees 60.0 MiB; the other cuts are listed below" in verdict(measured)
    measured.findings = [finding("A.me", 1), finding("B.me", 89)]
    assert verdict(measured).endswith(": cut B.me")


def test_a_growing_group_is_named_first():
    def first_line(measured, group):
        account = memory_account.MemoryAccount(measured, DeviceUse(None, use), [group])
        return account.verdict

    use = TorchUse(*(size * MIB for size in (100, 100, 0, 0, 0)))
    assert first_line(Measured(other=94, dead=6), growing(40)) == (
        "100 MiB in use on cuda:0, of which 40.0 MiB in a group that grows by 4.0 MiB per step, "
        "held by module global __main__.losses -> losses[0]: store `loss.item()`"
    )
    assert "6.0 MiB dead" in first_line(Measured(other=94, dead=6), growing(5))
    assert "97.0 MiB parameters" in first_line(Measured(parameter=97), growing(3))


def test_the_growing_groups_are_those_of_the_latest_watch():
    kept = []
    with cyclewatch.watch(devices="cpu", budget=1, census_every=1) as watch:
        for step in range(6):
            kept.append(Buffer(1 << 30))
            watch.step(step)
        verdict = cyclewatch.memory("cpu").verdict
        assert "6.0 GiB in a group that grows by 1.0 GiB per step, held by " in verdict
        assert "local kept -> kept[0]" in verdict
    assert "grows" not in cyclewatch.memory("cpu").verdict


def test_a_group_that_grew_and_was_released_is_not_named():
    kept, others = [], [Buffer(1 << 30) for _ in range(3)]
    with cyclewatch.watch(devices="cpu", budget=1, census_every=1) as watch:
        for step in range(6):
            kept.append(Buffer(1 << 30))
            watch.step(step)
        kept.clear()
        verdict = cyclewatch.memory("cpu").verdict
        assert "grows" not in verdict and "local others -> others[0]" in verdict
    assert others


def test_what_may_be_a_leak_is_named_after_the_model():
    leak = "; 35.0 MiB are other reachable tensors"
    assert leak in verdict(Measured(parameter=65, other=35))
    assert "other reachable" not in verdict(Measured(parameter=70, other=30))
    assert "gradients" not in verdict(Measured(parameter=50, gradient=50))


def test_tensors_of_one_container_are_added_up():
    kept = {}
    for number in range(70):
        kept[f"key {number}"] = Buffer((1 << 30) + number)
    single = Buffer(2 << 30)
    verdict = cyclewatch.memory("cpu").verdict
    assert single.facts
    assert re.search(
        r": the largest part, 70\.0 GiB, is held by .* local kept -> kept\[.*; remove the items of "
        "`kept` that are no longer needed; if all are needed, store less in each$",
        verdict,
    )


def test_a_gradient_of_a_tensor_that_no_optimizer_knows():
    torch = pytest.importorskip("torch")
    inputs = torch.empty(1).expand(200 << 20).requires_grad_()
    inputs.grad = torch.ones(200 << 20)
    layer = torch.nn.Parameter(torch.ones(210 << 20))
    layer.grad = torch.ones(210 << 20)
    assert "gradients: optimizer.zero_grad() frees" in cyclewatch.memory("cpu").verdict
    layer = None
    verdict = cyclewatch.memory("cpu").verdict
    assert inputs.requires_grad and layer is None
    assert " local inputs -> inputs.grad; call `zero_grad()` of the optimizer" in verdict
    assert verdict.endswith("or set `inputs.grad` to None")


FREED = """
import ctypes
import cyclewatch

def free():
    lines = dict(cyclewatch.memory("cpu").lines)
    return lines.get("free, kept by malloc() for later allocations", 0)

cyclewatch.memory("cpu")
kept = [bytearray(60_000) for _ in range(2_000)]
before = free()
last = kept.pop()  # the heap cannot shrink
kept.clear()
after = free()
ctypes.CDLL(None).malloc_trim(0)
print(after - before, after - free())
"""


def test_memory_that_malloc_keeps_has_a_line(main_interpreter):
    grown, returned = map(int, main_interpreter.run(FREED).stdout.split())
    assert 115_000_000 < grown < 121_000_000
    assert returned > 110_000_000


def test_data_of_the_program_is_not_normal(monkeypatch):
    monkeypatch.setattr(measurement, "_MOST_BLOCKS_OF_MODULES", 1000)
    memory = measurement.Memory("cpu", None)
    assert memory.usual_rest < measurement.usual_rest_from(b"", 0) + memory.in_use
    verdict = memory_account.MemoryAccount(memory).verdict
    assert "python -X tracemalloc shows which lines allocate them" in verdict


def test_lines_never_exceed_the_memory_in_use():
    """The sources are read one after the other, so they may contradict each other."""
    use = DeviceUse(None, TorchUse(100 * MIB, 90 * MIB, 0, 10 * MIB, 0))
    account = memory_account.MemoryAccount(Measured(parameter=500), use)
    assert account.lines == [("reachable: parameters", 100 * MIB)]


class FakeNvml(types.ModuleType):
    """NVML of a device that the given processes use, with their MiB."""

    def __init__(self, computing, drawing=()):
        super().__init__("pynvml")
        self.open = 0
        self.lists = [
            [
                types.SimpleNamespace(pid=pid, usedGpuMemory=size and size * MIB)
                for pid, size in each
            ]
            for each in (computing, drawing)
        ]

    def nvmlInit(self):  # noqa: N802 (named by NVML)
        self.open += 1

    def nvmlShutdown(self):  # noqa: N802 (named by NVML)
        self.open -= 1

    def nvmlDeviceGetHandleByUUID(self, uuid):  # noqa: N802 (named by NVML)
        assert uuid == "GPU-1234"
        return self.lists

    def nvmlDeviceGetComputeRunningProcesses(self, device):  # noqa: N802 (named by NVML)
        return device[0]

    def nvmlDeviceGetGraphicsRunningProcesses(self, device):  # noqa: N802 (named by NVML)
        return device[1]


def test_other_processes_have_a_line_of_their_own_if_nvml_lists_them(monkeypatch):
    own, other = os.getpid(), os.getppid()
    nvml = FakeNvml([(own, 150), (other, 300)], [(1 << 30, 20), (other, 300)])
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    processes = other_processes("1234")
    assert (processes, nvml.open) == ([(other, 300 * MIB), (1 << 30, 20 * MIB)], 0)
    use = DeviceUse(None, TorchUse(*(size * MIB for size in (100, 100, 0, 0, 0))), processes)
    use.parts = types.SimpleNamespace(pool_used=0, pool_cache=0, graphs=0)
    use.in_use = 480 * MIB
    account = memory_account.MemoryAccount(Measured(parameter=100), use)
    assert account.lines == [
        ("reachable: parameters", 100 * MIB),
        (
            f"used by 2 other processes: {process_name(other)} 300 MiB, {1 << 30} 20.0 MiB",
            320 * MIB,
        ),
        ("used by the CUDA context of this process and other libraries", 60 * MIB),
    ]
    assert account.verdict.startswith("480 MiB in use on cuda:0, of which 320 MiB used by 2 other")
    assert "select another device with CUDA_VISIBLE_DEVICES" in account.verdict
    assert re.fullmatch(rf"{other} \(.+\)", process_name(other))


@pytest.mark.parametrize(
    "nvml",
    [
        None,  # not imported
        types.ModuleType("pynvml"),  # another module of this name
        FakeNvml([(1 << 30, 300)]),  # a container: this process has another number
        FakeNvml([(os.getpid(), 150), (1 << 30, None)]),  # the driver does not say
    ],
)
def test_other_processes_are_unknown(monkeypatch, nvml):
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    if nvml is not None:
        monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert other_processes("1234") is None


def test_counters_that_contradict_each_other_are_bounded(monkeypatch):
    counters = {"allocated": 80, "active": 200, "inactive_split": 90, "reserved": 100}
    torch = types.ModuleType("torch")
    torch._C = types.SimpleNamespace(
        _cuda_memoryStats=lambda _: {
            f"{name}_bytes": {"all": {"current": size}} for name, size in counters.items()
        }
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.delitem(sys.modules, "torch._C", raising=False)
    assert vars(torch_use(0)) == vars(TorchUse(100, 80, 20, 0, 0))
    torch._C._cuda_memoryStats = lambda _: {
        f"{name}_bytes": {"all": {"current": size, "peak": 2 * size}}
        for name, size in counters.items()
    }
    use = torch_use(0)
    assert use.peak == 160
    account = memory_account.MemoryAccount(Measured(), DeviceUse(None, use))
    assert account.peak == 160
    assert "\nPeak of torch's allocations so far: 160 B (160 bytes)" in str(account)
    use.peak = None
    counters["active"] = 80
    assert vars(torch_use(0, segments=True)) == {**vars(TorchUse(100, 80, 0, 20, 0)), "peak": 160}
    torch._C._cuda_memoryStats = None
    assert torch_use(0) is None


def test_fragmentation_explains_an_out_of_memory_error():
    from cyclewatch.oom import wording

    memory = Measured()
    memory.reachable, memory.rest, memory.requested = 60 * MIB, 0, 30 * MIB
    memory.in_use = 60 * MIB
    memory.torch = TorchUse(100 * MIB, 60 * MIB, 0, 40 * MIB, 0)
    assert wording.oom_headline(memory).endswith(
        "; 40.0 MiB more are reserved but free, in pieces that did not fit (fragmentation: set "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or allocate the largest tensors first)"
    )
    memory.torch.largest_free = 25 * MIB
    assert (
        "; 40.0 MiB more are reserved but free, but the largest block, 25.0 MiB, is smaller than "
        "requested (fragmentation: set" in wording.oom_headline(memory)
    )
    assert "(fragmented; largest free block 25.0 MiB)" in wording.oom_report(memory)
    memory.torch.largest_free = None
    memory.requested = 50 * MIB
    assert "fragmentation" not in wording.oom_headline(memory)
    assert "40.0 MiB" not in wording.oom_headline(memory)
    assert "40.0 MiB  41,943,040  free in partly used segments (fragmented)" in wording.oom_report(
        memory
    )


def test_measuring_uses_the_same_numbers_as_an_out_of_memory_report():
    leak(500)
    memory = measurement.Memory("cpu", None)
    assert (memory.dead, memory.cycles, memory.torch) == (500, 1, None)


class GivenPath:
    """A path with this text."""

    def __init__(self, kind, text, remedy=None, labels=(), cut_frees=True):
        self.root = types.SimpleNamespace(kind=kind)
        self.text = text
        self.remedy = remedy
        self.references = [types.SimpleNamespace(label=label, holder="") for label in labels]
        self.cut_frees = cut_frees

    def __str__(self):
        return f"{self.root.kind} {self.text}"


def test_a_global_that_holds_a_graph_is_named_before_checkpointing():
    def of(path, **sizes):
        measured = Measured(parameter=20, **sizes)
        for owner in measured.owners:
            if owner.category != "parameter":
                owner.held_by = [path]
                owner.count = 10
        return verdict(measured)

    kept = "__main__.kept -> kept[0]"
    graph = of(GivenPath("module global", f"{kept}.grad_fn"), saved_for_backward=80)
    assert ", is held by " in graph and "(one of 10 such paths)" in graph
    assert "store `kept[0].detach()` instead of `kept[0]`" in graph
    assert graph.index(".detach()") < graph.index("torch.utils.checkpoint")
    local = of(
        GivenPath("local variable", "loss -> loss.grad_fn", labels=["local:loss", "grad_fn"]),
        saved_for_backward=80,
    )
    assert "held by local variable loss -> loss.grad_fn" in local
    assert ".detach()" not in local  # the running step needs its graph
    stored = ["local:losses", "[0]", "grad_fn"]
    listed = of(
        GivenPath("local variable", "losses -> losses[0].grad_fn", labels=stored),
        saved_for_backward=80,
    )
    assert "store `losses[0].detach()` instead of `losses[0]`" in listed
    hidden = of(GivenPath("C code", "of torch"), saved_for_backward=80)
    assert "cyclewatch.never_freed(settle=0) finds cycles of autograd nodes; use torch" in hidden
    # The list holds the large tensors themselves.
    tensors = of(GivenPath("module global", kept, "remove `kept[0]`"), activation=80)
    assert "remove `kept[0]`; use torch.no_grad()" in tensors and ".detach()" not in tensors


def test_both_holders_of_a_tensor_are_named():
    measured = Measured(other=80)
    (owner,) = measured.owners
    owner.count = 1
    owner.held_by = [
        GivenPath("local variable", "data", "delete the variable `data`", cut_frees=False),
        GivenPath("module global", "__main__.cache -> cache['train']"),
    ]
    words = "`data`; it is also held by module global __main__.cache -> cache['train']"
    assert verdict(measured).endswith(words)
    owner.held_by[0].cut_frees = True
    assert verdict(measured).endswith("delete the variable `data`")


class Adapter:
    """Registers its instances."""

    current = None
    known = set()
    observers = weakref.WeakKeyDictionary()

    def __init__(self, torch):
        self.scale = torch.nn.Parameter(torch.ones(1 << 30, dtype=torch.int8), False)

    def register(self):
        """A key."""


@contextlib.contextmanager
def held_by_a_set(adapter):
    Adapter.known.add(adapter)
    del adapter
    yield
    Adapter.known.clear()


@contextlib.contextmanager
def held_by_a_weak_dict(adapter):
    Adapter.observers[Adapter.register] = adapter
    del adapter
    yield
    Adapter.observers.clear()


def capturing(adapter):
    """A handler that captures the variable."""
    return lambda *_: adapter


@contextlib.contextmanager
def held_by_a_signal_handler(adapter):
    former = signal.signal(signal.SIGUSR1, capturing(adapter))
    del adapter
    yield
    signal.signal(signal.SIGUSR1, former)


@contextlib.contextmanager
def held_by_c_code(adapter):
    parameter = ctypes.py_object(adapter.scale)
    ctypes.pythonapi.Py_IncRef(parameter)
    reference = weakref.ref(adapter.scale)
    del parameter, adapter
    yield
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(reference()))


@functools.lru_cache(None)
def prepare(adapter):
    """Keep its arguments."""


@contextlib.contextmanager
def held_by_a_cached_function(adapter):
    prepare(adapter)
    del adapter
    yield
    prepare.cache_clear()


@contextlib.contextmanager
def held_by_an_optimizer(adapter):
    optimizer = sys.modules["torch"].optim.SGD([adapter.scale])
    del adapter
    yield
    optimizer.param_groups.clear()


@contextlib.contextmanager
def held_by_an_attribute_of_a_class(adapter):
    Adapter.current = adapter
    del adapter
    yield
    Adapter.current = None


@contextlib.contextmanager
def held_by_a_variable(adapter):
    yield adapter


@pytest.mark.parametrize(
    ("held", "step"),
    [
        (held_by_a_set, "remove it from `Adapter.known`"),
        (held_by_a_weak_dict, "remove it from `Adapter.observers.data`"),
        (held_by_a_cached_function, "call `cache_clear()` on the cached function"),
        (held_by_an_optimizer, "optimizer.param_groups[0]['params'][0]; remove"),
        (held_by_a_signal_handler, "do not capture `adapter` (test_memory_account.py:"),
        (held_by_c_code, "no object that could be examined refers to these tensors"),
        (held_by_an_attribute_of_a_class, "this is the model itself"),
        (held_by_a_variable, "this is the model itself"),
    ],
)
def test_only_parameters_that_a_program_uses_are_called_its_model(held, step):
    torch = pytest.importorskip("torch")
    with held(Adapter(torch)) as used:
        verdict = cyclewatch.memory("cpu").verdict
    del used
    assert step in verdict
    assert ("this is the model itself" in verdict) == (step == "this is the model itself")
    assert ("of which 1.0 GiB parameters: the largest group, " in verdict) == (
        step != "this is the model itself"
    )


def test_several_models_are_named_as_what_to_remove():
    torch = pytest.importorskip("torch")
    models = [torch.nn.Linear(1 << 12, 1 << 12, bias=False) for _ in range(4)]
    expected = (
        ": this is the model itself; if not every model is needed, remove the items of `models` "
        "that are no longer needed"
    )
    assert cyclewatch.memory("cpu").verdict.endswith(expected)
    del models[1:]
    assert expected not in cyclewatch.memory("cpu").verdict
    assert models
