# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch snapshot``: files, output and exit status."""

import io
import json
import pickle
import sys

import pytest
from allocator import MIB, Allocator, frames

import cyclewatch
from cyclewatch.cli.failures import Status

STEP = frames("/home/me/train.py:30 step", "/home/me/train.py:50 <module>")


@pytest.fixture
def snapshot(tmp_path):
    """Writes a snapshot with `count` blocks of 3 MiB."""

    def write(name, count, **options):
        allocator = Allocator(**options)
        for _ in range(count):
            allocator.malloc(3 * MIB, STEP)
        return allocator.dump(tmp_path / name)

    return write


def test_one_snapshot_is_described(command, snapshot):
    outcome = command("snapshot", snapshot("a.pickle", 4))
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(
        "cuda:0: 20.0 MiB reserved by torch: 12.0 MiB allocated, 8.0 MiB free in partly used "
        "segments (largest free block 8.0 MiB)\n"
    )
    assert "   12.0 MiB  4 x 3.0 MiB            /home/me/train.py:30 in step" in outcome.out
    assert "called from /home/me/train.py:50 in <module>" in outcome.out


def test_owners_come_from_another_file(command, snapshot, tmp_path):
    path = snapshot("torch.pickle", 3)
    data = pickle.loads(path.read_bytes())
    first = data["segments"][0]["blocks"][0]["address"]
    names = ("type", "category", "path", "signature")
    owner = dict.fromkeys(names, "") | {"device": 0, "state": "reachable", "path": "kept[0]"}
    for name, address in (("owners", first), ("other", 1 << 20)):
        owners = {"owners": [{**owner, "address": address}], "findings": []}
        (tmp_path / f"{name}.pickle").write_bytes(pickle.dumps({**data, "cyclewatch": owners}))
    joined = command("snapshot", path, "--owners", "owners.pickle")
    assert "   3.0 MiB  1 x 3.0 MiB            kept[0] ()" in joined.out
    assert "Owners of the live allocations:" not in command("snapshot", path).out

    assert joined.out.startswith(
        "Owners from owners.pickle, which must be of the same process: 1 of 3 live blocks, "
        "3.0 MiB of 9.0 MiB\n\ncuda:0: "
    )
    counts = json.loads(command("snapshot", path, "--owners", "owners.pickle", "--json").out)
    assert counts["owners_from"]["owned_blocks"] == 1

    refused = command("snapshot", path, "--owners", "other.pickle")
    assert refused.status == Status.FILE
    assert "no owner in other.pickle has the address and the size of a block of" in refused.err
    assert "different processes, or the memory was freed between the two" in refused.err
    without = command("snapshot", path, "--owners", "torch.pickle")
    assert "torch.pickle has no owners; cyclewatch.dump_snapshot()" in without.err


@pytest.fixture
def report(snapshot):
    """Writes a report about the first block of a snapshot, which another fixture writes."""

    def write(name, **changes):
        blocks = pickle.loads(snapshot("torch.pickle", 3).read_bytes())["segments"][0]["blocks"]
        report = json.loads(cyclewatch.scan(devices="cuda").to_json())
        group = {"device": "cuda:0", "bytes": 3 * MIB, "at": 0.0, "freed": False}
        group |= {"signature": "", "category": "other", "paths": ["kept[0]"]}
        report["addresses"] = [{**group, "addresses": [blocks[0]["address"]], **changes}]
        report["processes"][0]["started_at"] = "2040-01-01T00:00:00.000Z"  # after the history
        cyclewatch._native.load_report(json.dumps(report).encode(), name).save(name)
        return name

    return write


@pytest.mark.parametrize("name", ["report.json", "report.html"])
def test_owners_come_from_a_report(command, report, name):
    joined = command("snapshot", "torch.pickle", "--owners", report(name))
    assert joined.out.startswith(f"Owners from {name}, which must be of the same process: 1 of 3 ")
    assert "   3.0 MiB  1 x 3.0 MiB            kept[0] (other)" in joined.out
    assert "   6.0 MiB  2 x 3.0 MiB            not in the report" in joined.out
    page = command("snapshot", "torch.pickle", "--owners", name, "-o", "-").out
    assert f"<p>Owners from {name}, which must be of the same process: 1 of 3 live" in page
    assert "<code>kept[0] (other)</code>" in page


def test_unrelated_reports_are_refused(command, report):
    refused = command("snapshot", "torch.pickle", "--owners", report("a.json", addresses=[7]))
    assert refused.status == Status.FILE
    assert "no owner in a.json has the address and the size of a block of torch" in refused.err
    report("a.json", bytes=1)
    assert command("snapshot", "torch.pickle", "--owners", "a.json").err == refused.err
    with open("a.json", encoding="utf-8") as file:
        stripped = file.read()
    command("strip", "--source", "a.json", "-o", "b.json")
    assert '"addresses"' in stripped
    for name, message in (
        ("b.json", "b.json contains no addresses: it found no storages on a CUDA device, an "),
        ("text.json", "text.json"),
    ):
        with open("text.json", "w", encoding="utf-8") as file:
            file.write('{"schema": 1}')
        outcome = command("snapshot", "torch.pickle", "--owners", name)
        assert (outcome.status, message in outcome.err) == (Status.FILE, True), outcome.err
    assert "a.json is not a snapshot. If it is a report" in command("snapshot", "a.json").err


