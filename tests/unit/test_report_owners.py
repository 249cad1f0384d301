# SPDX-License-Identifier: Apache-2.0
"""The blocks of a snapshot that torch wrote get their owners from a report, by address."""

import gc
import json
import pickle
import time
import weakref

import pytest
from allocator import MIB, Allocator, frames
from owners import Buffer

import cyclewatch
from cyclewatch import _native
from cyclewatch.snapshots import data, joined, text
from cyclewatch.snapshots.allocator_state import Snapshot
from cyclewatch.snapshots.report_owners import ReportOwners

pytestmark = pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")

STEP = frames("/home/me/train.py:30 step")


class Device(Allocator):
    """Frees the memory of a Buffer with the Buffer, and records the time of this computer."""

    def event(self, *arguments):
        """Record an event."""
        self.time = time.time_ns() // 1000 - 1000  # the base class adds a millisecond
        super().event(*arguments)

    def allocate(self, size, index=0):
        """A Buffer in a new block."""
        address = self.malloc(size, STEP, device=index)
        buffer = Buffer(size, device=f"cuda:{index}", data_ptr=address)
        weakref.finalize(buffer, self.free, address, device=index)
        return buffer


class Cache:
    """Refers to itself."""

    def __init__(self, buffer):
        self.me = self
        self.buffer = buffer


class Memo:
    """Also refers to itself."""

    def __init__(self, buffer):
        self.itself = self
        self.buffer = buffer


class Layer:
    """A layer of a model."""

    def __init__(self, weight):
        self.weight = weight


@pytest.fixture
def device():
    return Device()


@pytest.fixture
def watch():
    with cyclewatch.watch(devices="cuda", scan_every=1, census_every=1, budget=1) as watch:
        yield watch


def snapshot_of(device, report, **changes):
    """The snapshot that torch would write now, with the owners in `report`."""
    contents = {**device.snapshot(), **changes}
    return Snapshot(pickle.loads(pickle.dumps(contents)), "torch.pickle", owners_in(report))


def owners_in(report):
    return ReportOwners(json.loads(_native.load_report(report.to_json().encode(), "x").to_json()))


def live(snapshot):
    """The owner of each live block, by address."""
    blocks = (block for segment in snapshot.segments for block in segment.blocks)
    return {block.address: block.owner for block in blocks if block.state == "allocated"}


def addresses_in(report):
    return json.loads(report.to_json()).get("addresses")


def test_blocks_get_the_owners_of_scans_and_censuses(device, watch):
    layers = [Layer(device.allocate((1 + number) * MIB, number % 2)) for number in range(3)]
    Cache(leaked := device.allocate(4 * MIB))
    dead = leaked.facts["data_ptr"]
    del leaked
    other = device.malloc(2 * MIB, STEP)
    watch.step(1)
    report = watch.report()
    snapshot = snapshot_of(device, report)
    owners = live(snapshot)
    for number, layer in enumerate(layers):
        owner = owners[layer.weight.facts["data_ptr"]]
        assert owner.text.endswith(f"layers[{number}].weight (other)"), owner
    [finding] = report.findings
    assert owners[dead].text == f"dead in cycle {finding.signature}: {finding.remedy}"
    assert finding.remedy.startswith("cut Cache.me (")
    assert owners[other] is None

    shown = text.describe(snapshot, 10)
    assert "of which 4.0 MiB in dead cycles" in shown.splitlines()[0]
    assert "  2.0 MiB  1 x 2.0 MiB            not in the report" in shown
    [first, _] = data.describe([snapshot], 10, False)["snapshots"][0]["devices"]
    assert {each["state"] for each in first["owners"]} == {"dead", "reachable", "unknown"}
    assert joined.sentence(joined.count([snapshot], "report.json")) == (
        "Owners from report.json, which must be of the same process: 4 of 5 live blocks, 10.0 MiB "
        "of 12.0 MiB"
    )
    assert len(layers) == 3


