# SPDX-License-Identifier: Apache-2.0
"""Garbage of few objects with millions of references is found, and not all of it named."""

import json
from pathlib import Path

PROGRAM = Path(__file__).parent / "programs" / "many_references_program.py"


def test_what_millions_of_references_lead_to_is_found(interpreter):
    repeated, dense = json.loads(interpreter.run(PROGRAM).stdout)
    # One object held a million times: the other times say nothing, so nothing was left out.
    assert repeated == [8, 1, 1, []]
    # 900 lists that hold each other: the owner in one of them has its cycle all the same.
    assert dense[:3] == [8, 1, 1]
    [left_out] = dense[3]
    assert 0 < left_out < 900 * 900