def test_a_report_of_several_processes_has_no_addresses(command, report):
    report("a.json")
    with open("a.json", encoding="utf-8") as file:
        other = json.load(file)
    other["processes"][0]["pid"] += 1
    with open("b.json", "w", encoding="utf-8") as file:
        json.dump(other, file)
    command("merge", "a.json", "b.json", "-o", "both.json")
    outcome = command("snapshot", "torch.pickle", "--owners", "both.json")
    assert (
        "both.json contains no addresses: it covers 2 processes; use the report of" in outcome.err
    )


def test_two_snapshots_show_the_growth_first(command, snapshot):
    outcome = command("snapshot", snapshot("a.pickle", 1), snapshot("b.pickle", 3))
    assert "allocated +6.0 MiB (3.0 MiB -> 9.0 MiB)" in outcome.out.splitlines()[0]
    data = json.loads(
        command("snapshot", "--json", "a.pickle", "b.pickle").out,
    )
    assert [each["growth"] for each in data["changes"]] == [6 * MIB]
    assert data["snapshots"][1]["devices"][0]["usage"]["allocated"] == 9 * MIB
    words = "free in partly used segments -6.0 MiB (17.0 MiB -> 11.0 MiB)"
    assert words in data["headline"]
    command("snapshot", "a.pickle", "b.pickle", "-o", "grown.html")
    with open("grown.html", encoding="utf-8") as page:
        assert words.replace(">", "&gt;") in page.read()


def test_ranks_are_compared(command, snapshot):
    files = [snapshot(f"rank{rank}.pickle", 1 + 2 * (rank == 1)) for rank in range(3)]
    outcome = command("snapshot", *files)
    assert outcome.out.startswith("rank 1 differs most from the median of 3 ranks, by 6.0 MiB")
    two = command("snapshot", "--ranks", *files[:2])
    assert two.out.startswith("rank 1 differs from rank 0 by 6.0 MiB: +6.0 MiB at ")
    assert "median" not in two.out
    described = json.loads(command("snapshot", "--ranks", "--json", *files[:2]).out)["ranks"]
    [stack] = described[0]["stacks"]
    assert stack["bytes"] - stack["other"] == described[0]["distance"] == 6 << 20
    command("snapshot", "--ranks", *files[:2], "-o", "ranks.html")
    with open("ranks.html", encoding="utf-8") as page:
        assert ", the other rank " in page.read()
    one = command("snapshot", "--ranks", files[0])
    assert one.status != 0
    assert "--ranks compares snapshots of several ranks; name at least two files" in one.err
    assert json.loads(command("snapshot", "--json", *files).out)["ranks"][0]["rank"] == "rank 1"


def test_the_page_needs_no_network_and_escapes_text(command, tmp_path):
    allocator = Allocator(capacity=40 * MIB)
    stack = frames("/home/<script>alert(1)</script>.py:7 f&g\x1b[31m")
    allocator.malloc(20 * MIB, stack)
    allocator.free(allocator.malloc(20 * MIB, stack))
    with pytest.raises(MemoryError):
        allocator.malloc(60 * MIB, stack)
    allocator.dump(tmp_path / "a.pickle")
    outcome = command("snapshot", "a.pickle", "-o", "a.html")
    assert (outcome.status, outcome.out) == (0, "a.html\n")
    page = (tmp_path / "a.html").read_text()
    assert "<script" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;.py:7 in f&amp;g" in page
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "Out of memory" in page
    assert 'class="oom"' in page
    again = command("snapshot", "a.pickle", "-o", "a.html")
    assert (again.status, "use --force" in again.err) == (3, True)
    command("snapshot", "a.pickle", "-o", "b.html", "--json")
    assert (tmp_path / "b.html").read_text() == page


def test_a_snapshot_without_memory(command, tmp_path):
    Allocator().dump(tmp_path / "empty.pickle")
    outcome = command("snapshot", "empty.pickle")
    assert outcome.out == "empty.pickle: torch had reserved no device memory\n"


def test_standard_input(command, snapshot, monkeypatch):
    data = snapshot("a.pickle", 1).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert command("snapshot", "-").out.startswith("cuda:0: 20.0 MiB")


def test_unreadable_files_are_refused(command, tmp_path):
    (tmp_path / "text.pickle").write_text("hello")
    (tmp_path / "evil.pickle").write_bytes(b"\x80\x04cos\nsystem\n.")
    (tmp_path / "event.pickle").write_bytes(
        b"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces](](Neeu."
    )
    for name, message in (
        ("text.pickle", "cannot read text.pickle: it is not a pickle"),
        ("evil.pickle", "cannot read evil.pickle: the pickle refers to os.system at byte 2"),
        ("event.pickle", "cannot read the snapshot: it is not a snapshot: 'action' is missing"),
        ("none.pickle", "cannot read none.pickle: No such file"),
        (".", ". is a folder"),
    ):
        outcome = command("snapshot", name)
        assert (outcome.status, outcome.out) == (3, "")
        assert message in outcome.err
    assert command("snapshot").status == 2
