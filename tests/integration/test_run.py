# SPDX-License-Identifier: Apache-2.0
"""`cyclewatch run` and CYCLEWATCH=1: the program must not be able to tell, save for its report."""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
import torch

import cyclewatch

ROOT = Path(__file__).resolve().parents[2]

LEAK = """
    import gc
    import torch

    class Node:
        def __init__(self):
            self.me = self
            self.data = torch.ones(1000)

    for _ in range(3):
        Node()
    gc.collect()
    print("done")
"""
NAMESPACE = """
    import atexit, sys
    names = list(globals())
    named = {name: repr(globals()[name]) for name in names}
    print({**named, "__loader__": "", "__spec__": ""})
    print(__spec__ and (__spec__.name, __spec__.origin))
    print(type(__loader__).__name__, getattr(__loader__, "path", None))
    print(sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals())
    atexit.register(lambda: print("exit", [n for n in globals() if n.startswith("__")]))
"""
FAILS = """
    import sys
    print("out")
    print("err", file=sys.stderr)
    def inner():
        raise ValueError("no")
    def outer():
        try:
            inner()
        except ValueError as error:
            raise RuntimeError("really") from error
    outer()
"""
HOOKED = """
    import sys
    sys.excepthook = lambda kind, _, trace: print("hook", kind, trace.tb_frame.f_code.co_name)
    1 / 0
"""
FORKS = """
    import atexit, os, sys, warnings
    atexit.register(lambda: print("exit of", "child" if child == 0 else "parent"))
    child = os.fork()
    if child == 0:
        sys.exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

DEEP = """
    import sys
    def depth(number):
        try:
            return depth(number + 1)
        except RecursionError:
            return number
    print(depth(0))
    sys.setrecursionlimit(300)
    print(depth(0))
    def fall():
        fall()
    fall()
"""
STACK = """
    import faulthandler, inspect, sys, threading, traceback, warnings
    def look():
        print([(each.function, each.lineno) for each in inspect.stack()])
        traceback.print_stack()
        faulthandler.dump_traceback(all_threads=False)
        warnings.warn("from far below", stacklevel=9)
        (main,) = sys._current_frames().values()
        while main is not None:
            print(main.f_code.co_qualname)
            main = main.f_back
    look()
    threading.Thread(target=lambda: print(len(sys._current_frames()))).start()
"""

TRACED = """
    import gc, multiprocessing.util, sys
    import torch
    class Node:
        def __init__(self):
            self.me = self
            self.data = torch.ones(1000)
    def tell(frame, event, argument):
        sys.stdout.write(f"{event} {frame.f_code.co_qualname} {frame.f_lineno}\\n")
        return tell
    def make():
        Node()
        gc.collect()
        for _ in range(10):
            pass
    getattr(sys, f"set{sys.argv[1]}")(tell)
    make()
"""
STEPPED = """
    def work():
        return 1
    breakpoint()
    work()
    print("the last line")
"""


SHADOWED = ("argparse", "typing", "re", "gettext", "shutil", "locale", "pkgutil", "fnmatch")
IMPORTS = f"""
    import importlib, sys
    for name in {SHADOWED}:
        print(name, hasattr(importlib.import_module(name), "of_the_program"))
    import copy, types
    print(copy.__file__, types.__file__)
"""


@pytest.fixture
def python(tmp_path):
    """Run the interpreter with and without the watch; both outcomes have to be equal."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CYCLEWATCH", "RANK")) and name != "PYTHONDEVMODE"
    }
    environment["PYTHONPATH"] = str(ROOT)

    class Python:
        executable = sys.executable

        def start(self, *words, stdin=None, folder=tmp_path, **more):
            return subprocess.run(
                [self.executable, *map(os.fspath, words)],
                capture_output=True,
                timeout=300,
                cwd=folder,
                input=stdin,
                env={**environment, **more},
            )

        def both(self, *words, options=(), stdin=None, without=rb"$^", **more):
            plain = self.start(*words, stdin=stdin, **more)
            run = ("-m", "cyclewatch", "run", *options)
            watched = self.start(*run, *words, stdin=stdin, **more)
            assert watched.stdout == plain.stdout
            assert re.sub(without, b"", watched.stderr) == re.sub(without, b"", plain.stderr)
            assert watched.returncode == plain.returncode
            return watched

    return Python()


