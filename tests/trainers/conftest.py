# SPDX-License-Identifier: Apache-2.0
"""Fixtures and small models for the tests of trainers."""

import gc
import glob
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(autouse=True)
def clean_start(monkeypatch, tmp_path):
    """Use an empty folder, collect earlier garbage, and restore automatic collection."""
    monkeypatch.chdir(tmp_path)
    for name in ("CYCLEWATCH", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    gc.collect()
    yield
    gc.enable()


@pytest.fixture
def metadata(tmp_path):
    """A folder that makes the entry points of pyproject.toml visible to importlib.metadata."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    folder = tmp_path / "metadata" / "cyclewatch-0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: cyclewatch\nVersion: 0\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder.parent


@pytest.fixture
def run_program(tmp_path, metadata):
    """Run a program of this folder, with the entry points, and return the process."""

    def run(name, *words, ranks=1, check=True, **variables):
        launch = [sys.executable]
        if ranks > 1:
            launch += ["-m", "torch.distributed.run", f"--nproc-per-node={ranks}", "--standalone"]
        paths = [str(ROOT), str(metadata), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            # Without the interface, gloo looks up the name of the machine.
            "GLOO_SOCKET_IFNAME": "lo",
            "OMP_NUM_THREADS": "1",
            **variables,
        }
        outcome = subprocess.run(
            [*launch, str(PROGRAMS / name), *words],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if check and outcome.returncode != 0:
            pytest.fail(f"{name} ended with {outcome.returncode}\n{outcome.stderr}")
        return outcome

    return run


@pytest.fixture
def reports(tmp_path):
    """Return the JSON reports that were written into a folder."""
    import cyclewatch

    def read(folder="."):
        paths = sorted(glob.glob(str(tmp_path / folder / "cyclewatch-*.json")))
        return [cyclewatch.Report.load(path) for path in paths]

    return read


def reachable_without_code(start):
    """All objects that `start` refers to, except through modules, classes and functions."""
    code = (type, type(os), type(reachable_without_code))
    found, queue = {}, [start]
    while queue:
        item = queue.pop()
        if id(item) not in found and not isinstance(item, code):
            found[id(item)] = item
            queue += gc.get_referents(item)
    return list(found.values())


@pytest.fixture
def refers_to():
    """Whether an object refers to another one, other than through its classes and modules."""

    def answer(start, target):
        return any(each is target for each in reachable_without_code(start))

    return answer
