# SPDX-License-Identifier: Apache-2.0
"""Runs the commands and programs in README, CONTRIBUTING and docs/.

- ``python`` blocks of the guide run as programs; ``bash`` blocks of every page run as commands.
- A ``text`` block with a card must match the output of the ``python`` block before it.
- ``console`` blocks of a page run in order; the output of each block must match the page.

CYCLEWATCH_UPDATE_PAGES=1 writes the output into the pages.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest

import cyclewatch

pytest.importorskip("torch", reason="the documented programs use torch")
pytestmark = pytest.mark.usefixtures("installation")

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Files that the commands mention.
CLEAN = "import torch\n\ntorch.zeros(8)\n"
LEAK = """
import gc

import torch


class Node:
    def __init__(self):
        self.data = torch.zeros(8)
        self.me = self


Node()
"""
SCALE = """\
import torch


class Model:
    def __init__(self):
        self.weight = torch.ones(8)
        self._scale = lambda factor: factor * self.weight


Model()
"""
FILES = {
    "clean.py": CLEAN,
    "train.py": f"{LEAK}gc.collect()\n",
    "scale.py": SCALE,
    "tests/test_engine.py": LEAK.replace("Node()", "def test_node():\n    Node()"),
}

# The example that the console blocks of a page use, and the subdirectory it is copied to.
EXAMPLES = {"command_line": "examples", "pytest": "examples/pytest_project"}
COPIED_TO = {"command_line": "examples", "pytest": ""}

# These fail: the tests leak.
STATUS = {
    "pytest": 1,
    "pytest --cyclewatch=fail": 1,
    "pytest --cyclewatch=fail tests": 1,
    (
        "pytest --cyclewatch --cyclewatch-baseline=cyclewatch-baseline.json"
        " --cyclewatch-update-baseline"
    ): 1,
}

# Commands that need a clone or another interpreter, or that take minutes. Each value names what
# runs the command instead, or says why it is not run.
RUN_ELSEWHERE = {
    "pip install .": "scripts/wheel builds, installs and tests the package",
    "pip install 'cyclewatch[parquet]'": "needs an index that has cyclewatch",
    "cyclewatch convert --to parquet": "tests/fleet, with several reports and jobs",
    "cyclewatch convert --into trace.json": "tests/unit/test_chrome_trace.py",
    "cyclewatch attach 4242": "tests/unit/cli/test_attach.py, with CPython 3.14",
    "cyclewatch view --follow": "tests/unit/cli/test_following.py",
    "cyclewatch memory 4242": "tests/unit/cli/test_memory.py, with CPython 3.14",
    "cyclewatch snapshot": "tests/unit/cli/test_snapshot.py; torch writes snapshots only on a GPU",
    "make demo": "test_make_demo",
    "make gpu-kit": "builds a wheel for minutes; tests/gpu/test_gpu.py",
    "(cd .build/gpu-kit": "as above",
    ".venv/bin/python tests/gpu/page.py": "as above",
    "python3 tests/gpu/run.py": "needs the folder of make gpu-kit; tests/gpu/test_gpu.py",
    "make test": "runs this test",
    "make wheel": "scripts/wheel tests every wheel with the commands shown on the page",
    "python3 -m venv env": "scripts/wheel",
    "env/bin/pip install dist/cyclewatch-*.whl": "scripts/wheel",
    "env/bin/python tests/wheel/smoke.py": "scripts/wheel",
    "make bench": "measures for minutes",
    "make soak": "measures for half an hour",
    "scripts/bench --quick": "needs the build of make bench",
    "scripts/viewer": "make lint, make test, or draws pictures",
    "scripts/build dev core_tests": "make test",
    ".venv/bin/python -m pytest": "make test",
    "mkdir .build/fuzz/kept": "needs clang and an hour of make fuzz",
    ".build/fuzz/tests/fuzz/analysis_fuzz": "as above",
    "(cd .build/fuzz/kept": "as above",
}


def blocks(*languages):
    """Yield the language and text of each code block whose language is in `languages`."""
    for page in PAGES:
        for number, block in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8")), 1):
            language, text = block.groups()
            # Python blocks outside the guide are fragments, or programs that other tests run.
            if language in languages and (language != "python" or page.parent.name == "guide"):
                yield pytest.param(language, text, id=f"{page.stem}-{number}")


def runs_elsewhere(text):
    """Whether RUN_ELSEWHERE contains every command of the block."""
    return all(line.startswith(tuple(RUN_ELSEWHERE)) for line in text.splitlines())


def environment():
    """The environment of a shell in which cyclewatch is installed and no browser opens."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(
            ("CYCLEWATCH", "PYTEST", "PYTHONDEVMODE", "MAKE", "MFLAGS", "COLUMNS")
        )
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return {
        **kept,
        "PATH": path,
        "BROWSER": "true",
        "PYTEST_ADDOPTS": "-q -p no:cacheprovider",
    }


