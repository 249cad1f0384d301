# SPDX-License-Identifier: Apache-2.0
"""dump_snapshot(): each block of a snapshot has its Python owner."""

import gc
import json
import pickle
import sys
import types

import pytest
from allocator import MIB, Allocator, frames
from owners import Buffer

import cyclewatch
from cyclewatch.snapshots import data, pickle_data, text, usage
from cyclewatch.snapshots import writing as snapshot_writing
from cyclewatch.snapshots.allocator_state import Snapshot
from cyclewatch.snapshots.pickle_data import SnapshotFormatError

pytestmark = pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")

STEP = frames("/home/me/train.py:30 step")


@pytest.fixture
def device(monkeypatch):
    """An imaginary device, whose allocator torch appears to use."""
    allocator = Allocator()

    def snapshot():
        _ = [[] for _ in range(10_000)]  # as many objects as a real snapshot
        return allocator.snapshot()

    memory = types.SimpleNamespace(_snapshot=snapshot)
    cuda = types.SimpleNamespace(is_initialized=lambda: True, memory=memory)
    monkeypatch.setattr(snapshot_writing, "torch_module", lambda: types.SimpleNamespace(cuda=cuda))
    return allocator


def allocate(device, size, stack=STEP, index=0):
    """A Buffer in a new block."""
    address = device.malloc(size, stack, device=index)
    return Buffer(size, device=f"cuda:{index}", data_ptr=address)


class Cache:
    """Refers to itself."""

    def __init__(self, buffer):
        self.me = self
        self.buffer = buffer


class Layer:
    """A layer of a model."""

    def __init__(self, weight):
        self.weight = weight


def dumped(path="snapshot.pickle"):
    """The snapshot that dump_snapshot() writes, as `cyclewatch snapshot` reads it."""
    cyclewatch.dump_snapshot(path)
    with open(path, "rb") as file:
        return Snapshot(pickle_data.load(file.read()), path)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def blocks_of(snapshot, index=0):
    segments = usage.on_device(snapshot, index)
    return {block.address: block for block in usage.blocks_of(segments)}


def test_each_block_has_its_owner(device):
    layers = [Layer(allocate(device, (1 + number) * MIB)) for number in range(3)]
    Cache(leaked := allocate(device, 4 * MIB))
    address = leaked.facts["data_ptr"]
    del leaked
    unowned = device.malloc(2 * MIB, STEP)
    blocks = blocks_of(dumped())
    for number, layer in enumerate(layers):
        owner = blocks[layer.weight.facts["data_ptr"]].owner
        assert owner.state == "reachable"
        assert owner.text.endswith(f"layers[{number}].weight (other)"), owner
    owner = blocks[address].owner
    [finding] = cyclewatch.scan(devices="cuda").findings
    assert owner.text == f"dead in cycle {finding.signature}: {finding.remedy}"
    assert finding.remedy.startswith("cut Cache.me (")
    assert (owner.state, owner.signature) == ("dead", finding.signature)
    assert blocks[unowned].owner is None


@pytest.fixture
def recording(device, monkeypatch):
    """torch 2.14, which records its history of the device."""
    native = types.ModuleType("torch._C")
    native._cuda_memoryStats = lambda index: {}
    native._cuda_isHistoryEnabled = lambda: True
    native._cuda_annotateMemory = device.annotate
    monkeypatch.setitem(sys.modules, "torch._C", native)
    monkeypatch.setitem(sys.modules, "torch.cuda.memory", types.ModuleType("torch.cuda.memory"))
    return native


def annotations(snapshot_path="snapshot.pickle"):
    with open(snapshot_path, "rb") as file:
        traces = pickle.load(file)["device_traces"]
    return {
        event["addr"]: event["user_metadata"]
        for trace in traces
        for event in trace
        if event["action"] == "annotate"
    }


def test_findings_are_annotations_in_the_history_of_torch(device, recording):
    kept = allocate(device, MIB)
    Cache(leaked := allocate(device, 4 * MIB))
    address = leaked.facts["data_ptr"]
    del leaked
    gc.freeze()
    Cache(unfrozen := allocate(device, 2 * MIB, index=1))
    second = unfrozen.facts["data_ptr"]
    del unfrozen
    Cache(Buffer(8 * MIB, device="cuda:0", data_ptr=1 << 40))  # of another allocator
    try:
        snapshot = dumped()
        findings = cyclewatch.scan(devices="cuda").findings
    finally:
        gc.unfreeze()
    cut = {each.remedy for each in findings}.pop()
    [signature] = {each.signature for each in findings}
    assert annotations() == {
        address: f"cyclewatch: dead in frozen cycle {signature}: {cut}",
        second: f"cyclewatch: dead in cycle {signature}: {cut}",
    }
    assert text.describe(snapshot, 10).splitlines()[0].startswith("cuda:0: ")
    assert kept is not None
    assert gc.collect() > 0


@pytest.mark.parametrize("missing", ["_cuda_annotateMemory", "_cuda_isHistoryEnabled"])
def test_without_the_function_or_a_history_nothing_is_annotated(device, recording, missing):
    delattr(recording, missing)
    Cache(allocate(device, MIB))
    dumped()
    assert annotations() == {}


def test_only_the_largest_storages_are_annotated(device, recording, monkeypatch):
    monkeypatch.setattr(snapshot_writing, "_MOST_ANNOTATIONS", 2)
    addresses = []
    for size in (1, 3, 2):
        Cache(leaked := allocate(device, size * MIB))
        addresses.append(leaked.facts["data_ptr"])
        del leaked
    dumped()
    assert list(annotations()) == [addresses[1], addresses[2]]


