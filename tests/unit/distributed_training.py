# SPDX-License-Identifier: Apache-2.0
"""Trains a model with DDP or FSDP2, and checks that no memory in use is reported as never freed."""

import gc

import torch
import torch.distributed.fsdp
from torch import distributed, nn

import cyclewatch


def find():
    findings = cyclewatch.never_freed(settle=0, devices="cpu").findings
    return sorted((finding.signature, finding.occurrences) for finding in findings)


def wrapped(wrap, processes):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    if wrap == "distributed":
        return nn.parallel.DistributedDataParallel(model)
    mesh = distributed.init_device_mesh("cpu", (processes,))
    for layer in (model[0], model[2]):
        distributed.fsdp.fully_shard(layer, mesh=mesh)
    return distributed.fsdp.fully_shard(model, mesh=mesh)


def train(rank, wrap, processes, store):
    """Run in each of the processes."""
    gc.collect()
    before = find()
    distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=processes
    )
    try:
        model = wrapped(wrap, processes)
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(3):
            loss = model(torch.randn(2, 8)).sum()
            assert find() == before
            loss.backward()
            assert find() == before
            optimizer.step()
            optimizer.zero_grad()
            assert find() == before
    finally:
        distributed.destroy_process_group()
