# SPDX-License-Identifier: Apache-2.0
"""Checks of memory() and of snapshots of torch's allocator: `memory.py NAME DEVICE`."""

import gc
import json
import logging
import os
import subprocess
import sys
import tempfile

import support
import torch
from support import BLOCK, leak

import cyclewatch
from cyclewatch.snapshots import history, pickle_data, text, usage
from cyclewatch.snapshots.allocator_state import Snapshot, location

MIB = 1 << 20


def account_adds_up(device):
    """The lines of the account add up to what CUDA says is in use, and torch's to its counters."""
    gc.collect()
    gc.disable()
    layer = torch.nn.Linear(1024, 1024, device=device)
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.ones(8, 1024, device=device)).sum().backward()
    optimizer.step()
    leak(torch.empty(BLOCK * 4096, dtype=torch.uint8, device=device))
    torch.empty(64 * MIB, dtype=torch.uint8, device=device)  # freed at once
    account = cyclewatch.memory(device)
    sizes = dict(account.lines)
    assert account.in_use == sum(sizes.values()), account.lines
    assert sizes["dead in 1 cycle (a collection frees them)"] == BLOCK * 4096, account.lines
    parameters = sum(each.nbytes for each in layer.parameters())
    assert sizes["reachable: parameters"] == parameters, account.lines
    assert sizes["reachable: gradients"] == parameters, account.lines
    assert sizes["reachable: optimizer state"] >= 2 * parameters, account.lines
    results = {"verdict": account.verdict, "in use": account.in_use}
    if device != "cpu":
        free, total = torch.cuda.mem_get_info()
        # Other processes may use the device.
        assert abs(account.in_use - (total - free)) < 64 * MIB, (account.in_use, total - free)
        assert account.total == total
        # torch keeps the segment of the tensor that was freed.
        assert sizes["free in whole segments (empty_cache() returns them)"] >= 64 * MIB, sizes
        others = sum(size for label, size in account.lines if not of_torch(label))
        reserved = torch.cuda.memory_reserved()
        assert account.in_use - others == reserved, (account.lines, reserved)
        assert account.peak == torch.cuda.max_memory_allocated(), account.peak
        results["reserved by torch"] = reserved
        results["others"] = others
    return results


def of_torch(label):
    """Whether torch's allocator has reserved the memory of a line."""
    return label.startswith(("reachable: ", "dead ", "remainder of torch", "free", "freed")) and (
        "other libraries" not in label
    )


def snapshot_is_read(device):
    """A snapshot has the totals of torch's counters, our lines, and the failed allocation."""
    torch.cuda.memory._record_memory_history(max_entries=10_000, stacks="python")
    kept = [torch.empty(size * MIB, dtype=torch.uint8, device=device) for size in (1, 3, 30, 3, 1)]
    del kept[2], kept[0]
    requested = torch.cuda.mem_get_info()[1] * 2
    try:
        torch.empty(requested, dtype=torch.uint8, device=device)
    except torch.cuda.OutOfMemoryError:
        pass
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snapshot.pickle")
        torch.cuda.memory._dump_snapshot(path)
        counters = torch.cuda.memory_stats()
        with open(path, "rb") as file:
            contents = file.read()
    torch.cuda.memory._record_memory_history(enabled=None)
    snapshot = Snapshot(pickle_data.load(contents), "snapshot.pickle")
    total = usage.usage_of(usage.on_device(snapshot, 0))
    assert total.reserved == counters["reserved_bytes.all.current"], vars(total)
    assert total.allocated == counters["allocated_bytes.all.current"], vars(total)
    assert total.allocated + total.pending == counters["active_bytes.all.current"], vars(total)
    assert total.fragmented == counters["inactive_split_bytes.all.current"], vars(total)
    assert total.unlisted == 0
    lines = [location(each.stack) for each in usage.by_stack(snapshot.segments).values()]
    assert any(os.path.basename(__file__) in line for line in lines), lines
    failures = history.History(snapshot, 0).failures
    assert [each.event.size for each in failures] == [requested], failures
    assert len(kept) == 3
    return {
        "bytes of the file": len(contents),
        "torch": torch.__version__,
        "first line": text.describe(snapshot, 3).splitlines()[0],
    }


