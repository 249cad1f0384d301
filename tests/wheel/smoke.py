# SPDX-License-Identifier: Apache-2.0
"""Checks an installed wheel without torch, pytest or a compiler; exits with 1 if a check fails.

Leaks one registered buffer through a reference cycle and writes the report in every format. Checks
that the first suggestion is the back reference, and that CYCLEWATCH=1 starts a watch.
"""

import gc
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import metadata
from pathlib import Path

import cyclewatch


class Buffer:
    """Stands in for a library's array in device memory."""

    nbytes = 1 << 20


def read(buffer):
    """Describe the memory of `buffer` to cyclewatch."""
    return {"device": "cuda:0", "nbytes": buffer.nbytes, "data_ptr": id(buffer)}


class Engine:
    """Owns a worker that refers back to it."""

    def __init__(self):
        self.buffer = Buffer()
        self.worker = Worker(self)


class Worker:
    """Keeps its engine alive."""

    def __init__(self, engine):
        self.engine = engine


def leak():
    """Create one cycle that only the collector can free."""
    Engine()
    gc.collect()


def check_description():
    """Check that the description for a package index has no link to a file of the repository."""
    description = metadata("cyclewatch").get_payload()
    targets = re.findall(r"\]\(([^)]*)\)", description)
    assert "reference to cut" in description
    assert all(each.startswith(("https://", "#")) for each in targets), targets


def check_report():
    """Watch one leak; write and check a report in every format."""
    cyclewatch.register_owner(Buffer, read)
    with cyclewatch.watch(devices=("cuda",)) as watch:
        leak()
    report = watch.report()
    [finding] = report.findings
    assert finding.retained_bytes == Buffer.nbytes, finding.retained_bytes
    assert finding.cut.label == ".engine", finding.headline
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".txt", ".json", ".dot", ".svg", ".html"):
            path = Path(folder, "report" + suffix)
            report.save(path)
            assert path.stat().st_size > 100, suffix


def check_start_with_the_interpreter():
    """CYCLEWATCH=1 starts a watch in a program that imports cyclewatch only to register a type."""
    program = (
        f"import runpy, sys; smoke = runpy.run_path({__file__!r}); import cyclewatch; "
        "cyclewatch.register_owner(smoke['Buffer'], smoke['read']); smoke['leak']()"
    )
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "CYCLEWATCH": "1"},
            cwd=folder,
            check=True,
        )
        assert list(Path(folder).glob("cyclewatch-*.html")), os.listdir(folder)


if __name__ == "__main__":
    check_description()
    check_report()
    check_start_with_the_interpreter()
    print(f"cyclewatch {cyclewatch.__version__} from {Path(cyclewatch.__file__).parent}: ok")
