# SPDX-License-Identifier: Apache-2.0
"""never_freed() does not report memory that a training program still uses."""

import gc

import pytest
import torch
from training_states import STATES

import cyclewatch

pytestmark = pytest.mark.filterwarnings("ignore")


def find():
    findings = cyclewatch.never_freed(settle=0, devices="cpu").findings
    return sorted((finding.signature, finding.occurrences) for finding in findings)


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_memory_in_use_is_not_reported(state):
    gc.collect()
    before = find()  # the state with create_graph=True is never freed once the test has dropped it
    held, loss = state()
    assert find() == before
    gc.collect()
    assert find() == before
    if loss is not None and loss.requires_grad:
        # Only the loss keeps the graph alive.
        kept = [held]
        held = None
        assert find() == before
        loss.backward()
        assert find() == before
        del kept


@pytest.mark.parametrize("wrap", ["distributed", "sharded"])
def test_distributed_models_are_not_reported(wrap, tmp_path):
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1
    )
    before = find()
    try:
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
        if wrap == "distributed":
            model = torch.nn.parallel.DistributedDataParallel(model)
        else:
            model = torch.distributed.fsdp.fully_shard(
                model, mesh=torch.distributed.init_device_mesh("cpu", (1,))
            )
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(3):
            loss = model(torch.randn(2, 8)).sum()
            assert find() == before
            loss.backward()
            optimizer.step()
            assert find() == before
    finally:
        torch.distributed.destroy_process_group()
