# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch run`` runs a program as python itself does."""

import signal
import zipfile

import pytest
import torch

SEEN = """
    import sys
    print(sys.argv, sys.path[0], sys.flags, __name__, sorted(globals()))
    print(__spec__ and __spec__.name, sys.modules["__main__"].__dict__ is globals())
    print("err", file=sys.stderr)
"""
FAILS = """
    def inner():
        raise ValueError("no")
    def outer():
        try:
            inner()
        except ValueError as error:
            raise RuntimeError("really") from error
    outer()
"""
SPAWNS = """
    import dataclasses, multiprocessing, os, pickle

    @dataclasses.dataclass
    class Item:
        number: int

    def double(item):
        assert not any(name.startswith("CYCLEWATCH") for name in os.environ)
        return Item(2 * item.number)

    if __name__ == "__main__":
        assert pickle.loads(pickle.dumps(Item(1))) == Item(1)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.map(double, [Item(1), Item(2)]))
"""


@pytest.mark.parametrize("source", [SEEN, FAILS])
def test_scripts_modules_folders_archives_and_standard_input(
    python, program, interpreter, tmp_path, source
):
    python.executable = interpreter.path
    path = program(source)
    program(source, "package/__main__.py")
    with zipfile.ZipFile(tmp_path / "archive.pyz", "w") as archive:
        archive.write(path, "__main__.py")
    python.both("program.py", "--fail", "-m", "x", "--")
    python.both("-m", "program", "-m", "x")
    python.both("-mpackage")
    python.both("--", "program.py", "--fail")
    python.both("package", "a")
    python.both("archive.pyz", "a")
    python.both("-c", path.read_text(), "a", "-c")
    python.both("-", "a", stdin=path.read_bytes())


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("raise SystemExit(7)", 7),
        ("raise SystemExit('why')", 1),
        ("1 / 0", 1),
        ("x = (", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", -signal.SIGINT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("import sys; sys.excepthook = lambda *_: print('hook'); 1 / 0", 1),
    ],
)
def test_the_program_ends_as_without_it(python, program, source, status):
    program(source)
    assert python.both("program.py").returncode == status
    assert python.both("-m", "program").returncode == status


@pytest.mark.parametrize("words", [["missing.py"], ["-m", "nosuch"], ["."]])
def test_what_cannot_be_run(python, words):
    assert python.both(*words).returncode != 0


def test_classes_of_the_script_reach_spawned_children(python, program):
    outcome = python.both(program(SPAWNS))
    assert outcome.stdout == b"[Item(number=2), Item(number=4)]\n"


def test_children_are_watched_only_if_the_environment_says_so(python, program, tmp_path, leak):
    program(leak, "child.py")
    program("import subprocess, sys; subprocess.run([sys.executable, 'child.py'], check=True)")
    python.both("program.py", options=["-o", "{script}.json"])
    assert [path.name for path in tmp_path.glob("*.json")] == ["program.json"]
    more = {"CYCLEWATCH": "1", "CYCLEWATCH_OUTPUT": "{script}.json", "CYCLEWATCH_QUIET": "1"}
    python.run("-f", "-o", "own.json", "program.py", **more)
    names = sorted(path.name for path in tmp_path.glob("*.json"))
    assert names == ["child.json", "own.json", "program.json"]


@pytest.mark.parametrize(
    "options", [["-I", "-X", "dev", "-W", "ignore"], ["-Bu"], ["-bbB", "-Xutf8=0"]]
)
@pytest.mark.parametrize("joined", [True, False])
def test_the_options_of_python_are_kept(python, program, tmp_path, options, joined):
    path = program("import sys; print(sys.flags, sys.warnoptions, sys.stdout.write_through)")
    plain = python.start(*options, path)
    # -I leaves PYTHONPATH out: the package comes from the installation for development.
    command = ["-Bm" if joined else "-m", "cyclewatch"]
    watched = python.start(*options, *command, "run", path)
    assert watched.returncode == 0, watched.stderr
    if not joined:
        assert watched.stdout == plain.stdout
    assert b"dont_write_bytecode=1" in watched.stdout or not joined


def test_a_watch_that_cannot_start_keeps_the_program_from_starting(python, program):
    program("print('started')")
    wrong = python.run("--devices", "foo", "program.py")
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert wrong.stderr.startswith(b"cyclewatch: unknown device")
    bare = python.start("-S", "-m", "cyclewatch", "run", "program.py")
    assert (bare.returncode, bare.stdout) == (3, b"")
    assert b"cyclewatch-autostart.pth" in bare.stderr


def test_the_checkpoint_converter_of_torch(python, tmp_path):
    """A command-line tool that is not ours, works on tensors and needs no network."""
    torch.save({"weights": torch.ones(100)}, tmp_path / "saved.pt")
    tool = ("-m", "torch.distributed.checkpoint.format_utils")
    python.start(*tool, "torch_to_dcp", "saved.pt", "folder")
    outcome = python.both(*tool, "dcp_to_torch", "folder", "back.pt")
    assert b"Converting checkpoint" in outcome.stdout
    assert torch.load(tmp_path / "back.pt")["weights"].sum() == 100
    assert python.both(*tool, "nonsense", "folder", "back.pt").returncode == 2
