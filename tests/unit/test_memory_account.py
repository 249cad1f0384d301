# SPDX-License-Identifier: Apache-2.0
"""The account of the memory in use on the CPU, and the choice of the verdict."""

import gc
import html
import json
import sys
import types

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch import memory_account, oom_memory
from cyclewatch.device_use import TorchUse, torch_use
from cyclewatch.memory_lines import DeviceUse

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
    assert account.lines[-1][0] == "tensors that are not resident"
    assert account.lines[-1][1] < 0
    assert sum(size for _, size in account.lines) == account.in_use


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
    assert f"{account.peak:,}  peak of resident memory" in card


def test_nothing_is_collected_or_kept():
    leak(500)
    cyclewatch.memory("cpu")
    assert gc.collect() > 0
    cyclewatch.memory("cpu")
    assert gc.collect() == 0


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
    """Simulates oom_memory.Memory of cuda:0, with sizes in MiB."""

    def __init__(self, *, dead=0, frozen=0, never_freed=0, **categories):
        self.device, self.limit, self.source = "cuda:0", None, "torch's allocator"
        self.dead, self.cycles = dead * MIB, 1
        self.frozen, self.frozen_cycles = frozen * MIB, 1
        self.never_freed, self.never_freed_cycles = never_freed * MIB, 1
        self.in_use = 0
        states = {"not yet": dead, "never": frozen, "uncollectable": never_freed}
        self.findings = [
            types.SimpleNamespace(remedy="cut Engine.callbacks (train.py:12)", collected=state)
            for state, size in states.items()
            if size
        ]
        self.owners = [
            types.SimpleNamespace(
                type="torch.Tensor", category=name.replace("_", " "), nbytes=size * MIB, held_by=[]
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
        "cuda:0: 100 MiB in use, of which 6.0 MiB dead in 1 cycle (a collection frees them): "
        "cut Engine.callbacks (train.py:12); 94.0 MiB are reachable: parameters: this is the model "
        "itself"
    )
    assert "94.0 MiB reachable: parameters: this is the model" in verdict(
        Measured(dead=4, parameter=94)
    )
    assert "frozen cycle" in verdict(Measured(frozen=9, parameter=91))
    fragmented = verdict(Measured(parameter=60), allocated=60, fragmented=40)
    assert "40.0 MiB free in partly used segments (fragmented): set PYTORCH_CUDA" in fragmented


@pytest.mark.parametrize(
    ("categories", "words"),
    [
        ({"optimizer_state": 80, "parameter": 20}, "optimizer state: use an optimizer with a"),
        ({"saved_for_backward": 80}, "saved for backward: use torch.no_grad() if you do not"),
        ({"activation": 80}, "activations: use torch.no_grad() if you do not train"),
        ({"gradient": 80}, "gradients: optimizer.zero_grad() frees gradients"),
        (
            {"parameter": 20},
            "80.0 MiB remainder of torch's allocations (C++ code, rounding of sizes): record",
        ),
    ],
)
def test_the_verdict_names_the_largest_line(categories, words):
    assert words in verdict(Measured(**categories))


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


def test_a_growing_group_is_named_first():
    def first_line(measured, group):
        account = memory_account.MemoryAccount(measured, DeviceUse(None, use), [group])
        return account.verdict

    use = TorchUse(*(size * MIB for size in (100, 100, 0, 0, 0)))
    assert first_line(Measured(other=94, dead=6), growing(40)) == (
        "cuda:0: 100 MiB in use, of which 40.0 MiB in a group that grows by 4.0 MiB per step, held "
        "by module global __main__.losses -> losses[0]: store `loss.item()`"
    )
    assert "6.0 MiB dead" in first_line(Measured(other=94, dead=6), growing(5))
    assert "reachable: parameters" in first_line(Measured(parameter=97), growing(3))


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


def test_lines_never_exceed_the_memory_in_use():
    """The sources are read one after the other, so they may contradict each other."""
    use = DeviceUse(None, TorchUse(100 * MIB, 90 * MIB, 0, 10 * MIB, 0))
    account = memory_account.MemoryAccount(Measured(parameter=500), use)
    assert account.lines == [("reachable: parameters", 100 * MIB)]


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
    assert "160  peak of torch" in str(account)
    use.peak = None
    counters["active"] = 80
    assert vars(torch_use(0, segments=True)) == {**vars(TorchUse(100, 80, 0, 20, 0)), "peak": 160}
    torch._C._cuda_memoryStats = None
    assert torch_use(0) is None


def test_fragmentation_explains_an_out_of_memory_error():
    from cyclewatch import wording

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
    memory = oom_memory.Memory("cpu", None)
    assert (memory.dead, memory.cycles, memory.torch) == (500, 1, None)


def test_a_global_that_holds_a_graph_is_named_before_checkpointing():
    def of(root):
        measured = Measured(saved_for_backward=80, parameter=20)
        path = types.SimpleNamespace(root=types.SimpleNamespace(kind=root), remedy=None)
        measured.owners[0].held_by = [path]
        measured.owners[0].count = 10
        return verdict(measured)

    of_global = of("module global")
    assert ", is held by " in of_global and "(one of 10 such paths)" in of_global
    assert of_global.index(".detach()") < of_global.index("torch.utils.checkpoint")
    assert "held by" not in of("local variable")  # the running step needs its graph
