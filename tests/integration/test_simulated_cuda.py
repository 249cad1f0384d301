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
