# SPDX-License-Identifier: Apache-2.0
"""A watch does not change the state of a (simulated) CUDA device."""

import json
from pathlib import Path

import pytest

import cyclewatch

PROGRAM = Path(__file__).parent / "programs" / "simulated_cuda_program.py"
MIB = 1 << 20
# The results of the program's next calls, and whether the watch queries the device.
FAULTS = {
    "none": ([0, 0, 0], True),
    "not in use": ([0, 0, 0], False),
    "error 1 pending": ([1, 1, 0], False),
    "error 700 pending": ([700, 700, 700], False),
    "error 700 unreported": ([700, 700, 700], False),
    "capture": ([0, 0, 0], True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_device_state_is_unchanged(interpreter, tmp_path, simulated_cuda, fault):
    outcome = interpreter.run(PROGRAM, *simulated_cuda, tmp_path, fault)
    state, driver, runtime, errors = json.loads(outcome.stdout)
    expected, queried = FAULTS[fault]
    assert errors == expected
    # Only queries: no context was created, no driver initialised and no capture broken.
    assert driver.keys() == runtime.keys() == ({"questions"} if queried else set())
    in_use = fault != "not in use"
    assert state == [in_use, in_use, 0, 0 if fault == "capture" else -1]
    (written,) = tmp_path.glob("cyclewatch-*.json")
    assert cyclewatch.Report.load(written).retained_bytes == 2 * MIB
    assert cyclewatch.Report.load(tmp_path / "saved.json").retained_bytes == MIB
