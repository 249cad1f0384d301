# SPDX-License-Identifier: Apache-2.0
"""collect_at(): the steps at which one or several ranks collect, and automatic collection."""

import concurrent.futures
import gc
import json
import logging
import sys
import types
from pathlib import Path

import pytest
from owners import Buffer

import cyclewatch


@pytest.fixture(autouse=True)
def automatic_collection_is_restored():
    yield
    gc.enable()


@pytest.fixture
def collected(monkeypatch):
    """The generations that were collected."""
    generations = []
    monkeypatch.setattr(gc, "collect", generations.append)
    return generations


def test_collects_at_multiples_of_the_interval_but_not_at_the_first_step(collected):
    collector = cyclewatch.collect_at(every=3, generation=2)
    assert collected == [2]
    assert [step for step in range(10) if collector.run(step)] == [3, 6, 9]
    assert collected == [2] * 4
    assert [step for step in range(4) if cyclewatch.collect_at(every=1).run(step)] == [2, 3]


def test_automatic_collection_is_off_until_closed(collected):
    with cyclewatch.collect_at() as collector:
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    collector.close()
    assert not gc.isenabled()  # closed already


def test_automatic_collection_stays_off_if_it_was_off(collected):
    gc.disable()
    cyclewatch.collect_at().close()
    assert not gc.isenabled()


def test_collect_is_static_and_logs_the_reason(collected, caplog):
    caplog.set_level(logging.INFO, "cyclewatch")
    cyclewatch.collect_at.collect("checkpoint", generation=0)
    assert collected == [0]
    (record,) = caplog.records
    assert record.getMessage().startswith("checkpoint: generation 0, ")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"every": 0}, ValueError),
        ({"generation": 3}, ValueError),
        ({"every": 1.5}, TypeError),
    ],
)
def test_invalid_arguments_leave_automatic_collection_on(arguments, error):
    with pytest.raises(error):
        cyclewatch.collect_at(**arguments)
    assert gc.isenabled()


def test_skips_collections_that_would_free_no_tensor(buffers_are_owners):
    collector = cyclewatch.collect_at(every=2, skip_if_clean=True)
    collected = []
    for step in range(1, 9):
        garbage = []
        garbage.append(garbage)
        if step == 4:
            garbage.append(Buffer())
        del garbage
        collected.append(collector.run(step))
    collector.close()
    assert [step for step, ran in enumerate(collected, 1) if ran] == [4]


def test_memory_that_the_autograd_graph_of_the_garbage_saves_is_not_skipped():
    torch = pytest.importorskip("torch")
    collector = cyclewatch.collect_at(every=2, skip_if_clean=True)
    garbage = [torch.relu(torch.ones(4, requires_grad=True))]
    garbage.append(garbage)
    del garbage
    assert collector.run(2)
    assert not collector.run(4)
    collector.close()


def test_skips_nothing_before_the_process_group_exists(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    collector = cyclewatch.collect_at(every=2, skip_if_clean=True)
    assert [step for step in range(1, 7) if collector.run(step)] == [2, 4, 6]
    collector.close()


def test_invalid_group():
    pytest.importorskip("torch.distributed")
    with pytest.raises(ValueError, match="group must support CPU tensors"):
        cyclewatch.collect_at(skip_if_clean=True, group=object())


def test_group_must_support_cpu_tensors(monkeypatch):
    torch = types.SimpleNamespace(get_backend_config=lambda _group: "cuda:nccl")
    monkeypatch.setitem(sys.modules, "torch.distributed.distributed_c10d", torch)
    with pytest.raises(ValueError, match="new_group\\(backend='gloo'\\)"):
        cyclewatch.collect_at(skip_if_clean=True, group=object())
    assert gc.isenabled()


# A job of several processes with gloo.
RANKS = Path(__file__).parents[1] / "integration" / "programs" / "collect_at_ranks.py"


def collected_steps(interpreter, folder, *arguments, ranks=2):
    """The steps at which each rank collected garbage."""

    def run(rank):
        # The interface: without it, gloo looks up the name of the machine.
        outcome = interpreter.run(
            RANKS, rank, ranks, folder / "rendezvous", *arguments, GLOO_SOCKET_IFNAME="lo"
        )
        return json.loads(outcome.stdout)

    with concurrent.futures.ThreadPoolExecutor(ranks) as pool:
        return list(pool.map(run, range(ranks)))


@pytest.mark.parametrize("group", ["default", "gloo"])
def test_all_ranks_collect_when_one_has_dead_tensors(torch_interpreter, tmp_path, group):
    steps = collected_steps(torch_interpreter, tmp_path, "gloo", group, 3)
    assert steps == [[4], [4]]


def test_no_rank_collects_when_all_are_clean(torch_interpreter, tmp_path):
    assert collected_steps(torch_interpreter, tmp_path, "gloo", "default", 0) == [[], []]


def test_nothing_is_skipped_if_the_ranks_cannot_agree(torch_interpreter, tmp_path):
    # A backend without CPU tensors.
    steps = collected_steps(torch_interpreter, tmp_path, "cuda:gloo", "default", 0)
    assert steps == [[2, 4, 6, 8]] * 2
