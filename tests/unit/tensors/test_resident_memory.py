# SPDX-License-Identifier: Apache-2.0
"""Tensors whose memory is not resident are not part of the memory in use."""

import re

import torch

import cyclewatch

MIB = 1 << 20


def tensors_of(account):
    return sum(size for label, size in account.lines if label.startswith("reachable:"))


def measured_after(create):
    """What `create` returns, the change of the lines of tensors in MiB, and the account."""
    before = tensors_of(cyclewatch.memory("cpu"))
    kept = create()
    account = cyclewatch.memory("cpu")
    assert sum(size for _, size in account.lines) == account.in_use
    return kept, round((tensors_of(account) - before) / MIB), account


def absent_in(account):
    """The MiB of the note."""
    found = [
        re.match(r"([\d.]+) MiB of the reachable tensors are not", each) for each in account.notes
    ]
    return sum(round(float(each[1])) for each in found if each)


def test_memory_that_was_never_written():
    kept, size, account = measured_after(lambda: torch.empty(256 * MIB, dtype=torch.uint8))
    assert (size, absent_in(account)) == (0, 256)
    kept[: 100 * MIB] = 1
    account = cyclewatch.memory("cpu")
    assert absent_in(account) == 156
    [owner] = [each for each in account.holders if each.nbytes == 256 * MIB]
    assert owner.absent_bytes // MIB in (155, 156)  # the first page may be shared


def test_file_that_is_read_on_demand(tmp_path):
    torch.save(torch.ones(256 * MIB, dtype=torch.uint8), tmp_path / "t.pt")
    kept, size, account = measured_after(lambda: torch.load(tmp_path / "t.pt", mmap=True))
    assert (size, absent_in(account)) == (0, 256)
    assert "other reachable tensors" not in account.verdict
    [owner] = [each for each in account.holders if each.nbytes >= 256 * MIB]
    assert owner.absent_bytes // MIB in (255, 256)  # some pages are read with the header
    assert kept.numel() == 256 * MIB