def as_if_installed(folder):
    """A PYTHONPATH on which the line that an installation leaves for every start is run."""
    site = (ROOT / "cyclewatch" / "cyclewatch-autostart.pth").read_text()
    (folder / "sitecustomize.py").write_text(site)
    return os.pathsep.join([str(folder), str(ROOT)])


@pytest.fixture
def program(tmp_path):
    """Write a program under a name and return its path."""
    import textwrap

    def write(source, name="program.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        return path

    return write


@pytest.mark.parametrize(
    "source", [NAMESPACE, FAILS, HOOKED, FORKS, DEEP, STACK, "raise SystemExit('why')"]
)
def test_a_script_is_run_as_python_runs_it(python, program, interpreter, source):
    python.executable = interpreter.path
    program(source)
    python.both("program.py", "--fail", "-m", "x", "--")


@pytest.mark.parametrize("place", [".", "inner"])
def test_a_module_that_is_called_like_a_standard_one_is_the_programs(
    python, program, interpreter, place
):
    python.executable = interpreter.path
    for name in SHADOWED:
        program("of_the_program = True", f"{place}/{name}.py")
    path = program(IMPORTS, f"{place}/program.py")
    assert b"typing True" in python.both(path.relative_to(path.parents[place != "."])).stdout


def test_a_module_of_pythonpath_that_is_called_like_a_standard_one_is_the_programs(
    python, program, interpreter, tmp_path
):
    python.executable = interpreter.path
    for name in SHADOWED:
        program("of_the_program = True", f"vendored/{name}.py")
    program(IMPORTS)
    paths = os.pathsep.join([str(tmp_path / "vendored"), str(ROOT)])
    assert b"typing True" in python.both("program.py", PYTHONPATH=paths).stdout
    assert b"typing True" in python.both("program.py", PYTHONPATH=paths, PYTHONSAFEPATH="1").stdout


@pytest.mark.parametrize("words", [["program.py"], ["-m", "program"], ["-c", "import program"]])
@pytest.mark.parametrize("place", [".", "vendored"])
def test_such_a_module_is_the_programs_where_the_environment_switches_the_watch_on(
    python, program, interpreter, tmp_path, place, words
):
    python.executable = interpreter.path
    for name in SHADOWED:
        program("of_the_program = True", f"{place}/{name}.py")
    program(IMPORTS)
    (tmp_path / "site").mkdir()
    paths = f"{tmp_path / 'vendored'}:{as_if_installed(tmp_path / 'site')}"
    plain = python.start(*words, PYTHONPATH=paths)
    watched = python.start(*words, PYTHONPATH=paths, CYCLEWATCH="1")
    assert (watched.stdout, watched.stderr) == (plain.stdout, plain.stderr)
    assert b"typing True" in watched.stdout


@pytest.mark.parametrize(
    "act",
    [
        "sys.stderr = type('Tee', (), {'write': sys.stdout.write, 'flush': sys.stdout.flush})()",
        "sys.stderr.close()",
        "sys.stderr.detach()",
        "del sys.stderr",
    ],
)
def test_standard_error_of_any_kind(python, program, interpreter, act):
    python.executable = interpreter.path
    hook = "sys.unraisablehook = lambda told: print('unraisable', told.exc_type)"
    python.both(program(f"import sys\n{hook}\n{act}\nprint('done')"))


@pytest.mark.parametrize("how", ["profile", "trace"])
def test_tracers_and_profilers_see_the_program_alone(python, program, how):
    outcome = python.both(program(TRACED), how, options=["--devices=cpu"])
    assert b"make" in outcome.stdout


@pytest.mark.parametrize("words", ["n\n" * 6, "c\n", "s\n" * 9])
def test_debugger_steps_to_the_end_of_the_program_and_no_further(
    python, program, interpreter, words
):
    python.executable = interpreter.path
    python.both(program(STEPPED), stdin=words.encode(), without=rb"0x[0-9a-f]+")


@pytest.mark.parametrize("source", ["kept = 41", "import sys; sys.exit(3)", "1 / 0"])
@pytest.mark.parametrize("asked", [["-i"], []])
def test_prompt_that_follows_the_program(python, program, interpreter, source, asked):
    python.executable = interpreter.path
    path = program(source)
    words = b"print(kept + 1)\nprint(__name__)\n"
    more = {} if asked else {"PYTHONINSPECT": "1"}
    plain = python.start(*asked, path, stdin=words, **more)
    watched = python.start(*asked, "-m", "cyclewatch", "run", path, stdin=words, **more)
    assert watched.stdout == plain.stdout
    assert watched.stderr == plain.stderr
    assert watched.returncode == plain.returncode


def test_script_in_a_pipe_is_read_once(python, tmp_path):
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=["print('from a pipe')"])
    writer.start()
    outcome = python.start("-m", "cyclewatch", "run", pipe)
    writer.join()
    assert outcome.stdout == b"from a pipe\n"


