# SPDX-License-Identifier: Apache-2.0
"""Checks of memory() and of snapshots of torch's allocator: `memory.py NAME DEVICE`."""

import gc
import logging
import os
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
        others = sum(size for label, size in account.lines if not of_torch(label))
        reserved = torch.cuda.memory_reserved()
        assert account.in_use - others == reserved, (account.lines, reserved)
        results["reserved by torch"] = reserved
        results["others"] = others
    return results


def of_torch(label):
    """Whether torch's allocator has reserved the memory of a line."""
    return label.startswith(("reachable: ", "dead ", "used only by C++", "free", "freed")) and (
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


CHECKS = {check.__name__: check for check in (account_adds_up, snapshot_is_read)}

if __name__ == "__main__":
    logging.getLogger("cyclewatch").setLevel(logging.CRITICAL)
    support.main(CHECKS)
