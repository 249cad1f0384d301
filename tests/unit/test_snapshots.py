# SPDX-License-Identifier: Apache-2.0
"""Snapshots of torch's allocator: totals, stacks and history, compared with torch's own tools."""

import pickle
import random
from collections import Counter

import pytest
from allocator import FIELDS, KIB, MIB, Allocator, frames

from cyclewatch.snapshots import comparison, data, history, page, pickle_data, text, usage
from cyclewatch.snapshots.allocator_state import Snapshot, location

memory_viz = pytest.importorskip("torch.cuda._memory_viz", reason="torch is not installed")

STEP = frames("/home/me/model.py:12 forward", "/home/me/train.py:30 step")
LINEAR = frames(
    "at/ops.cpp:0 at::empty",
    "/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py:114 forward",
    "/home/me/train.py:31 step",
)


def read(allocator, protocol=4):
    return Snapshot(pickle_data.load(pickle.dumps(allocator.snapshot(), protocol)), "x.pickle")


def random_allocator(seed, torch):
    """A program that allocates and frees at random."""
    choose = random.Random(seed)
    allocator = Allocator(torch)
    live = []
    stacks = [(), STEP, LINEAR, frames("/home/me/train.py:99 evaluate")]
    for _ in range(300):
        if live and choose.random() < 0.45:
            address, device = live.pop(choose.randrange(len(live)))
            allocator.free(address, device=device, completes=choose.random() < 0.95)
            continue
        size = choose.choice([100, 3 * KIB, 700 * KIB, 3 * MIB, 9 * MIB, 33 * MIB])
        device = choose.randrange(2)
        pool = choose.choice([(0, 0), (0, 0), (0, 1)])
        address = allocator.malloc(size, choose.choice(stacks), device=device, pool=pool)
        live.append((address, device))
    return allocator


def of_torch(data):
    """Torch's flame graph of a snapshot: (state, stack) -> bytes; gaps have the stack <gaps>."""
    sizes = Counter()
    for line in memory_viz.memory(data, format_flamegraph=str).splitlines():
        path, _, size = line.rpartition(" ")
        _, state, stack = path.split(";", 2)
        sizes[state, stack] += int(size)
    return sizes


@pytest.mark.parametrize("torch", FIELDS)
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_totals_agree_with_torch(torch, protocol):
    allocator = random_allocator(protocol, torch)
    theirs = of_torch(allocator.snapshot())
    ours = usage.usage_of(read(allocator, protocol).segments)
    by_state = Counter()
    for (state, _), size in theirs.items():
        by_state[state] += size
    assert ours.reserved == sum(by_state.values()) == allocator.reserved
    assert ours.allocated == by_state["active_allocated"]
    assert ours.rounding == theirs["active_allocated", "<gaps>"] > 0
    assert ours.pending == by_state["active_pending_free"] > 0
    assert ours.free == by_state["inactive"] > 0
    parts = (ours.allocated, ours.pending, ours.cached, ours.private, ours.fragmented)
    assert sum(parts) + ours.unlisted == ours.reserved
    # Torch's summary counts pending blocks as free, and prints rounded sizes.
    summary = memory_viz.segsum(allocator.snapshot())
    requested = ours.allocated - ours.rounding
    assert f"total_reserved: {memory_viz.Bytes(ours.reserved)}" in summary
    assert f"total_allocated: {memory_viz.Bytes(requested)}" in summary
    assert f"total_free: {memory_viz.Bytes(ours.reserved - requested)} " in summary


def test_bytes_of_each_stack_agree_with_torch():
    allocator = random_allocator(7, "2.13")
    theirs = Counter()
    for (state, stack), size in of_torch(allocator.snapshot()).items():
        if state == "active_allocated" and stack != "<gaps>":
            theirs[stack.split(";")[-1].rpartition(":")[0]] += size  # innermost frame
    ours = Counter()
    for segment in read(allocator).segments:
        for block in segment.blocks:
            if block.state == "allocated":
                frame = block.stack[0] if block.stack else None
                name = f"{frame[0].rpartition('/')[2]}:{frame[1]}" if frame else "<non-python>"
                ours[name] += block.requested
    theirs["<non-python>"] += theirs.pop("", 0)
    theirs["linear.py:114"] += theirs.pop("ops.cpp:0:at:", 0)  # we list only Python frames
    assert ours == theirs
    groups = usage.by_stack(read(allocator).segments)
    total = usage.usage_of(read(allocator).segments)
    assert sum(group.nbytes for group in groups.values()) == total.allocated
    assert sum(group.count for group in groups.values()) == total.blocks


