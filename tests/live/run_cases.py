# SPDX-License-Identifier: Apache-2.0
"""Runs the cases and prints, as JSON, the first path of each."""

import gc
import importlib.util
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import cases

import cyclewatch

has_torch = importlib.util.find_spec("torch") is not None
answers = {}
for name, (function, _, _, needs_torch) in cases.CASES.items():
    if needs_torch and not has_torch:
        continue
    reference = function()
    gc.collect()
    path = next(iter(cyclewatch.why_alive(reference, 1)), None)
    answers[name] = (
        None
        if path is None
        else [str(path), f"{path.cut.label} -> {path.cut.target}", path.cut_frees]
    )
print(json.dumps({"version": "{}.{}".format(*sys.version_info), "answers": answers}))