def test_command_that_is_no_text(python):
    outcome = python.both("-c", b"print('\xff')")
    assert outcome.returncode == 1


def test_least_recursion_limit(python, program, interpreter):
    python.executable = interpreter.path
    python.both(program("import sys; sys.setrecursionlimit(5)"))


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


@pytest.mark.parametrize("source", [NAMESPACE, FAILS, DEEP, STACK])
def test_modules_folders_archives_and_standard_input(
    python, program, interpreter, tmp_path, source
):
    python.executable = interpreter.path
    path = program(source)
    program(source, "package/__main__.py")
    with zipfile.ZipFile(tmp_path / "archive.pyz", "w") as archive:
        archive.write(path, "__main__.py")
    python.both("-m", "program", "-m", "x")
    python.both("-m", "package")
    python.both("package", "a")
    python.both("archive.pyz", "a")
    python.both("./program.py")
    python.both("-", "a", stdin=path.read_bytes())


@pytest.mark.parametrize(
    "source",
    [
        "import sys; print(sys.argv, sys.path[0])",
        "raise SystemExit(7)",
        "x = (",
        "1/0",
        "print(__name__)",
    ],
)
def test_commands(python, interpreter, source):
    python.executable = interpreter.path
    python.both("-c", source, "a", "-c")


def test_what_cannot_be_run(python, program, tmp_path):
    program("x = (", "broken.py")
    program("print('ä')", "latin.py").write_bytes(b"print('\xe4')")
    (tmp_path / "empty").mkdir()
    for words in (
        ["missing.py"],
        ["empty"],
        ["-m", "nosuch"],
        ["broken.py"],
        ["latin.py"],
        ["../missing"],
    ):
        assert python.both(*words).returncode != 0


