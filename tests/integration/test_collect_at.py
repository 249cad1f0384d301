# SPDX-License-Identifier: Apache-2.0
"""collect_at(skip_if_clean=True) in a job of several processes with gloo."""

import concurrent.futures
import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the ranks use torch.distributed")

PROGRAM = Path(__file__).parent / "programs" / "collect_at_ranks.py"


def collected_steps(interpreter, folder, *arguments, ranks=2):
    """The steps at which each rank collected."""

    def run(rank):
        # The interface: without it, gloo looks up the name of the machine.
        outcome = interpreter.run(
            PROGRAM, rank, ranks, folder / "rendezvous", *arguments, GLOO_SOCKET_IFNAME="lo"
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