@pytest.fixture
def short_folder():
    """A directory whose path is so short that cards do not abbreviate it."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path) / "app"
        folder.mkdir()
        yield folder


def run(program, folder):
    return subprocess.run(
        program,
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(("language", "text"), blocks("python", "bash"))
def test_block_runs(tmp_path, language, text):
    if runs_elsewhere(text):
        return
    for name, contents in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(contents)
    program = [sys.executable, "-c", text] if language == "python" else ["bash", "-ec", text]
    done = run(program, tmp_path)
    assert done.returncode == STATUS.get(text.splitlines()[0], 0), done.stdout


def cards():
    """Yield page, program and card for each program block that is followed by a card block."""
    for page in PAGES:
        found = [block.groups() for block in BLOCK.finditer(page.read_text(encoding="utf-8"))]
        for number, ((first, program), (second, card)) in enumerate(pairwise(found), 1):
            if (first, second) == ("python", "text") and "\n    id    cw1-" in card:
                yield pytest.param(page, program, card, id=f"{page.stem}-{number}")


@pytest.mark.parametrize(("page", "program", "card"), cards())
def test_program_prints_the_card_below_it(short_folder, page, program, card):
    (short_folder / "train.py").write_text(program)
    done = run([sys.executable, "train.py"], short_folder)
    assert done.returncode == 0, done.stdout
    output = done.stdout.replace(str(short_folder), "/app")
    # From the first line of the block to the end of the card.
    first = comparable(card.splitlines()[0]).split(":")[0]
    start = next(
        i for i, line in enumerate(output.splitlines()) if comparable(line).startswith(first)
    )
    shown = "\n".join(output.splitlines()[start:])
    printed = shown[: shown.index("\n    id    cw1-") + len("\n    id    cw1-0123456789abcdef\n")]
    if os.environ.get("CYCLEWATCH_UPDATE_PAGES") != "1":
        assert comparable(printed) == comparable(card)
    elif comparable(printed) != comparable(card):
        page.write_text(page.read_text().replace(card, printed))


def test_make_demo():
    done = run(["make", "demo"], ROOT)
    assert done.returncode == 0, done.stdout
    # A finding whose size doubles has a second line, with the same report.
    pages = {Path(path) for path in re.findall(r"; report: (.*)$", done.stdout, re.MULTILINE)}
    assert len(pages) == 2
    for page in pages:
        assert cyclewatch.Report.load(page).findings
        page.unlink()


def test_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        name
        for page in PAGES
        for name in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.MULTILINE)
    }
    assert named - targets == set()


def transcript(text):
    """The commands of a console block, and the output of each."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def comparable(text):
    """The text without measured values, on one line because line breaks depend on path lengths."""
    # How the memory in use of a process changed differs from run to run (see test_diff_memory.py).
    text = re.sub(r"^Memory in use .*\n(?:  .*\n)*", "", text, flags=re.MULTILINE)
    measured = r"(?:\d[\d.,]* of )?\d[\d.,]* (?:[mu]?s|%|collections?|objects?)\b"
    text = re.sub(rf"{measured}|\d[\d.]* %|\S+Z,|process \d+|Python [\d.]+", "-", text)
    return " ".join(text.split())


def without_progress(text):
    return re.sub(r"^[.F]+ +\[100%\]\n|(?<=passed) in \d+\.\d+s", "", text, flags=re.MULTILINE)


def printed_by(command, status, folder):
    """Run a command of a console block with `$?` set to `status`; return exit status and output."""
    done = run(["bash", "-c", f"(exit {status}); {command}"], folder)
    assert done.returncode == STATUS.get(command, 0), done.stdout
    return done.returncode, without_progress(done.stdout).replace(str(folder), "/app")


@pytest.mark.parametrize("name", EXAMPLES)
def test_console_blocks_print_what_the_page_shows(short_folder, name):
    page = ROOT / "docs" / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    update = os.environ.get("CYCLEWATCH_UPDATE_PAGES") == "1"
    status = 0
    folder = short_folder
    shutil.copytree(ROOT / EXAMPLES[name], folder / COPIED_TO[name], dirs_exist_ok=True)
    for block in [block[2] for block in BLOCK.finditer(text) if block[1] == "console"]:
        for command, shown in transcript(block):
            status, output = printed_by(command, status, folder)
            if comparable(output) != comparable(shown):
                assert update, f"$ {command}\n{output}\n{page.name} shows\n{shown}"
                line = f"$ {command}\n"
                text = text.replace(line + shown, line + output)
    if update:
        page.write_text(text, encoding="utf-8")
