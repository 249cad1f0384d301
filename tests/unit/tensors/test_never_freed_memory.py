# SPDX-License-Identifier: Apache-2.0
"""memory() follows autograd graphs once the program has searched for never freed memory."""

import gc

import pytest
import torch
import uncollectable

import cyclewatch
from cyclewatch.proofs import torch_layout

RELEASE = tuple(map(int, torch.__version__.split(".")[:2]))
pytestmark = pytest.mark.skipif(
    RELEASE < (2, 13), reason="before torch 2.13, the counts of nodes cannot be read"
)


@pytest.fixture
def no_search_yet(monkeypatch):
    monkeypatch.setattr(torch_layout, "_has_searched", False)


def never_freed_bytes():
    lines = dict(cyclewatch.memory("cpu").lines)
    return sum(size for label, size in lines.items() if label.startswith("never freed"))


def search():
    cyclewatch.never_freed(settle=0)


def end_step():
    with cyclewatch.watch(devices="cpu", never_freed=True) as watch:
        watch.step(0)


@pytest.mark.usefixtures("no_search_yet")
@pytest.mark.parametrize("ask", [search, end_step])
def test_memory_lists_a_cycle_through_nodes_after_a_search(ask):
    before = never_freed_bytes()
    references, cut = uncollectable.node_hook_captures_own_output()
    gc.collect()
    assert never_freed_bytes() == before, "memory() does not create objects for nodes unasked"
    ask()
    size, with_cycle = references[0]().nbytes, never_freed_bytes()
    cut()
    gc.collect()
    assert references[0]() is None
    assert with_cycle - never_freed_bytes() >= size


@pytest.mark.usefixtures("no_search_yet")
def test_nodes_are_not_read_during_a_backward_pass():
    search()
    kinds = []
    tensor = torch.ones(4, requires_grad=True)
    tensor.register_hook(lambda _: kinds.append(torch_layout.memory_layout()["kinds"]))
    (tensor * 2).sum().backward()
    assert "nodes" not in kinds[0]
    assert "nodes" in torch_layout.memory_layout()["kinds"]