def snapshot_names_owners(device):
    """`cyclewatch snapshot` names the owner of each live block of a leaking program."""
    torch.cuda.memory._record_memory_history(max_entries=10_000, stacks="python")
    model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024, device=device) for _ in range(3)))
    model(torch.ones(8, 1024, device=device)).sum().backward()
    losses = [torch.empty(3 * MIB, dtype=torch.uint8, device=device) for _ in range(4)]
    leak(torch.empty(50 * MIB, dtype=torch.uint8, device=device))
    [finding] = cyclewatch.scan(devices=device).findings
    allocated = torch.cuda.memory_allocated()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snapshot.pickle")
        cyclewatch.dump_snapshot(path)
        command = [sys.executable, "-m", "cyclewatch", "snapshot", path]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        described = subprocess.run([*command, "--json", "-n", "1000"], capture_output=True).stdout
        with open(path, "rb") as file:
            snapshot = Snapshot(pickle_data.load(file.read()), path)
    torch.cuda.memory._record_memory_history(enabled=None)
    owners = {
        block.address: block.owner
        for block in usage.blocks_of(usage.on_device(snapshot, 0))
        if block.state == "allocated"
    }
    for name, parameter in model.named_parameters():
        index, attribute = name.split(".")
        for tensor, ending in (
            (parameter, f"model[{index}].{attribute} (parameter)"),
            (parameter.grad, f"model[{index}].{attribute}.grad (gradient)"),
        ):
            owner = owners[tensor.data_ptr()]
            assert owner is not None and owner.text.endswith(ending), (owner, ending)
    for loss in losses:
        assert owners[loss.data_ptr()].text.endswith("losses[x] (other)"), owners
    [data] = json.loads(described)["snapshots"][0]["devices"]
    assert sum(each["bytes"] for each in data["owners"]) == allocated, data["owners"]
    [dead] = [each for each in data["owners"] if each["state"] == "dead"]
    assert dead["signature"] == finding.signature
    assert dead["owner"] == f"dead in cycle {finding.signature}: {finding.remedy}"
    assert dead["bytes"] == 50 * MIB, dead
    assert f"owner: {dead['owner']}" in shown
    return {"first line": shown.splitlines()[0], "owners": len(data["owners"])}


def snapshot_has_annotations(device):
    """torch's history has an annotation of the block of a leaked tensor, and of no other."""
    if not hasattr(torch._C, "_cuda_annotateMemory"):
        raise support.MissingError(f"torch {torch.__version__} has no annotations")
    torch.cuda.memory._record_memory_history(max_entries=10_000, stacks="python")
    kept = torch.empty(3 * MIB, dtype=torch.uint8, device=device)
    tensor = torch.empty(50 * MIB, dtype=torch.uint8, device=device)
    address = tensor.data_ptr()
    leak(tensor[MIB:])
    del tensor
    [finding] = cyclewatch.scan(devices=device).findings
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snapshot.pickle")
        cyclewatch.dump_snapshot(path)
        with open(path, "rb") as file:
            snapshot = pickle_data.load(file.read())
    torch.cuda.memory._record_memory_history(enabled=None)
    events = [each for trace in snapshot["device_traces"] for each in trace]
    [event] = [each for each in events if each["action"] == "annotate"]
    expected = f"cyclewatch: dead in cycle {finding.signature}: {finding.remedy}"
    assert (event["addr"], event["user_metadata"]) == (address, expected), event
    assert expected in torch.cuda._memory_viz.trace(snapshot)
    assert kept.numel() == 3 * MIB
    return {"annotation": expected}


CHECKS = {
    check.__name__: check
    for check in (
        account_adds_up,
        snapshot_is_read,
        snapshot_names_owners,
        snapshot_has_annotations,
    )
}

if __name__ == "__main__":
    logging.getLogger("cyclewatch").setLevel(logging.CRITICAL)
    support.main(CHECKS)
