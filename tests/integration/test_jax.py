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
ARRAY = "ArrayImpl (uncommitted)"
COMMITTED = "ArrayImpl (committed)"


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
    [found] = owners(answers[case])
    assert found[:3] == [COMMITTED, size, 4]


def test_reading_shards_makes_no_arrays_and_names_their_holder(answers):
    assert answers["arrays made"] == 0
    found = sorted((count, size, paths) for _, size, count, paths, _ in answers["sharded"])
    assert found == [
        (4, 4 * 4096, ["main() local kept -> kept[0]"]),
        (4, 4 * 4096, ["main() local viewed"]),
        (4, 4 * 16384, ["main() local kept -> kept[1]"]),
    ]
    assert all(each[0].endswith(COMMITTED) for each in answers["sharded"])
    text = " ".join(each[4] for each in answers["sharded"]) + answers["account of shards"]
    assert "addressable_shards" not in text
    assert "_data" not in text
    assert answers["why sharded"] == ["main() local kept -> kept[0]"]


def test_views_share_a_buffer(answers):
    assert answers["with views"][0] == 4 * 4096


def test_deleted_and_donated_arrays_own_nothing(answers):
    assert answers["without buffers"] == [0, []]


def test_live_arrays_scans_and_accounts(answers):
    assert answers["live"] == [65536, 1, "cpu", "module global __main__.cache -> cache['logits']"]
    assert answers["why"] == ["module global __main__.cache -> cache['logits']"]
    assert answers["scan"] == answers["account"] == 16384
    assert answers["counted again"] == 0


def test_a_pending_computation_is_not_waited_for(answers):
    assert answers["still running"]
    assert answers["pending is listed"] > 0
