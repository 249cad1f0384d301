# SPDX-License-Identifier: Apache-2.0
"""Prints the text card of the leaky variant of each case as JSON.

Paths in the cards are relative to the current directory.
"""

import gc
import json
import os
import sys
from pathlib import Path

import cyclewatch

sys.path.insert(0, str(Path(__file__).parent))

from run_cases import FOLDER, load, one_tensor, register_substitutes  # noqa: E402


def card_of(path):
    module = load(path, "plain")
    with cyclewatch.watch(devices="all") as watch:
        module.leaky(one_tensor)
        gc.collect()
    [finding] = watch.report().findings
    return finding.to_text()


if __name__ == "__main__":
    register_substitutes()
    cases = sorted(Path(os.path.relpath(FOLDER)).glob("cases/*.py"))
    print(json.dumps({path.stem: card_of(path) for path in cases}))
