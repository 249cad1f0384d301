# SPDX-License-Identifier: Apache-2.0
"""collect_at(): the steps at which one or several ranks collect, and automatic collection."""

import concurrent.futures
import gc
import json
import logging
import mmap
import os
import sys
import types
from pathlib import Path

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch.steps import memory_pressure, periodic_collection


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
        ({"pressure": 1}, ValueError),
        ({"pressure": 0}, ValueError),
        ({"pressure": "0.9"}, ValueError),
        ({"dead_bytes": 0}, ValueError),
        ({"dead_bytes": 1.5}, TypeError),
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


def test_collects_everything_at_high_memory_use(monkeypatch, collected):
    shares = {3: 0.95, 5: 0.89, 6: 0.9, 7: 0.95, 8: 0.95, 11: 0.95}
    step = 0
    freed = 0.5  # after a collection

    def share():
        return freed if collected[collections:] else shares.get(step, 0.1)

    monkeypatch.setattr(periodic_collection, "used_share", share)
    collector = cyclewatch.collect_at(every=10, pressure=0.9)
    found = {}
    for step in range(1, 13):
        collections = len(collected)
        if collector.run(step):
            found[step] = collected[-1]
    assert found == {3: 2, 6: 2, 7: 2, 8: 2, 10: 1, 11: 2}


def test_a_collection_that_does_not_help_is_not_repeated_in_each_step(monkeypatch, collected):
    monkeypatch.setattr(periodic_collection, "used_share", lambda: 0.95)
    collector = cyclewatch.collect_at(every=4, pressure=0.9)
    assert [step for step in range(1, 12) if collector.run(step)] == [2, 4, 6, 8, 10]
    assert collected == [1, 2, 1, 2, 1, 2]


def test_collects_when_dead_tensors_are_large(buffers_are_owners):
    collector = cyclewatch.collect_at(every=100, dead_bytes=1000)
    ran = []
    for step in range(1, 7):
        garbage = [Buffer(400)]
        garbage.append(garbage)
        del garbage
        ran.append(collector.run(step))
    collector.close()
    assert ran == [False, False, True, False, False, True]


def test_ranks_that_cannot_agree_collect_only_at_the_interval(monkeypatch, collected, caplog):
    caplog.set_level(logging.WARNING, "cyclewatch")
    monkeypatch.setattr(periodic_collection, "used_share", lambda: 0.95)
    distributed = types.SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        get_world_size=lambda: 2,
        get_backend_config=lambda _group: "cuda:nccl",
    )
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    monkeypatch.setitem(sys.modules, "torch.distributed.distributed_c10d", distributed)
    collector = cyclewatch.collect_at(every=3, pressure=0.9)
    assert [step for step in range(1, 8) if collector.run(step)] == [3, 6]
    (record,) = caplog.records
    assert "ignores pressure and dead_bytes" in record.getMessage()


def growth_of_the_share(nbytes):
    before = memory_pressure.used_share()
    assert 0 < before < 1
    mapped = mmap.mmap(-1, nbytes)
    mapped.write(b"x" * len(mapped))
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    grown = (memory_pressure.used_share() - before) * physical
    mapped.close()
    return grown


def test_the_share_of_the_cpu_memory_in_use():
    # Other processes also allocate and free memory meanwhile.
    assert any(60 << 20 < growth_of_the_share(64 << 20) < 90 << 20 for _ in range(20))


def test_the_share_of_a_device_in_use(monkeypatch):
    """Memory that torch has only reserved is free."""
    current = {"allocated": 30, "active": 40, "reserved": 90}
    torch = types.ModuleType("torch")
    torch._C = types.SimpleNamespace(
        _cuda_memoryStats=lambda index: {
            f"{name}_bytes": {"all": {"current": size if index == 1 else 0}}
            for name, size in current.items()
        }
    )
    torch.cuda = types.SimpleNamespace(
        is_initialized=lambda: True,
        current_device=lambda: 1,
        get_device_properties=lambda index: types.SimpleNamespace(total_memory=100 * index),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert memory_pressure.used_share() == 0.3


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


@pytest.mark.parametrize("trigger", ["pressure", "dead_bytes"])
def test_all_ranks_collect_when_one_needs_it(torch_interpreter, tmp_path, trigger):
    steps = collected_steps(torch_interpreter, tmp_path, "gloo", "default", 5, trigger)
    assert steps == [[5], [5]]


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
