# SPDX-License-Identifier: Apache-2.0
"""Arrays of the real JAX, on the CPU with four simulated devices."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip(
    "jax", reason="jax is not installed: pip install jax (not part of requirements-dev.txt)"
)

PROGRAM = Path(__file__).parent / "programs" / "jax_arrays.py"
ARRAY = "ArrayImpl"


@pytest.fixture(scope="module")
def answers():
    done = subprocess.run(
        [sys.executable, PROGRAM], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def owners(answer):
    """The owners of a finding, with the last part of the type."""
    return [[each[0].rpartition("jaxlib.")[2].partition(".")[2], *each[1:]] for each in answer[1]]


def test_an_array_in_a_cycle_is_reported(answers):
    assert answers["cycle"][0] == 8192
    assert owners(answers["cycle"]) == [[ARRAY, 8192, 1, [8, 256], "float32", "Node.held[0]"]]
    assert owners(answers["bfloat16"]) == [[ARRAY, 512, 1, [256], "bfloat16", "Node.held[0]"]]
    assert answers["empty"] == [0, []]


def test_the_array_of_a_random_key_is_reported(answers):
    assert owners(answers["key"]) == [
        [ARRAY, 8, 1, [2], "uint32", "Node.held[0]._base_array"],
    ]


@pytest.mark.parametrize(("case", "size"), [("shards", 4096), ("replicated", 16384)])
def test_each_shard_is_counted(answers, case, size):
    assert answers[case][0] == 4 * size
    found = owners(answers[case])
    assert [each[1] for each in found] == [size] * 4
    assert [each[0] for each in found] == [
        ARRAY,
        *(f"{ARRAY} (.addressable_shards[{number}])" for number in (1, 2, 3)),
    ]


def test_views_share_a_buffer(answers):
    assert answers["with views"][0] == 4 * 4096


def test_deleted_and_donated_arrays_own_nothing(answers):
    assert answers["without buffers"] == [0, []]


def test_live_arrays_scans_and_accounts(answers):
    assert answers["live"] == [65536, 1, "cpu", "module global __main__.cache -> cache['logits']"]
    assert answers["why"] == ["module global __main__.cache -> cache['logits']"]
    assert answers["scan"] == answers["account"] == 16384


def test_a_pending_computation_is_not_waited_for(answers):
    assert answers["still running"]
    assert answers["pending is listed"] > 0
