# SPDX-License-Identifier: Apache-2.0
"""A watch never changes the state of the (simulated) CUDA libraries."""

import json
from pathlib import Path

import pytest

import cyclewatch

PROGRAM = Path(__file__).parent / "programs" / "simulated_cuda_program.py"
MIB = 1 << 20
# The errors that the runtime returns to the program's next calls.
FAULTS = {
    "none": [0, 0, 0],
    "not in use": [0, 0, 0],
    "error 1 pending": [1, 1, 0],
    "error 700 pending": [700, 700, 700],
    "capture": [0, 0, 0],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_watch_leaves_the_device_as_it_is(interpreter, tmp_path, simulated_cuda, fault):
    outcome = interpreter.run(PROGRAM, *simulated_cuda, tmp_path, fault)
    state, driver, runtime, errors = json.loads(outcome.stdout)
    assert errors == FAULTS[fault]
    in_use = fault != "not in use"
    assert driver.keys() == ({"queries"} if in_use else set())
    assert runtime.keys() == ({"queries"} if in_use else set())
    assert state == [in_use, 0, 0 if fault == "capture" else -1]
    (written,) = tmp_path.glob("cyclewatch-*.json")
    assert cyclewatch.Report.load(written).retained_bytes == 2 * MIB
    assert cyclewatch.Report.load(tmp_path / "saved.json").retained_bytes == MIB


def test_an_owner_that_cuda_contradicts_is_not_reported(interpreter, simulated_cuda):
    program = PROGRAM.with_name("contradicted_owner.py")
    reason, count, notes = interpreter.run(program, *simulated_cuda).stdout.splitlines()
    assert reason.startswith("owners of type ")
    assert reason.endswith("Exaggerating whose device or size CUDA contradicts")
    assert count == "3"
    assert "claims 4.0 GiB of cuda:0 at an address that CUDA knows as 64.0 KiB of cuda:0" in notes


ACCOUNTS = {
    "torch": [
        ("reachable: other tensors", 200),
        ("dead in 1 cycle (a collection frees them)", 60),
        ("remainder of torch's allocations (C++ code, rounding of sizes)", 40),
        ("freed, but another stream may still use it", 10),
        ("free in partly used segments (fragmented; largest free block 3.0 MiB)", 40),
        ("free in whole segments (empty_cache() returns them)", 50),
        ("reachable: arrays of other libraries", 20),
        ("allocated with cudaMallocAsync() by other libraries", 10),
        ("cached by the pool of cudaMallocAsync()", 20),
        ("reserved for captured CUDA graphs", 10),
        ("used by CUDA contexts, other libraries and other processes", 240),
    ],
    "not in use": [
        ("reachable: other tensors", 200),
        ("dead in 1 cycle (a collection frees them)", 60),
        ("remainder of torch's allocations (C++ code, rounding of sizes)", 40),
        ("freed, but another stream may still use it", 10),
        ("free in partly used segments (fragmented; largest free block 3.0 MiB)", 40),
        ("free in whole segments (empty_cache() returns them)", 50),
    ],
}


@pytest.mark.parametrize("case", ["torch", "not in use"])
def test_the_account_of_a_device_adds_up(interpreter, simulated_cuda, case):
    program = PROGRAM.with_name("memory_account.py")
    account = json.loads(interpreter.run(program, *simulated_cuda, case).stdout)
    lines = [(line["label"], line["bytes"] / MIB) for line in account["lines"]]
    assert lines == ACCOUNTS[case]
    expected = (700 * MIB, 1 << 30) if case == "torch" else (400 * MIB, None)
    assert (account["in_use"], account["total"]) == expected
    assert account["device"] == "cuda:0"
    assert "of which 60.0 MiB dead in 1 cycle (a collection frees them): cut " in account["verdict"]


def test_the_account_of_a_device_without_torch(interpreter, simulated_cuda):
    program = PROGRAM.with_name("memory_account.py")
    account = json.loads(interpreter.run(program, *simulated_cuda, "no torch").stdout)
    assert account["in_use"] == sum(line["bytes"] for line in account["lines"]) == 700 * MIB
    labels = [line["label"] for line in account["lines"]]
    assert "dead in 1 cycle (a collection frees them)" in labels
    assert "cached by the pool of cudaMallocAsync()" in labels
