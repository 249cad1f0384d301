# SPDX-License-Identifier: Apache-2.0
"""Runs one case in this process and prints "RESULT " and the result as JSON.

Usage: observe.py CASE_FILE            watch leaky() and print the findings
       observe.py --count CASE_FILE    print how many tensors leaky() leaks, without a watch

A case defines leaky(). It may also define OWNERS, a dict from classes to functions that return the
size of an instance in bytes. Instances of these classes count as tensor owners, like torch tensors.
"""

import gc
import json
import sys
import tempfile
import types
from pathlib import Path


def load(path):
    """Run the case at `path` as the module `__main__`, and return the module."""
    module = types.ModuleType("__main__")
    module.__file__ = str(path)
    sys.modules["__main__"] = module
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


def memory_reader(size):
    """Return a reader for register_owner(); arrays that share memory are counted once."""

    def read(owner):
        interface = getattr(owner, "__array_interface__", None)
        address = interface["data"][0] if interface else id(owner)
        memory = {"device": "cpu", "nbytes": size(owner), "data_ptr": address}
        if interface:
            memory.update(shape=owner.shape, dtype=str(owner.dtype))
        return memory

    return read


def reference_text(reference):
    """Format a reference as the patterns in cases.toml expect."""
    return f"{reference.label} of {reference.holder}"


def cut_of(finding):
    """Return the references to cut, or an empty list if none is suggested."""
    return list(finding.cuts) or [finding.cut] * (finding.cut is not None)


def relative(report):
    """Return `report` with paths relative to the current directory, where the libraries are."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(report.to_json().replace(f"{Path.cwd()}/", ""))
        file.flush()
        return type(report).load(file.name)


def describe(finding):
    """Return the fields of one finding for verdicts.py and later analysis."""
    return {
        "cut": [reference_text(reference) for reference in cut_of(finding)],
        "alternatives": [reference_text(reference) for reference in finding.alternatives],
        "status": finding.status,
        "reason": finding.status_reason,
        "bytes": finding.retained_bytes,
        "remedy": finding.remedy,
        "card": finding.to_text(),
        "pattern": finding.pattern,
        "signature": finding.signature,
        "tie": finding.tie,
    }


def warm_up(leaky):
    """Run `leaky` once, so that the caches it fills are not counted."""
    leaky()
    gc.collect()
    gc.disable()


def find(module):
    """Return the findings of one call of leaky(), largest first."""
    import cyclewatch

    for owner, size in getattr(module, "OWNERS", {}).items():
        cyclewatch.register_owner(owner, memory_reader(size))
    warm_up(module.leaky)
    with cyclewatch.watch(devices=("cpu",)) as watch:
        module.leaky()
        gc.collect()
    return [describe(finding) for finding in relative(watch.report()).findings]


def count_tensors():
    """Return the number of live tensors, without running any of the program's code."""
    import torch

    return sum(issubclass(type(item), torch.Tensor) for item in gc.get_objects())


def count(module):
    """Return how many tensors survive leaky(), and how many of these survive a collection."""
    warm_up(module.leaky)
    before = count_tensors()
    module.leaky()
    uncollected = count_tensors() - before
    gc.collect()
    return {"uncollected": uncollected, "immortal": count_tensors() - before}


if __name__ == "__main__":
    main_module = sys.modules["__main__"]  # load() replaces this; keep our globals alive
    run = count if sys.argv[1] == "--count" else find
    print("\nRESULT " + json.dumps(run(load(Path(sys.argv[-1]).resolve()))))