def test_an_interrupt_ends_it_by_the_signal(python, program):
    source = "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(60)"
    program(source)
    assert python.both("program.py").returncode == -signal.SIGINT
    assert python.both("-m", "program").returncode == -signal.SIGINT
    program("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert python.both("program.py").returncode == -signal.SIGTERM


@pytest.mark.parametrize("name", ["simple", "awaitable"])
def test_the_examples(python, tmp_path, name):
    example = ROOT / "examples" / f"{name}.py"
    words = [example, "--no-watch", "--device", "cpu", "--size", "64"]
    python.both(*words, options=["-o", "report.json", "--devices", "cpu"])
    report = cyclewatch.Report.load(tmp_path / "report.json")
    assert [finding.occurrences for finding in report.findings] == [20]


def test_the_checkpoint_converter_of_torch(python, tmp_path):
    """A command-line tool that is not ours, works on tensors and needs no network."""
    torch.save({"weights": torch.ones(100)}, tmp_path / "saved.pt")
    tool = ("-m", "torch.distributed.checkpoint.format_utils")
    python.start(*tool, "torch_to_dcp", "saved.pt", "folder")
    outcome = python.both(*tool, "dcp_to_torch", "folder", "back.pt")
    assert b"Converting checkpoint" in outcome.stdout
    assert torch.load(tmp_path / "back.pt")["weights"].sum() == 100
    assert python.both(*tool, "nonsense", "folder", "back.pt").returncode == 2


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
    held = sorted(cyclewatch.Report.load(path).held_bytes for path in tmp_path.glob("all*.json"))
    assert held == [4000, 8000, 8000]


def test_fail_says_why_and_keeps_other_statuses(python, program):
    program(LEAK)
    run = ("-m", "cyclewatch", "run", "--fail")
    outcome = python.start(*run, "program.py")
    assert (outcome.returncode, outcome.stdout) == (1, b"done\n")
    assert b"cut   .me of __main__.Node" in outcome.stderr
    assert b"report: " in outcome.stderr
    quiet = python.start(*run, "--quiet", "program.py")
    assert (quiet.returncode, quiet.stderr) == (1, b"")
    assert python.start(*run, "--min-bytes", "1M", "program.py").returncode == 0
    program(LEAK + "\n    raise SystemExit(9)")
    assert python.start(*run, "program.py").returncode == 9


@pytest.mark.parametrize(
    "output", ["program.py/report.json", "program.py/a/b/", "/dev/null/r.json"]
)
def test_report_that_cannot_be_written_is_refused_before_the_program_runs(python, program, output):
    program(LEAK)
    outcome = python.start("-m", "cyclewatch", "run", "-o", output, "program.py")
    assert (outcome.returncode, outcome.stdout) == (3, b"")
    (line,) = outcome.stderr.splitlines()
    assert line.startswith(b"cyclewatch: cannot write ")
    assert line.endswith(b" is no folder")


def test_program_runs_all_the_same_where_a_variable_names_no_place(python, program, tmp_path):
    program(LEAK)
    (tmp_path / "temporary").mkdir()
    outcome = python.start(
        "program.py",
        TMPDIR=str(tmp_path / "temporary"),
        CYCLEWATCH="1",
        CYCLEWATCH_OUTPUT="program.py/report.json",
        PYTHONPATH=as_if_installed(tmp_path),
    )
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, b"done\n", b"")
    (path,) = (tmp_path / "temporary").iterdir()
    assert cyclewatch.Report.load(path).findings[0].occurrences == 3


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


@pytest.mark.parametrize("before", ["", NO_COLLECT])
def test_garbage_left_at_the_end_is_found_on_request(python, program, tmp_path, before):
    program(before + LEAK.replace("gc.collect()", "gc.disable()"))
    python.both("program.py", options=["-o", "without.json"])
    assert cyclewatch.Report.load(tmp_path / "without.json").findings == []
    python.both("program.py", options=["-o", "with.json", "--collect-at-exit"])
    assert cyclewatch.Report.load(tmp_path / "with.json").findings[0].occurrences == 3


@pytest.mark.parametrize("before", ["", NO_COLLECT])
def test_garbage_is_collected_while_the_program_runs(python, program, before):
    program(before + WAITS_FOR_A_COLLECTION)
    run = ("-m", "cyclewatch", "run", "--collect-every", "0.01")
    outcome = python.start(*run, "program.py")
    assert (outcome.stdout, outcome.stderr) == (b"collected\n", b"")


