# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, the text card of the leaky variant of each case.

Paths in the cards are relative to the current directory.
"""

import gc
import json
import os
import sys
from pathlib import Path

import cyclewatch

sys.path.insert(0, str(Path(__file__).parent))

from run_cases import FOLDER, all_cases, load, one_tensor, watch_stand_ins  # noqa: E402


def card_of(cell):
    module = load(cell, "plain")
    with cyclewatch.watch(devices="all") as watch:
        module.leaky(one_tensor)
        gc.collect()
    [finding] = watch.report().findings
    return finding.to_text()


if __name__ == "__main__":
    watch_stand_ins()
    cases = all_cases(Path(os.path.relpath(FOLDER)))
    print(json.dumps({cell[0]: card_of(cell) for cell in cases}))