def test_what_a_collection_has_freed_is_found_in_the_history(device, watch):
    Cache(device.allocate(4 * MIB))
    gc.collect()
    report = watch.report()
    [finding] = report.findings
    snapshot = snapshot_of(device, report)
    [block] = snapshot.freed(0)
    assert block.owner.text == f"dead in cycle {finding.signature}: {finding.remedy}"
    assert (block.size, block.stack) == (4 * MIB, (("/home/me/train.py", 30, "step"),))
    shown = text.describe(snapshot, 10)
    section = shown.partition("Unreachable storages that were freed:\n")[2].partition("\n\n")[0]
    assert section == f"    4.0 MiB  1 x 4.0 MiB            was {block.owner.text}"
    [described] = data.describe([snapshot], 10, False)["snapshots"][0]["devices"]
    assert [(each["state"], each["bytes"]) for each in described["freed"]] == [("dead", 4 * MIB)]
    assert joined.sentence(joined.count([snapshot], "x")).endswith(
        ": 0 of 0 live blocks, 0 B of 0 B, and 1 block that was freed"
    )
    # Without a history, or with a size or times that do not fit, nothing is claimed.
    assert snapshot_of(device, report, device_traces=[]).freed(0) == []
    other_size = json.loads(report.to_json())
    other_size["addresses"][0]["bytes"] -= 1
    assert Snapshot(device.snapshot(), "x", ReportOwners(other_size)).freed(0) == []
    for change in (10_000_000, -20_000_000):  # of the times: later, and then earlier
        for event in device.traces[0]:
            event["time_us"] += change
        assert snapshot_of(device, report).freed(0) == []


def test_a_later_use_of_an_address_is_not_claimed(device, watch):
    Cache(device.allocate(4 * MIB))
    gc.collect()
    kept = [device.allocate(4 * MIB)]  # at the same address
    [address] = live(snapshot_of(device, watch.report()))
    assert address == addresses_in(watch.report())[0]["addresses"][0]
    assert live(snapshot_of(device, watch.report())) == {address: None}
    time.sleep(0.02)  # more than the error of the times
    kept.clear()
    assert len(snapshot_of(device, watch.report()).freed(0)) == 1


def test_a_tensor_that_was_allocated_after_the_census_is_not_claimed(device, watch):
    kept = [device.allocate(4 * MIB)]
    watch.step(1)
    report = watch.report()
    [(address, owner)] = live(snapshot_of(device, report)).items()
    assert owner.text.endswith("kept[0] (other)")
    kept.clear()
    time.sleep(0.02)  # more than the error of the times
    kept.append(device.allocate(4 * MIB))
    assert live(snapshot_of(device, report)) == {address: None}
    # Nothing tells them apart without the history.
    assert live(snapshot_of(device, report, device_traces=[]))[address] is not None


def test_the_size_must_be_equal(device, watch):
    kept = device.allocate(4 * MIB)
    kept.facts["nbytes"] = 3 * MIB
    watch.step(1)
    assert addresses_in(watch.report())[0]["addresses"] == [kept.facts["data_ptr"]]
    assert list(live(snapshot_of(device, watch.report())).values()) == [None]


def test_the_size_before_rounding_is_compared(device, watch):
    kept = device.allocate(4 * MIB - 100)
    watch.step(1)
    [owner] = live(snapshot_of(device, watch.report())).values()
    assert owner.text.endswith("kept (other)")
    assert kept is not None


def test_reported_storages_that_a_collection_frees_are_marked(device, watch):
    Cache(device.allocate(4 * MIB))
    watch.step(1)
    assert [each["freed"] for each in addresses_in(watch.report())] == [False]
    gc.collect()
    report = watch.report()
    assert [each["freed"] for each in addresses_in(report)] == [True]
    snapshot = snapshot_of(device, report)
    assert [block.owner.state for block in snapshot.freed(0)] == ["dead"]
    assert live(snapshot) == {}


def nested(buffer, depth):
    """The Buffer in lists."""
    for _ in range(depth):
        buffer = [buffer]
    return buffer