def test_an_existing_report_is_kept(python, program, tmp_path):
    program(LEAK)
    (tmp_path / "report.json").write_text("mine")
    outcome = python.start("-m", "cyclewatch", "run", "-o", "report.json", "program.py")
    assert (outcome.returncode, outcome.stdout) == (3, b"")
    assert b"--force" in outcome.stderr
    assert outcome.stderr.count(b"\n") == 1
    assert (tmp_path / "report.json").read_text() == "mine"
    python.both("program.py", options=["-f", "-o", "report.json"])
    assert cyclewatch.Report.load(tmp_path / "report.json").findings


def test_the_environment_switches_the_watch_on(python, program, tmp_path):
    program(LEAK)
    start = "from cyclewatch import autostart; autostart.start(); autostart.start()"
    (tmp_path / "sitecustomize.py").write_text(start)
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    outcome = python.start(
        "program.py", CYCLEWATCH="1", CYCLEWATCH_OUTPUT="{script}.json", PYTHONPATH=paths
    )
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, b"done\n", b"")
    assert cyclewatch.Report.load(tmp_path / "program.json").findings[0].occurrences == 3
    wrong = python.start("program.py", CYCLEWATCH="1", CYCLEWATCH_BUDGET="9", PYTHONPATH=paths)
    assert (wrong.returncode, wrong.stdout) == (0, b"done\n")
    assert wrong.stderr.count(b"CYCLEWATCH_BUDGET") == 1


@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-"])
def test_a_wrong_setting_that_cannot_be_told_costs_nothing(python, program, tmp_path, stderr):
    program("print('done')")
    outcome = python.start(
        *("-c", "import os, sys; os.execv('/bin/sh', ['sh', '-c', sys.argv[1]])"),
        f"{shlex.quote(sys.executable)} program.py {stderr}",
        CYCLEWATCH="maybe",
        PYTHONPATH=as_if_installed(tmp_path),
    )
    assert (outcome.returncode, outcome.stdout) == (0, b"done\n")


def test_a_folder_that_is_gone_keeps_no_program_from_starting(python, tmp_path):
    leave = "import os; os.rmdir(os.getcwd()); os.execvp(os.sys.executable, WORDS)"
    folders = [tmp_path / "plain", tmp_path / "run", tmp_path / "switched on"]
    for folder in folders:
        folder.mkdir()
    words = [sys.executable, "-c", "print('done')"]
    watched = [sys.executable, "-m", "cyclewatch", "run", *words[1:]]
    paths = as_if_installed(tmp_path)
    outcomes = [
        python.start("-c", leave.replace("WORDS", repr(words)), folder=folders[0]),
        python.start("-c", leave.replace("WORDS", repr(watched)), folder=folders[1]),
        python.start(
            *("-c", leave.replace("WORDS", repr(words))),
            folder=folders[2],
            CYCLEWATCH="1",
            PYTHONPATH=paths,
        ),
    ]
    # An interpreter that a script starts says that the folder is gone: the shell does.
    plain = outcomes[0]
    assert (plain.returncode, plain.stdout) == (0, b"done\n")
    for outcome in outcomes[1:]:
        assert (outcome.returncode, outcome.stdout) == (0, b"done\n")
        assert outcome.stderr == plain.stderr


@pytest.mark.slow
def test_every_rank_of_torchrun_leaves_a_report(python, program, tmp_path):
    program(LEAK)
    outcome = python.start(
        *("-m", "torch.distributed.run", "--nproc-per-node=2", "program.py"),
        CYCLEWATCH="1",
        CYCLEWATCH_FORMAT="json",
        CYCLEWATCH_OUTPUT="reports/",
        PYTHONPATH=as_if_installed(tmp_path),
    )
    assert outcome.returncode == 0, outcome.stderr
    reports = [cyclewatch.Report.load(path) for path in (tmp_path / "reports").iterdir()]
    assert sorted(report.processes[0].rank for report in reports) == [0, 1]
