# SPDX-License-Identifier: Apache-2.0
"""never_freed() does not report memory that a training program still uses."""

import gc

import pytest
import torch
from distributed_training import find, train
from training_states import STATES

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def no_hooks_left():
    """Otherwise, nothing would free the cycle of a hook that captures the optimizers."""
    yield
    for each in gc.get_objects():
        if type(each) is torch.nn.Parameter and each._post_accumulate_grad_hooks:
            each._post_accumulate_grad_hooks.clear()


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


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("wrap", ["distributed", "sharded"])
def test_distributed_models_are_not_reported(wrap, processes, tmp_path):
    if wrap == "sharded" and torch.__version__ < "2.7":
        pytest.skip("FSDP2 of torch 2.6 does not support the CPU")
    store = tmp_path / "store"
    if processes == 1:
        train(0, wrap, processes, store)
    else:
        torch.multiprocessing.spawn(train, (wrap, processes, store), nprocs=processes)