# Of more than 5,000 objects in equal cycles, only some are captured.
@pytest.mark.parametrize(("copies", "depth"), [(1, 0), (5, 0), (40, 100)])
def test_each_storage_has_the_signature_of_its_finding(device, watch, copies, depth):
    expected = {}
    occupied = []
    for _ in range(2):  # the second time, the findings are known
        for kind in (Cache, Memo):
            for _ in range(copies):
                buffer = device.allocate(2 * MIB)
                kind(nested(buffer, depth))
                expected[buffer.facts["data_ptr"]] = kind.__name__
                del buffer
        gc.collect()
        # The next buffers have other addresses.
        occupied += [device.malloc(2 * MIB) for _ in range(2 * copies)]
    assert len(expected) == 4 * copies
    found = {each.signature: each.remedy for each in watch.report().findings}
    assert len(found) == 2
    listed = {
        address: found[group["signature"]].removeprefix("cut ").partition(".")[0]
        for group in addresses_in(watch.report())
        for address in group["addresses"]
    }
    assert listed == expected


def test_small_findings_are_not_listed(device):
    with cyclewatch.watch(devices="cuda", min_bytes=3 * MIB) as watch:
        Cache(device.allocate(4 * MIB))
        Memo(device.allocate(2 * MIB))
        gc.collect()
    assert [each["bytes"] for each in addresses_in(watch.report())] == [4 * MIB]


def test_at_most_a_thousand_of_each_are_listed(device, watch):
    kept = [device.allocate(512 + 512 * (number == 1010)) for number in range(1011)]
    watch.step(1)
    listed = {each["bytes"]: len(each["addresses"]) for each in addresses_in(watch.report())}
    assert listed == {1024: 1, 512: 999}  # the largest are listed
    kept.clear()
    for _ in range(1005):
        Cache(device.allocate(512))
    gc.collect()
    dead = [each for each in addresses_in(watch.report()) if each["signature"]]
    assert sum(len(group["addresses"]) for group in dead) == 1000


def test_a_saved_census_has_the_owners_of_a_snapshot(device, tmp_path):
    layer = Layer(device.allocate(4 * MIB))
    census = cyclewatch.census(devices="cuda")
    later = Layer(device.allocate(8 * MIB))
    census.save(tmp_path / "census.json")
    [group] = json.loads((tmp_path / "census.json").read_text())["addresses"]
    assert group["addresses"] == [layer.weight.facts["data_ptr"]]
    assert group["paths"][0].endswith("layer.weight")
    assert group["at"] <= 0  # before the census was saved
    assert cyclewatch.Census.load(tmp_path / "census.json").nbytes == 4 * MIB
    assert later.weight


def test_addresses_on_the_cpu_are_not_listed(watch):
    with cyclewatch.watch(devices="cpu", scan_every=1, census_every=1, budget=1) as watch:
        kept = Buffer(MIB)
        Cache(Buffer(MIB))
        watch.step(1)
        Cache(Buffer(MIB))
        gc.collect()
    assert len(watch.report().findings) == 1
    assert addresses_in(watch.report()) is None
    assert kept is not None


def test_addresses_of_python_objects_are_not_listed(watch):
    """The object identifies the storage if its reader returns no address."""
    kept = Buffer(MIB, device="cuda:0", data_ptr=0)
    Cache(Buffer(MIB, device="cuda:0", data_ptr=0))
    gc.collect()
    watch.step(1)
    assert len(watch.report().findings) == 1
    assert addresses_in(watch.report()) is None
    assert kept is not None


def test_merged_reports_contain_no_addresses(device, watch):
    Cache(device.allocate(4 * MIB))
    gc.collect()
    report = watch.report()
    other = json.loads(report.to_json())
    other["processes"][0]["pid"] += 1
    other = _native.load_report(json.dumps(other).encode(), "other")
    assert addresses_in(other) == addresses_in(report) != None  # noqa: E711
    assert addresses_in(cyclewatch.Report.merge([report, other])) is None
    assert addresses_in(cyclewatch.Report.merge([report, report])) == addresses_in(report)


