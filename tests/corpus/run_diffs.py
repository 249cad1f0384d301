# SPDX-License-Identifier: Apache-2.0
"""Runs programs of the corpus from copies of their files and prints the results as JSON.

A report NAME.json is written next to the copies for each program with a finding.

Usage: run_diffs.py FOLDER NAME...
"""

import contextlib
import gc
import importlib
import io
import json
import sys
from pathlib import Path

from run_cases import Tensor, one_tensor, watch_stand_ins

import cyclewatch


def program_of(name):
    """The function that creates the cycle: a registered trial, or leaky() in a case's module."""
    trials = importlib.import_module("registry").TRIALS
    if name in trials:
        return lambda payload: trials[name][0](payload()) and None
    return importlib.import_module(name).leaky


def observe(name, folder):
    output = io.StringIO()
    sys.unraisablehook = lambda failure: print(failure.exc_value, file=output)
    end = "normal"
    gc.collect()
    before = Tensor.alive_count
    with (
        cyclewatch.watch(devices="all") as watch,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        try:
            program_of(name)(one_tensor)
        except Exception as error:
            end = repr(error)
            error.__traceback__ = None
        waiting = Tensor.alive_count - before
        gc.collect()
    report = watch.report()
    if report.findings:
        report.save(folder / f"{name}.json")
    return {
        "signatures": [finding.signature for finding in report.findings],
        "waiting": waiting,
        "end": [end, output.getvalue()],
    }


def main(folder, names):
    sys.path.insert(0, str(folder))
    watch_stand_ins()
    for path in sorted(folder.glob("*_trials.py")):
        importlib.import_module(path.stem)
    print(json.dumps({name: observe(name, folder) for name in names}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
