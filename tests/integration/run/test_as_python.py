# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch run`` runs a program as python itself does."""

import os
import signal
import threading
import zipfile
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[3]

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


@pytest.mark.parametrize(
    "source", [NAMESPACE, FAILS, HOOKED, FORKS, DEEP, STACK, "raise SystemExit('why')"]
)
def test_a_script_is_run_as_python_runs_it(python, program, interpreter, source):
    python.executable = interpreter.path
    program(source)
    python.both("program.py", "--fail", "-m", "x", "--")


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


def test_folders_and_archives_where_the_search_path_is_safe(python, program, interpreter, tmp_path):
    python.executable = interpreter.path
    program("print('the wrong program')", "first/__main__.py")
    path = program(NAMESPACE, "package/__main__.py")
    with zipfile.ZipFile(tmp_path / "archive.pyz", "w") as archive:
        archive.write(path, "__main__.py")
    safe = {"PYTHONPATH": f"{tmp_path / 'first'}:{ROOT}", "PYTHONSAFEPATH": "1"}
    for name in ("package", "archive.pyz"):
        assert b"wrong" not in python.both(name, **safe).stdout


@pytest.mark.parametrize(
    "words",
    [["SCRIPT"], ["-m", "used"], ["-c", "import used, sys; print(sys.path)"], ["missing.py"]],
    ids=["script", "module", "command", "no script"],
)
def test_a_folder_that_is_gone(python, program, interpreter, tmp_path, words):
    # The interpreter puts nothing on the search path then, and the first of PYTHONPATH is first.
    python.executable = interpreter.path
    program("print('used')", "own/used.py")
    words = [str(program("import used")) if word == "SCRIPT" else word for word in words]
    gone = tmp_path / "gone"
    run = ["-m", "cyclewatch", "run"]
    outcomes = []
    for more in ([], run):
        gone.mkdir()
        leave = f"import os; os.rmdir(os.getcwd()); os.execv({interpreter.path!r}, os.sys.argv[1:])"
        outcomes.append(
            python.start(
                *("-c", leave, interpreter.path, *more, *words),
                folder=gone,
                PYTHONPATH=f"{tmp_path / 'own'}:{ROOT}",
            )
        )
    plain, watched = outcomes
    assert (watched.stdout, watched.stderr) == (plain.stdout, plain.stderr)
    assert watched.returncode == plain.returncode
    assert (b"used" in plain.stdout) == (words != ["missing.py"])


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


def test_the_checkpoint_converter_of_torch(python, tmp_path):
    """A command-line tool that is not ours, works on tensors and needs no network."""
    torch.save({"weights": torch.ones(100)}, tmp_path / "saved.pt")
    tool = ("-m", "torch.distributed.checkpoint.format_utils")
    python.start(*tool, "torch_to_dcp", "saved.pt", "folder")
    outcome = python.both(*tool, "dcp_to_torch", "folder", "back.pt")
    assert b"Converting checkpoint" in outcome.stdout
    assert torch.load(tmp_path / "back.pt")["weights"].sum() == 100
    assert python.both(*tool, "nonsense", "folder", "back.pt").returncode == 2