def test_scans_contain_addresses(device):
    Cache(device.allocate(4 * MIB))
    [group] = addresses_in(cyclewatch.scan(devices="cuda"))
    assert (group["freed"], group["paths"]) == (False, [])


def test_scans_of_other_processes_contain_addresses(device):
    """As `cyclewatch attach` takes them."""
    kept = device.allocate(4 * MIB)
    [group] = addresses_in(_native.scan(2, True, ["cuda"], None, 10))
    assert (group["addresses"], group["signature"]) == ([kept.facts["data_ptr"]], "")
    assert group["paths"][0].endswith("kept")


def test_accounts_contain_addresses(device, watch):
    kept = device.allocate(4 * MIB)
    Cache(device.allocate(2 * MIB))
    scan, owners = cyclewatch.scan(devices="cuda"), cyclewatch.live_owners(devices="cuda")
    account = ["cuda:0", "out of memory", 1, None, "torch", None, "headline", [], [], owners, []]
    account = _native.AccountRecord(*account)
    for base in (scan, watch.report()):
        report = _native.account_report(base, scan, scan.findings, owners, account)
        states = {owner.state for owner in live(snapshot_of(device, report)).values()}
        assert states == {"reachable", "dead"}
    assert len(addresses_in(_native.account_report(scan, scan, [], owners, account))) == 2
    assert kept is not None


def test_the_signature_of_a_variant_is_that_of_its_finding(device, watch):
    Cache(device.allocate(4 * MIB))
    watch.step(1)
    report = json.loads(watch.report().to_json())
    [finding] = report["findings"]
    names = ("name", "title", "location")
    other = {"signature": "cw1-0123456789abcdef", "occurrences": 1, "bytes": 1}
    finding["variants"] = [other | dict.fromkeys(names, "")]
    report["addresses"][0]["signature"] = other["signature"]
    [owner] = live(Snapshot(device.snapshot(), "x", ReportOwners(report))).values()
    assert owner.text == f"dead in cycle {other['signature']}: {finding['remedy']}"


def test_frozen_cycles(device):
    Cache(device.allocate(4 * MIB))
    gc.freeze()
    try:
        report = cyclewatch.scan(devices="cuda", frozen=True)
    finally:
        gc.unfreeze()
    [owner] = live(snapshot_of(device, report)).values()
    assert owner.text.startswith("dead in frozen cycle cw1-")


@pytest.mark.parametrize(
    "change",
    [
        {"paths": ["a", "b"]},
        {"addresses": [-1]},
        {"addresses": [1 << 64]},
        {"addresses": "1"},
        {"freed": 1},
        {"device": None},
    ],
)
def test_invalid_addresses_are_refused(device, watch, change):
    Cache(device.allocate(4 * MIB))
    gc.collect()
    report = json.loads(watch.report().to_json())
    report["addresses"][0].update(change)
    with pytest.raises(cyclewatch.ReportFormatError, match="addresses"):
        _native.load_report(json.dumps(report).encode(), "x")


@pytest.mark.parametrize(
    "change",
    [
        {"device": "cuda:x"},
        {"device": "cuda"},
        {"device": "cuda:²"},
        {"at": 1e300},
        {"at": -1e300},
        {"bytes": (1 << 64) - 1},
        {"addresses": [(1 << 64) - 1]},
        {"signature": "", "freed": True},
    ],
)
def test_unusual_addresses_are_harmless(device, watch, change):
    Cache(device.allocate(4 * MIB))
    watch.step(1)
    report = json.loads(watch.report().to_json())
    report["addresses"][0].update(change)
    report["processes"][0]["started_at"] = "not a time"
    snapshot = Snapshot(device.snapshot(), "x", ReportOwners(report))
    assert text.describe(snapshot, 10)
    assert snapshot.freed(0) == []
