# SPDX-License-Identifier: Apache-2.0
"""Programs of a device whose CUDA is simulated find it as they left it, watched from end to end."""

import json
from pathlib import Path

import pytest

import cyclewatch

PROGRAM = Path(__file__).parent / "programs" / "simulated_cuda_program.py"
MIB = 1 << 20
# What the runtime tells the program at its next calls, and whether anything of ours is asked.
FAULTS = {
    "none": ([0, 0, 0], True),
    "not in use": ([0, 0, 0], False),
    "error 1 pending": ([1, 1, 0], False),
    "error 700 pending": ([700, 700, 700], False),
    "error 700 not met yet": ([700, 700, 700], False),
    "capture": ([0, 0, 0], True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_watch_leaves_the_device_as_it_is(interpreter, tmp_path, simulated_cuda, fault):
    outcome = interpreter.run(PROGRAM, *simulated_cuda, tmp_path, fault)
    state, driver, runtime, told = json.loads(outcome.stdout)
    expected, asked = FAULTS[fault]
    assert told == expected
    # Questions are all that was ever counted: no context made, no driver wanted, no capture broken.
    assert driver.keys() == runtime.keys() == ({"questions"} if asked else set())
    in_use = fault != "not in use"
    assert state == [in_use, in_use, 0, 0 if fault == "capture" else -1]
    # And the watch did what it is there for.
    (written,) = tmp_path.glob("cyclewatch-*.json")
    assert cyclewatch.Report.load(written).retained_bytes == 2 * MIB
    assert cyclewatch.Report.load(tmp_path / "saved.json").retained_bytes == MIB