def test_a_real_profile_is_read():
    """torch can convert a profile of CPU memory to a snapshot."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with torch.profiler.profile(
        profile_memory=True, with_stack=True, record_shapes=True
    ) as profile:
        layer = torch.nn.Linear(64, 64)
        loss = layer(torch.ones(8, 64)).sum()
        loss.backward()
    data = memory_viz._profile_to_snapshot(profile)
    theirs = of_torch(data)
    ours = usage.usage_of(Snapshot(pickle_data.load(pickle.dumps(data)), "profile").segments)
    allocated = sum(size for (state, _), size in theirs.items() if state == "active_allocated")
    assert ours.allocated == allocated >= 2 * 64 * 64 * 4
    assert ours.reserved == sum(theirs.values())
    assert ours.damaged == 0


def test_pools_and_segment_sizes_add_up():
    segments = read(random_allocator(3, "2.13")).segments
    total = usage.usage_of(segments)
    for parts in (usage.by_pool(segments), usage.by_segment_size(segments)):
        assert sum(each.reserved for each in parts.values()) == total.reserved
        assert sum(each.fragmented for each in parts.values()) == total.fragmented
    assert "private pool (0, 1), large blocks" in usage.by_pool(segments)
    assert "2.0 MiB" in usage.by_segment_size(segments)


def test_the_location_is_the_users_line():
    allocator = Allocator()
    for stack in (STEP, LINEAR, frames("x.cpp:0 f"), ()):
        allocator.malloc(MIB, stack)
    (segment, *_) = read(allocator).segments
    places = [location(block.stack) for block in segment.blocks if block.state == "allocated"]
    places += [
        location(block.stack)
        for other in read(allocator).segments[1:]
        for block in other.blocks
        if block.state == "allocated"
    ]
    assert places == [
        "/home/me/model.py:12 in forward",
        "/home/me/train.py:31 in step",
        "C++ code",
        "call stack not recorded",
    ]


def test_names_in_a_stack_do_not_break_lines():
    allocator = Allocator()
    allocator.malloc(MIB, frames("/home/me\n\x1b[31m/train.py:3 ste\np"))
    (segment,) = read(allocator).segments
    assert location(segment.blocks[0].stack) == "/home/me \ufffd[31m/train.py:3 in ste p"


def test_history_is_counted_backwards_from_the_blocks():
    allocator = Allocator()
    first = allocator.malloc(5 * MIB)
    second = allocator.malloc(30 * MIB)
    allocator.free(first)
    del allocator.traces[0][:2]  # the ring buffer of events has lost the first allocation
    found = history.History(read(allocator), 0)
    assert [count for _, count in found.points] == [35 * MIB, 30 * MIB]
    assert found.peak == (pytest.approx(0.001), 35 * MIB)
    allocator.free(second)
    assert history.History(read(allocator), 0).points[-1][1] == 0


def test_a_history_without_frees_is_not_drawn():
    allocator = Allocator()
    for _ in range(3):
        allocator.free(allocator.malloc(MIB))
    allocator.traces[0] = [each for each in allocator.traces[0] if "free" not in each["action"]]
    assert history.History(read(allocator), 0).points == []


def fragmented(settings=None):
    """Enough memory is free for 30 MiB, but only in pieces."""
    allocator = Allocator(capacity=80 * MIB, settings=settings)
    blocks = [allocator.malloc(10 * MIB, STEP) for _ in range(8)]
    for block in blocks[::2]:
        allocator.free(block)
    with pytest.raises(MemoryError):
        allocator.malloc(30 * MIB, STEP)
    return allocator


def test_an_allocation_that_did_not_fit_is_explained():
    shown = text.describe(read(fragmented()), 3)
    assert "Out of memory: 30.0 MiB requested, 0 B free on the device" in shown
    assert "40.0 MiB free in torch's segments, largest free block 10.0 MiB" in shown
    assert "in pieces (fragmentation): set PYTORCH_CUDA_ALLOC_CONF=expandable_segments" in shown
    assert "/home/me/model.py:12 in forward" in shown
    expandable = text.describe(read(fragmented({"expandable_segments": True})), 3)
    assert "in pieces (fragmentation): allocate the largest tensors first" in expandable

    full = Allocator(capacity=40 * MIB)
    full.malloc(40 * MIB)
    with pytest.raises(MemoryError):
        full.malloc(30 * MIB)
    assert "too little memory is free" in text.describe(read(full), 3)

    freed = Allocator(capacity=40 * MIB)
    block = freed.malloc(40 * MIB)
    with pytest.raises(MemoryError):
        freed.malloc(30 * MIB)
    freed.free(block)
    assert "it would fit now" in text.describe(read(freed), 3)


@pytest.mark.parametrize(
    ("request_size", "kept", "other"),
    [
        (MIB, [38 * MIB, MIB, 1], "large blocks"),
        (MIB + 512, [MIB] * 40, "small blocks (requests of up to 1 MiB)"),
    ],
)
def test_blocks_of_the_pool_for_other_sizes_do_not_fit(request_size, kept, other):
    """Requests of up to 1 MiB come from segments of their own."""
    allocator = Allocator(capacity=40 * MIB)
    blocks = [allocator.malloc(size) for size in kept]
    with pytest.raises(MemoryError):
        allocator.malloc(request_size)
    for block in blocks[:1] if kept[0] > MIB else blocks:
        allocator.free(block)
    shown = text.describe(read(allocator), 3)
    assert "would fit" not in shown
    assert f"enough memory is free, but only for {other}, other streams or private" in shown


def failed(size, free):
    """Describe a snapshot without segments: a request failed, with `free` on the device."""
    event = {"action": "oom", "addr": 0, "size": size, "device_free": free, "stream": 0}
    return text.describe(Snapshot({"segments": [], "device_traces": [[event]]}, "name"), 3)


def test_memory_that_was_free_at_the_failure_was_not_enough():
    shown = failed(6 * MIB, 15 * MIB)
    assert "would fit" not in shown
    assert "torch needed a larger segment, or may only use a part of the device" in shown


def test_a_request_may_be_larger_than_any_device():
    assert "1.0 PiB requested" in failed(1 << 50, 0)


@pytest.mark.parametrize("segment", [{"stream": 5}, {"segment_pool_id": (0, 1)}])
def test_memory_of_other_streams_and_pools_does_not_fit(segment):
    data = fragmented().snapshot()
    for each in data["segments"]:
        each.update(segment)
    for trace in data["device_traces"]:
        for event in trace:
            event["size"] = 8 * MIB if event["action"] == "oom" else event["size"]
    shown = text.describe(Snapshot(data, "name"), 3)
    assert (
        "but only for small blocks (requests of up to 1 MiB), other streams or private pools"
        in shown
    )
    assert "would fit" not in shown


def test_free_segments_of_private_pools_are_not_called_cached():
    allocator = Allocator()
    for pool in ((0, 0), (0, 1)):
        allocator.free(allocator.malloc(40 * MIB, pool=pool))
    snapshot = read(allocator)
    total = usage.usage_of(snapshot.segments)
    assert (total.cached, total.private, total.free) == (40 * MIB, 40 * MIB, 80 * MIB)
    shown = text.describe(snapshot, 3)
    assert "40.0 MiB cached (empty_cache() returns it), 40.0 MiB free in private pools" in shown


def test_a_block_of_a_free_segment_is_not_called_a_fragment():
    used = usage.Usage(fragmented=24 * MIB, largest_free=14 * MIB)
    assert "24.0 MiB free in partly used segments (largest free block 14.0 MiB)" in text.headline(
        used, 0
    )
    used.cached = used.largest_free = 64 * MIB
    assert "largest free block" not in text.headline(used, 0)


def test_sizes_that_differ_are_not_averaged():
    allocator = Allocator()
    for size in (20, 2):
        allocator.malloc(size * MIB, STEP)
    for _ in range(3):
        allocator.malloc(4 * MIB, LINEAR)
    shown = text.describe(read(allocator), 3)
    assert " 22.0 MiB  2, largest 20.0 MiB   " in shown
    assert " 12.0 MiB  3 x 4.0 MiB   " in shown


def test_the_reason_of_a_failure_is_found_once(monkeypatch):
    reasons = []
    monkeypatch.setattr(data, "reason", lambda *_: reasons.append(1) or ("why", "remedy"))
    full = Allocator(capacity=40 * MIB)
    full.malloc(40 * MIB)
    for _ in range(2):
        with pytest.raises(MemoryError):
            full.malloc(30 * MIB)
    [device] = data.describe([read(full)], 3, False)["snapshots"][0]["devices"]
    assert [each["reason"] for each in device["failures"]] == [None, "why"]
    assert [each["remedy"] for each in device["failures"]] == [None, "remedy"]
    assert len(reasons) == 1


@pytest.mark.parametrize("size", [1 << 64, 1 << 63, (1 << 41) + 1])
def test_impossible_sizes_are_refused(size):
    data = {"segments": [{"device": 0, "address": 0, "total_size": size, "blocks": []}]}
    with pytest.raises(
        pickle_data.SnapshotFormatError, match="'total_size' is missing or not a size"
    ):
        Snapshot(data, "name")


@pytest.mark.parametrize("error", [-512, 512, MIB])
def test_segments_whose_blocks_do_not_add_up_are_named(error):
    allocator = fragmented()
    valid = read(allocator)
    assert text.damage_text(valid) == ""
    for segment in allocator.segments[:2]:
        segment["total_size"] += error
    allocator.segments[1]["total_size"] -= 2 * error  # the sum of all segments is right
    damaged = read(allocator)
    sentence = (
        f"x.pickle is incomplete or damaged: in 2 of {len(valid.segments)} segments, the blocks do "
        "not add up to the size of the segment, so that sizes may be wrong."
    )
    for snapshots, compares_ranks in (
        ([damaged], False),
        ([damaged, valid], False),
        ([valid, damaged], False),
        ([damaged, valid], True),
    ):
        described = data.describe(snapshots, 5, compares_ranks)
        damages = [each["damage"] for each in described["snapshots"]]
        assert damages == [sentence if each is damaged else None for each in snapshots]
        assert page.page(described).count(sentence) == 1
        assert text.describe_all(snapshots, 5, compares_ranks).count(sentence) == 1
    assert "damaged" not in page.page(data.describe([valid], 5, False))


def test_growth_between_two_snapshots_is_grouped_by_stack():
    allocator = Allocator()
    kept = allocator.malloc(3 * MIB, LINEAR)
    before = read(allocator)
    for _ in range(4):
        allocator.malloc(2 * MIB, STEP)
    allocator.free(kept)
    grown, shrunk = comparison.changes(before, read(allocator))
    assert (grown.growth, grown.count_before, grown.count_after) == (8 * MIB, 0, 4)
    assert (shrunk.growth, location(shrunk.stack)) == (-3 * MIB, "/home/me/train.py:31 in step")
    shown = text.describe_growth(before, read(allocator), 5)
    assert shown.startswith("x.pickle -> x.pickle: allocated +5.0 MiB (3.0 MiB -> 8.0 MiB)")
    assert "+8.0 MiB  0 -> 4 blocks         /home/me/model.py:12 in forward" in shown
    assert comparison.changes(before, before) == []
    # One segment of 20 MiB, of which 3 MiB are in use, then 4 x 2 MiB.
    assert ", free in partly used segments -5.0 MiB (17.0 MiB -> 12.0 MiB); " in shown


def test_the_rank_that_differs_is_named():
    snapshots = []
    for rank in range(4):
        allocator = Allocator()
        allocator.malloc(8 * MIB, STEP)
        if rank == 2:
            allocator.malloc(6 * MIB, LINEAR)
        snapshots.append(read(allocator))
        snapshots[-1].name = f"/tmp/snapshot-rank{rank}.pickle"
    first = text.describe_ranks(snapshots, 5).splitlines()[0]
    assert first == (
        "rank 2 differs most from the median of 4 ranks, by 6.0 MiB: "
        "+6.0 MiB at /home/me/train.py:31 in step"
    )
    assert text.describe_ranks(snapshots[:2], 5) == (
        "rank 0 and rank 1 have the same live bytes for each call stack."
    )


def test_the_median_of_an_even_number_of_ranks_is_between_the_middle_two():
    snapshots = []
    for size in (2, 4, 8, 20):
        allocator = Allocator()
        allocator.malloc(size * MIB, STEP)
        snapshots.append(read(allocator))
    first = comparison.divergences(snapshots)[0]
    assert [(mine, middle) for _, mine, middle in first.stacks] == [(20 * MIB, 6 * MIB)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "no list of segments"),
        ("text", "no list of segments"),
        ({"segments": [7]}, "'address' is missing"),
        ({"segments": [{"blocks": []}]}, "'total_size' is missing"),
        ({"segments": [{"total_size": 1}]}, "no list of blocks"),
        ({"segments": [{"total_size": -1, "blocks": []}]}, "'total_size' is missing or not a size"),
        ({"segments": [{"total_size": 1, "blocks": [[]]}]}, "'size' is missing"),
        ({"segments": [{"total_size": 1, "blocks": [{"size": 1, "state": "odd"}]}]}, "state: odd"),
        ({"segments": [], "device_traces": [7]}, "not lists"),
        ({"segments": [], "device_traces": [[]] * 2000}, "1,024 devices"),
    ],
)
def test_other_data_is_refused(data, message):
    with pytest.raises(pickle_data.SnapshotFormatError, match=message):
        Snapshot(data, "x.pickle")


def test_shared_lists_do_not_multiply():
    """Small files can refer to one list many times."""
    blocks = [{"size": 1, "state": "inactive"}] * 5000
    many = [{"total_size": 5000, "blocks": blocks}] * 5000
    with pytest.raises(pickle_data.SnapshotFormatError, match="more than 4,000,000 blocks"):
        Snapshot({"segments": many}, "x.pickle")
    trace = [{"action": "alloc", "size": 1}] * 5000
    with pytest.raises(pickle_data.SnapshotFormatError, match="more than 4,000,000 events"):
        Snapshot({"segments": [], "device_traces": [trace] * 1000}, "x.pickle")