def test_equal_storages_in_a_list_and_other_devices(device):
    losses = [allocate(device, MIB, index=1) for _ in range(3)]
    (shared,) = {
        block.owner.text for block in blocks_of(dumped(), 1).values() if block.state == "allocated"
    }
    assert shared.endswith("losses[x] (other)")
    assert len(losses) == 3


def test_views_and_offsets_belong_to_their_block(device):
    kept = allocate(device, 3 * MIB)
    kept.facts["data_ptr"] += 512  # not at the begin of the block
    (block,) = [each for each in blocks_of(dumped()).values() if each.state == "allocated"]
    assert block.owner.text.endswith("kept (other)")


def test_dumping_collects_and_keeps_nothing(device):
    Cache(allocate(device, MIB))
    gc.enable()
    seen = []
    gc.callbacks.append(lambda phase, info: seen.append(phase))
    try:
        cyclewatch.dump_snapshot()
        during = list(seen)
        assert gc.isenabled()
    finally:
        gc.callbacks.pop()
        gc.disable()
    assert during == []
    assert gc.collect() > 0
    cyclewatch.dump_snapshot()
    assert gc.collect() == 0


def test_the_owners_are_described(device):
    kept = [allocate(device, 3 * MIB) for _ in range(2)]
    Cache(allocate(device, 4 * MIB, frames("/home/me/cache.py:7 fill")))
    device.malloc(2 * MIB)
    snapshot = dumped()
    lines = text.describe(snapshot, 10)
    assert ": 12.0 MiB allocated, of which 4.0 MiB in dead cycles, " in lines.splitlines()[0]
    owners = lines.partition("Owners of the live allocations:\n")[2].partition("\n\n")[0]
    rows = owners.splitlines()
    assert rows[0].startswith("    6.0 MiB  2 x 3.0 MiB       ")
    assert rows[0].endswith("kept[x] (other)")
    assert "dead in cycle cw1-" in rows[1]
    assert rows[1].rpartition(": ")[2].startswith("cut Cache.me (")
    assert rows[2].endswith("C++ code only (no Python object owns it)")
    [described] = data.describe([snapshot], 10, False)["snapshots"]
    [device_data] = described["devices"]
    total = device_data["usage"]["allocated"]
    assert sum(each["bytes"] for each in device_data["owners"]) == total == 12 * MIB
    assert [each["state"] for each in device_data["owners"]] == ["reachable", "dead", "unowned"]
    [fill] = [each for each in device_data["allocations"] if "cache.py" in each["location"]]
    assert [each["state"] for each in fill["owners"]] == ["dead"]
    assert json.dumps(described)
    assert len(kept) == 2


@pytest.mark.usefixtures("frozen_objects_are_listed")
def test_frozen_cycles(device):
    Cache(allocate(device, MIB))
    gc.freeze()
    try:
        snapshot = dumped()
    finally:
        gc.unfreeze()
    (block,) = [each for each in blocks_of(snapshot).values() if each.state == "allocated"]
    assert block.owner.text.startswith("dead in frozen cycle cw1-")


def test_a_snapshot_of_torch_has_no_owners(device):
    device.malloc(MIB, STEP)
    snapshot = Snapshot(pickle_data.load(pickle.dumps(device.snapshot())), "x")
    assert not snapshot.has_owners
    assert "owner" not in text.describe(snapshot, 10).lower()


def test_torch_reads_the_file(device):
    viewer = pytest.importorskip("torch.cuda._memory_viz", reason="torch is not installed")
    kept = allocate(device, 3 * MIB)
    cyclewatch.dump_snapshot()
    with open("snapshot.pickle", "rb") as file:
        ours = pickle.load(file)
    assert kept.facts
    for render in (viewer.segsum, viewer.trace):
        assert render(ours) == render(device.snapshot())
    assert viewer.trace_plot(ours)


@pytest.mark.parametrize(
    "owners",
    [
        [],
        {"owners": {}},
        {"owners": [7]},
        {"owners": [{"device": 0, "address": -1}]},
        {"owners": [{"device": 0, "address": 1, "state": "dead", "path": "", "signature": None}]},
        {"findings": [{"signature": "x"}]},
    ],
)
def test_invalid_owners_are_refused(device, owners):
    with pytest.raises(SnapshotFormatError, match="it is not a snapshot"):
        Snapshot({**device.snapshot(), "cyclewatch": owners}, "x")


def test_without_cuda_there_is_no_snapshot(monkeypatch):
    monkeypatch.setattr(snapshot_writing, "torch_module", lambda: None)
    with pytest.raises(RuntimeError, match="has not initialized CUDA with torch"):
        cyclewatch.dump_snapshot()


def test_a_torch_without_snapshot_function_gives_the_segments(device, monkeypatch):
    segments = types.SimpleNamespace(
        cuda=types.SimpleNamespace(
            is_initialized=lambda: True,
            memory=types.SimpleNamespace(),
            memory_snapshot=lambda: device.snapshot()["segments"],
        )
    )
    monkeypatch.setattr(snapshot_writing, "torch_module", lambda: segments)
    kept = allocate(device, MIB)
    owner = blocks_of(dumped())[kept.facts["data_ptr"]].owner
    assert owner.text.endswith("kept (other)")
