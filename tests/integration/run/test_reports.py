# SPDX-License-Identifier: Apache-2.0
"""What ``cyclewatch run`` leaves: reports, what it says, and the exit status."""

import textwrap
from pathlib import Path

import pytest

import cyclewatch

ROOT = Path(__file__).resolve().parents[3]

# Trainers do this to keep libraries from collecting in the middle of a step.
NO_COLLECT = """
    import gc

    gc.collect = lambda generation=2: 1 / 0
"""
WAITS_FOR_A_COLLECTION = """
    import gc, weakref

    class Node:
        pass

    gc.disable()
    node = Node()
    node.me = node
    reference = weakref.ref(node)
    del node
    while reference() is not None:
        pass
    print("collected")
"""


@pytest.mark.parametrize("name", ["simple", "awaitable"])
def test_the_examples(python, tmp_path, name):
    example = ROOT / "examples" / f"{name}.py"
    words = [example, "--no-watch", "--device", "cpu", "--size", "64"]
    python.both(*words, options=["-o", "report.json", "--devices", "cpu"])
    report = cyclewatch.Report.load(tmp_path / "report.json")
    assert [finding.occurrences for finding in report.findings] == [20]


def test_a_program_that_forks_workers(python, program, tmp_path):
    program("""
        import gc, os, torch

        class Node:
            pass

        def leak(size):
            node = Node()
            node.me, node.data = node, torch.ones(size)
            del node
            gc.collect()

        for _ in range(2):
            child = os.fork()
            if child == 0:
                leak(2000)
                raise SystemExit(3)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        leak(1000)
    """)
    python.both("program.py", options=["-o", "one.json"])
    assert [path.name for path in tmp_path.glob("*.json")] == ["one.json"]
    python.both("program.py", options=["-o", "all.json", "--follow-fork"])
    held = sorted(
        cyclewatch.Report.load(path).retained_bytes for path in tmp_path.glob("all*.json")
    )
    assert held == [4000, 8000, 8000]


def test_fail_says_why_and_keeps_other_statuses(python, program, leak):
    program(leak)
    outcome = python.run("--fail", "program.py")
    assert (outcome.returncode, outcome.stdout) == (1, b"done\n")
    assert b"cut   .me of __main__.Node" in outcome.stderr
    assert b"report: " in outcome.stderr
    quiet = python.run("--fail", "--quiet", "program.py")
    assert (quiet.returncode, quiet.stderr) == (1, b"")
    assert python.run("--fail", "--min-bytes", "1M", "program.py").returncode == 0
    program(leak + "\n    raise SystemExit(9)")
    assert python.run("--fail", "program.py").returncode == 9


def test_one_line_says_where_the_report_is(python, program, tmp_path, leak):
    """Also where standard error is no terminal: the program's log is read later."""
    program(leak)
    outcome = python.run("-o", "report.json", "program.py")
    assert (outcome.returncode, outcome.stdout) == (0, b"done\n")
    headline, place = outcome.stderr.decode().splitlines()
    assert "Node" in headline
    assert place == f"report: {tmp_path}/report.json"
    quiet = python.run("--quiet", "-f", "-o", "report.json", "program.py")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"done\n", b"")


@pytest.mark.parametrize("act", ["sys.stderr.close()", "sys.stderr = None"])
def test_standard_error_that_the_program_closed(python, program, leak, act):
    program(f"import sys\n{act}\n" + textwrap.dedent(leak))
    outcome = python.run("program.py")
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, b"done\n", b"")


@pytest.mark.parametrize(
    "output", ["program.py/report.json", "program.py/a/b/", "/dev/null/r.json"]
)
def test_report_that_cannot_be_written_is_refused_before_the_program_runs(
    python, program, output, leak
):
    program(leak)
    outcome = python.run("-o", output, "program.py")
    assert (outcome.returncode, outcome.stdout) == (3, b"")
    (line,) = outcome.stderr.splitlines()
    assert line.startswith(b"cyclewatch: cannot write ")
    assert line.endswith(b" is not a folder")


def test_an_existing_report_is_kept(python, program, tmp_path, leak):
    program(leak)
    (tmp_path / "report.json").write_text("mine")
    outcome = python.run("-o", "report.json", "program.py")
    assert (outcome.returncode, outcome.stdout) == (3, b"")
    assert b"--force" in outcome.stderr
    assert outcome.stderr.count(b"\n") == 1
    assert (tmp_path / "report.json").read_text() == "mine"
    python.both("program.py", options=["-f", "-o", "report.json"])
    assert cyclewatch.Report.load(tmp_path / "report.json").findings


def test_folder_that_the_program_removed_is_not_made_again(python, program):
    path = program("""
        import gc, os, shutil, tempfile
        import torch
        class Node:
            def __init__(self):
                self.me = self
                self.data = torch.ones(1000)
        here = os.getcwd()
        os.chdir("/")
        os.environ["TMPDIR"] = here + "-elsewhere"
        os.rename(here, here + "-elsewhere")
        Node()
        gc.collect()
        print(os.path.exists(here))
        os.rename(here + "-elsewhere", here)
    """)
    python.both(path, options=["--devices=cpu"])


@pytest.mark.parametrize("before", ["", NO_COLLECT])
def test_garbage_left_at_the_end_is_found_on_request(python, program, tmp_path, before, leak):
    program(before + leak.replace("gc.collect()", "gc.disable()"))
    python.both("program.py", options=["-o", "without.json"])
    assert cyclewatch.Report.load(tmp_path / "without.json").findings == []
    python.both("program.py", options=["-o", "with.json", "--collect-at-exit"])
    assert cyclewatch.Report.load(tmp_path / "with.json").findings[0].occurrences == 3


@pytest.mark.parametrize("before", ["", NO_COLLECT])
def test_garbage_is_collected_while_the_program_runs(python, program, before):
    program(before + WAITS_FOR_A_COLLECTION)
    outcome = python.run("--collect-every", "0.01", "program.py")
    assert (outcome.stdout, outcome.stderr) == (b"collected\n", b"")
