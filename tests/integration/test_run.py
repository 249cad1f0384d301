# SPDX-License-Identifier: Apache-2.0
"""`cyclewatch run` and CYCLEWATCH=1: programs behave as usual, and a report is written."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

import cyclewatch

ROOT = Path(__file__).resolve().parents[2]

# Three cycles, one finding. Importing torch would take most of the time of each process.
LEAK = """
    import gc
    import cyclewatch

    class Node:
        def __init__(self):
            self.me = self

    cyclewatch.register_owner(Node, lambda node: {"device": "cpu", "nbytes": 4000})

    for _ in range(3):
        Node()
    gc.collect()
    print("done")
"""
LEAK_OF_TENSORS = """
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


class Python:
    """Runs an interpreter in a given directory, with and without a watch."""

    executable = sys.executable

    def __init__(self, folder, site):
        self.folder = folder
        # As in an installation, every interpreter runs this line at startup.
        line = (ROOT / "cyclewatch" / "cyclewatch-autostart.pth").read_text()
        (site / "sitecustomize.py").write_text(line)
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CYCLEWATCH", "RANK")) and name != "PYTHONDEVMODE"
        }
        self.environment["PYTHONPATH"] = os.pathsep.join([str(site), str(ROOT)])

    def start(self, *words, stdin=None, **more):
        return subprocess.run(
            [self.executable, *map(os.fspath, words)],
            capture_output=True,
            timeout=300,
            cwd=self.folder,
            input=stdin,
            env={**self.environment, **more},
        )

    def run(self, *words, **more):
        return self.start("-m", "cyclewatch", "run", *words, **more)

    def both(self, *words, options=(), stdin=None):
        """Run the command `words` with and without a watch; output and exit status must match."""
        plain = self.start(*words, stdin=stdin)
        watched = self.run("--quiet", *options, *words, stdin=stdin)
        assert watched.stdout == plain.stdout
        assert watched.stderr == plain.stderr
        assert watched.returncode == plain.returncode
        return watched


@pytest.fixture
def python(tmp_path, tmp_path_factory):
    return Python(tmp_path, tmp_path_factory.mktemp("site"))


@pytest.fixture
def program(tmp_path):
    """Writes a program and returns its path."""

    def write(source, name="program.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        return path

    return write


STATE = """
    import sys
    print(sys.argv, sys.path[0], sys.flags, __name__, sorted(globals()))
    print(__spec__ and __spec__.name, sys.modules["__main__"].__dict__ is globals())
    print("err", file=sys.stderr)
"""


def test_scripts_modules_folders_archives_and_standard_input(
    python, program, interpreter, tmp_path
):
    python.executable = interpreter.path
    path = program(STATE)
    program(STATE, "package/__main__.py")
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
    ],
)
def test_exit_status_is_unchanged(python, program, source, status):
    program(source)
    assert python.both("program.py").returncode == status
    assert python.both("-m", "program").returncode == status


@pytest.mark.parametrize("words", [["missing.py"], ["-m", "nosuch"]])
def test_programs_that_do_not_exist(python, words):
    assert python.both(*words).returncode != 0


def test_classes_of_the_script_can_be_pickled_in_spawned_children(python, program):
    path = program("""
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
    """)
    assert python.both(path).stdout == b"[Item(number=2), Item(number=4)]\n"


def test_only_the_environment_enables_the_watch_in_child_processes(python, program, tmp_path):
    program(LEAK, "child.py")
    program("import subprocess, sys; subprocess.run([sys.executable, 'child.py'], check=True)")
    python.both("program.py", options=["-o", "{script}.json"])
    assert [path.name for path in tmp_path.glob("*.json")] == ["program.json"]
    more = {"CYCLEWATCH": "1", "CYCLEWATCH_OUTPUT": "{script}.json", "CYCLEWATCH_QUIET": "1"}
    python.run("-f", "-o", "own.json", "program.py", **more)
    names = sorted(path.name for path in tmp_path.glob("*.json"))
    assert names == ["child.json", "own.json", "program.json"]


@pytest.mark.usefixtures("installation")
def test_interpreter_options_are_kept(python, program):
    path = program("import sys; print(sys.flags, sys.warnoptions, sys.stdout.write_through)")
    options = ["-I", "-X", "dev", "-W", "ignore"]
    plain = python.start(*options, path)
    # -I ignores PYTHONPATH: this imports the development installation.
    watched = python.start(*options, "-m", "cyclewatch", "run", path)
    assert watched.returncode == 0, watched.stderr
    assert watched.stdout == plain.stdout


def test_program_does_not_start_if_the_watch_cannot(python, program):
    program("print('started')")
    wrong = python.run("--devices", "foo", "program.py")
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert wrong.stderr.startswith(b"cyclewatch: unknown device")
    bare = python.start("-S", "-m", "cyclewatch", "run", "program.py")
    assert (bare.returncode, bare.stdout) == (3, b"")
    assert b"cyclewatch-autostart.pth" in bare.stderr


def test_environment_enables_the_watch(python, program, tmp_path):
    program(LEAK_OF_TENSORS)
    outcome = python.start("program.py", CYCLEWATCH="1", CYCLEWATCH_OUTPUT="{script}.json")
    assert (outcome.returncode, outcome.stdout) == (0, b"done\n")
    assert f"report: {tmp_path}/program.json\n" in outcome.stderr.decode()
    assert cyclewatch.Report.load(tmp_path / "program.json").findings[0].occurrences == 3


@pytest.mark.parametrize(
    ("variable", "value"), [("CYCLEWATCH_BUDGET", "9"), ("CYCLEWATCH_DEVICES", "foo")]
)
def test_program_runs_despite_an_invalid_variable(python, program, variable, value):
    program("print('done')")
    outcome = python.start("program.py", CYCLEWATCH="1", **{variable: value})
    assert (outcome.returncode, outcome.stdout) == (0, b"done\n")
    (line,) = outcome.stderr.decode().splitlines()
    assert variable in line


def test_invalid_output_variable_falls_back_to_the_temporary_folder(python, program, tmp_path):
    program(LEAK)
    (tmp_path / "temporary").mkdir()
    outcome = python.start(
        "program.py",
        TMPDIR=str(tmp_path / "temporary"),
        CYCLEWATCH="1",
        CYCLEWATCH_OUTPUT="program.py/report.json",
        CYCLEWATCH_QUIET="1",
    )
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, b"done\n", b"")
    (path,) = (tmp_path / "temporary").iterdir()
    assert cyclewatch.Report.load(path).findings[0].occurrences == 3


@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-"])
def test_program_runs_if_stderr_is_full_or_closed(python, program, stderr):
    program("print('done')")
    outcome = python.start(
        *("-c", "import os, sys; os.execv('/bin/sh', ['sh', '-c', sys.argv[1]])"),
        f"{shlex.quote(sys.executable)} program.py {stderr}",
        CYCLEWATCH="maybe",
    )
    assert (outcome.returncode, outcome.stdout) == (0, b"done\n")


@pytest.mark.slow
def test_every_rank_of_torchrun_writes_a_report(python, program, tmp_path):
    program(LEAK_OF_TENSORS)
    outcome = python.start(
        *("-m", "torch.distributed.run", "--nproc-per-node=2", "program.py"),
        CYCLEWATCH="1",
        CYCLEWATCH_FORMAT="json",
        CYCLEWATCH_OUTPUT="reports/",
    )
    assert outcome.returncode == 0, outcome.stderr
    reports = [cyclewatch.Report.load(path) for path in (tmp_path / "reports").iterdir()]
    ranks = sorted([process.rank for process in report.processes] for report in reports)
    assert ranks == [[0], [0, 1], [1]]  # rank 0 also merges the reports of all ranks


def test_follow_fork(python, program, tmp_path):
    program("""
        import gc, os
        import cyclewatch

        class Node:
            pass

        cyclewatch.register_owner(Node, lambda node: {"device": "cpu", "nbytes": node.size})

        def leak(size):
            node = Node()
            node.me, node.size = node, size
            del node
            gc.collect()

        for _ in range(2):
            child = os.fork()
            if child == 0:
                leak(8000)
                raise SystemExit(3)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        leak(4000)
    """)
    python.both("program.py", options=["-o", "one.json"])
    assert [path.name for path in tmp_path.glob("*.json")] == ["one.json"]
    python.both("program.py", options=["-o", "all.json", "--follow-fork"])
    reports = [cyclewatch.Report.load(path) for path in tmp_path.glob("all*.json")]
    assert sorted(report.retained_bytes for report in reports) == [4000, 8000, 8000]


WORKER_LEAKS = """
    import multiprocessing

    import cyclewatch

    class Node:
        pass

    def leak(size):
        cyclewatch.register_owner(Node, lambda node: {"device": "cpu", "nbytes": node.size})
        node = Node()
        node.me, node.size = node, size

    if __name__ == "__main__":
        for size in (8000, 16000):
            worker = multiprocessing.get_context(METHOD).Process(target=leak, args=(size,))
            worker.start()
            worker.join()
            print(worker.exitcode)
        leak(4000)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_that_end_without_a_collection(python, program, tmp_path, method):
    program(WORKER_LEAKS.replace("METHOD", repr(method)))
    python.both("program.py", options=["-o", "one.json"])
    assert [path.name for path in tmp_path.glob("*.json")] == ["one.json"]
    python.both("program.py", options=["-o", "all.json", "--follow-fork"])
    reports = [cyclewatch.Report.load(path) for path in tmp_path.glob("all*.json")]
    assert sorted(report.retained_bytes for report in reports) == [4000, 8000, 16000]
    assert [report.processes[0].unexamined for report in reports] == ["", "", ""]


def test_workers_of_a_watched_program(python, program, tmp_path):
    watching = "    cyclewatch.warn_tensor_cycles(devices='cpu', formats='json')\n        for size"
    program(WORKER_LEAKS.replace("METHOD", "'fork'").replace("    for size", watching))
    python.start("program.py")
    reports = [cyclewatch.Report.load(path) for path in tmp_path.glob("cyclewatch-*.json")]
    assert sorted(report.retained_bytes for report in reports) == [4000, 8000, 16000]


def test_workers_leave_inherited_cycles_to_their_parent(python, program, tmp_path):
    """Later workers are scanned within the budget only."""
    watching = """    cyclewatch.warn_tensor_cycles(devices='cpu', formats='json')
        gc.disable()
        leak(4000)
        for size"""
    code = WORKER_LEAKS.replace("METHOD", "'fork'").replace("    for size", watching)
    code = code.replace("(8000, 16000)", "(1, 2, 3, 5, 8, 13)").replace("import m", "import gc, m")
    program(code)
    python.start("program.py")
    reports = [cyclewatch.Report.load(path) for path in tmp_path.glob("cyclewatch-*.json")]
    assert sorted(report.retained_bytes for report in reports) == [1, 2, 3, 5, 8000]


def test_fail_changes_only_a_status_of_zero(python, program):
    program(LEAK)
    outcome = python.run("--fail", "program.py")
    assert (outcome.returncode, outcome.stdout) == (1, b"done\n")
    assert b"cut   .me of __main__.Node" in outcome.stderr
    assert b"report: " in outcome.stderr
    quiet = python.run("--fail", "--quiet", "program.py")
    assert (quiet.returncode, quiet.stderr) == (1, b"")
    assert python.run("--fail", "--min-bytes", "1M", "program.py").returncode == 0
    program(LEAK + "\n    raise SystemExit(9)")
    assert python.run("--fail", "program.py").returncode == 9


def test_no_source_leaves_out_the_code(python, program, tmp_path):
    program(LEAK)
    cards = python.run("--fail", "--output", "with.json", "program.py").stderr
    assert b"> 7 |     self.me = self" in cards
    assert "self.me = self" in (tmp_path / "with.json").read_text()
    cards = python.run("--fail", "--no-source", "--output", "without.json", "program.py").stderr
    assert b"cut   .me" in cards
    assert b"self.me = self" not in cards
    assert "self.me = self" not in (tmp_path / "without.json").read_text()
    more = {"CYCLEWATCH": "1", "CYCLEWATCH_OUTPUT": "x.json", "CYCLEWATCH_NO_SOURCE": "1"}
    python.start("program.py", **more)
    assert "self.me = self" not in (tmp_path / "x.json").read_text()


def test_headline_and_report_path_are_printed_unless_quiet(python, program, tmp_path):
    program(LEAK)
    outcome = python.run("-o", "report.json", "program.py")
    assert (outcome.returncode, outcome.stdout) == (0, b"done\n")
    headline, path = outcome.stderr.decode().splitlines()
    assert "Node" in headline
    assert path == f"report: {tmp_path}/report.json"
    quiet = python.run("--quiet", "-f", "-o", "report.json", "program.py")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"done\n", b"")
    program("")
    assert python.run("-q", "program.py").stderr == b""
    line = r"cyclewatch: \d+ collections? watched, no tensor cycle found, overhead [\d.e-]+ %"
    (clean,) = python.run("program.py").stderr.decode().splitlines()
    assert re.fullmatch(line, clean)
    clean, path = python.run("-f", "-o", "report.json", "program.py").stderr.decode().splitlines()
    assert re.fullmatch(line, clean)
    assert path == f"report: {tmp_path}/report.json"
    assert python.start("program.py", CYCLEWATCH="1").stderr == b""


# No collection of the program examines the cycles.
UNCOLLECTED = LEAK.replace("gc.collect()", "")


def test_exit_scan_finds_what_no_collection_examined(python, program, tmp_path):
    program(UNCOLLECTED)
    python.both("program.py", options=["-o", "scanned.json"])
    report = cyclewatch.Report.load(tmp_path / "scanned.json")
    (finding,) = report.findings
    assert (finding.occurrences, finding.collected) == (3, "not yet")
    assert (finding.collections, finding.scans) == (0, 1)
    assert report.processes[0].unexamined == ""
    assert "3 cycles in 1 scan" in finding.to_text()
    assert python.run("--fail", "program.py").returncode == 1
    start = "import cyclewatch\ncyclewatch.warn_tensor_cycles(devices='cpu')\n"
    program(start + textwrap.dedent(UNCOLLECTED))
    outcome = python.start("program.py")
    assert b"3 reference cycles through Node keep 11.7 KiB" in outcome.stderr


# Whatever runs after the program starts a collection.
COLLECTS_AT_EXIT = UNCOLLECTED.replace(
    "for _ in", "gc.collect(); gc.set_threshold(50)\n    for _ in"
)


def test_exit_scan_precedes_the_search_for_never_freed_memory(python, program, tmp_path):
    program(COLLECTS_AT_EXIT)
    python.run("--never-freed", "-o", "scanned.json", "program.py")
    (finding,) = cyclewatch.Report.load(tmp_path / "scanned.json").findings
    assert (finding.occurrences, finding.collected) == (3, "not yet")


def test_exit_line_names_the_rank_and_does_not_repeat_a_warning(python, program):
    program(UNCOLLECTED)
    outcome = python.run("program.py", RANK="3")
    assert outcome.stderr.startswith(b"cyclewatch[rank 3]: 3 reference cycles through Node keep")
    outcome = python.run("--warn", "program.py")
    assert outcome.stderr.count(b"3 reference cycles through Node keep") == 1


def test_start_time_has_milliseconds(python, program, tmp_path):
    program(UNCOLLECTED)
    python.run("-o", "time.json", "program.py")
    (process,) = cyclewatch.Report.load(tmp_path / "time.json").processes
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", process.started_at)


def test_without_the_exit_scan_the_line_says_what_was_not_examined(python, program, tmp_path):
    program(UNCOLLECTED)
    outcome = python.run("--no-exit-scan", "-o", "after.json", "program.py")
    line = outcome.stderr.decode().splitlines()[0]
    assert "no tensor cycle found; not examined: the objects that became unreachable" in line
    report = cyclewatch.Report.load(tmp_path / "after.json")
    assert report.findings == []
    assert report.processes[0].unexamined.startswith("the objects that became unreachable")
    text = " ".join(report.to_text().split())
    assert "Not examined: the objects that became unreachable" in text
    python.run("-o", "before.json", "program.py")
    (finding,) = cyclewatch.Report.load(tmp_path / "before.json").findings
    for command in (
        ["verify", "-e", finding.signature, "before.json", "after.json"],
        ["diff", "--fail", "before.json", "after.json"],
    ):
        refused = python.start("-m", "cyclewatch", *command)
        assert refused.returncode == 3
        assert b"after.json was not examined to its end" in refused.stderr
    fixed = python.run("-o", "fixed.json", program_without_leak(tmp_path))
    assert fixed.returncode == 0
    words = ["verify", "-e", finding.signature, "before.json", "fixed.json"]
    assert python.start("-m", "cyclewatch", *words).returncode == 0


HELD_BY_C_CODE = """
    import ctypes
    import sys
    import cyclewatch

    class Buffer:
        pass

    cyclewatch.register_owner(Buffer, lambda each: {"device": "cpu", "nbytes": 2 << 20})
    held = [Buffer()]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
    del held
    print("torch" in sys.modules)
"""


@pytest.mark.usefixtures("frozen_objects_are_listed")
@pytest.mark.parametrize("option", ["--never-freed", "--quiet", None])
def test_never_freed_says_what_c_code_holds_if_nothing_is_found(python, program, option):
    program(HELD_BY_C_CODE)
    outcome = python.run(*filter(None, [option]), "program.py")
    assert outcome.stdout == b"False\n", "the program does not use torch"
    named = b"never_freed() found nothing, but C code holds 2.0 MiB of tensors" in outcome.stderr
    assert named == (option == "--never-freed")


def program_without_leak(folder):
    path = folder / "fixed.py"
    path.write_text(textwrap.dedent(LEAK).replace("self.me = self", "pass"))
    return path


def test_clean_ranks_are_counted(python, program, tmp_path):
    for rank, source in enumerate([LEAK, "print('clean')"]):
        program(source)
        python.start("program.py", CYCLEWATCH="1", CYCLEWATCH_FORMAT="json", RANK=str(rank))
    reports = [cyclewatch.Report.load(path) for path in tmp_path.glob("*.json")]
    merged = cyclewatch.Report.merge(reports)
    assert [process.rank for process in merged.processes] == [0, 1]
    assert len(merged.findings[0].by_process) == 1


def test_stderr_closed_by_the_program(python, program):
    program("import sys\nsys.stderr.close()\n" + textwrap.dedent(LEAK))
    outcome = python.run("program.py")
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, b"done\n", b"")


@pytest.mark.parametrize("output", ["program.py/report.json", "program.py/a/b/"])
def test_invalid_output_path_is_refused_before_the_program_runs(python, program, output):
    program(LEAK)
    outcome = python.run("-o", output, "program.py")
    assert (outcome.returncode, outcome.stdout) == (3, b"")
    (line,) = outcome.stderr.splitlines()
    assert line.startswith(b"cyclewatch: cannot write ")


def test_existing_report_is_replaced_only_with_force(python, program, tmp_path):
    program(LEAK)
    (tmp_path / "report.json").write_text("mine")
    outcome = python.run("-o", "report.json", "program.py")
    assert (outcome.returncode, outcome.stdout) == (3, b"")
    assert b"--force" in outcome.stderr
    assert outcome.stderr.count(b"\n") == 1
    assert (tmp_path / "report.json").read_text() == "mine"
    python.both("program.py", options=["-f", "-o", "report.json"])
    assert cyclewatch.Report.load(tmp_path / "report.json").findings


# Trainers replace gc.collect to keep libraries from collecting during a step.
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
def test_collect_at_exit_and_collect_every(python, program, tmp_path, before):
    program(before + LEAK.replace("gc.collect()", "gc.disable()"))
    python.both("program.py", options=["-o", "without.json"])
    (finding,) = cyclewatch.Report.load(tmp_path / "without.json").findings
    assert (finding.occurrences, finding.collected) == (3, "not yet")
    python.both("program.py", options=["-o", "never.json", "--no-exit-scan"])
    assert cyclewatch.Report.load(tmp_path / "never.json").findings == []
    python.both("program.py", options=["-o", "with.json", "--collect-at-exit"])
    (finding,) = cyclewatch.Report.load(tmp_path / "with.json").findings
    assert (finding.occurrences, finding.collected) == (3, "yes")
    program(before + WAITS_FOR_A_COLLECTION)
    outcome = python.run("--collect-every", "0.01", "-q", "program.py")
    assert (outcome.stdout, outcome.stderr) == (b"collected\n", b"")


OPTIMIZER_STEPS = """\
import gc
import torch

class Node:
    def __init__(self):
        self.me = self
        self.data = torch.ones(1000)

model = torch.nn.Linear(2, 2)
optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(2)]
for step in range(6):
    Node()
    gc.collect()
    for optimizer in optimizers:
        optimizer.step()
"""


def test_steps_are_those_of_the_first_optimizer(python, program, tmp_path):
    program(OPTIMIZER_STEPS)
    python.both("program.py", options=["-o", "steps.json", "--steps", "2:3"])
    report = cyclewatch.Report.load(tmp_path / "steps.json")
    assert [each.step for each in report.collections] == [2, 3]
    assert report.findings[0].occurrences == 2


def test_steps_are_those_that_the_program_sets(python, program, tmp_path):
    loop = (
        "with cyclewatch.watch() as watch:\n    for step in range(6):\n        watch.step(step)\n"
    )
    body = textwrap.dedent(LEAK).replace("gc.collect()", "")
    body = body.replace("for _ in range(3):\n    Node()", f"{loop}        Node(); gc.collect()")
    program(body)
    python.both("program.py", options=["-o", "steps.json", "--steps", "2:4"])
    report = cyclewatch.Report.load(tmp_path / "steps.json")
    assert [each.step for each in report.collections] == [2, 3, 4]


def test_repeat(python, program):
    program(textwrap.dedent(LEAK).replace("    Node()", "    Node(); gc.collect()"))
    for repeat, number in (("new", 1), ("each", 2)):
        outcome = python.run("--warn", "--repeat", repeat, "program.py")
        assert outcome.stderr.count(b"TensorCycleWarning: again: ") == number


WAITS_FOR_A_SCAN = """\
import gc, glob
import cyclewatch

class Node:
    pass

cyclewatch.register_owner(Node, lambda node: {"device": "cpu", "nbytes": 500})
gc.disable()
node = Node()
node.me = node
del node
while not glob.glob("scanned.json"):
    pass
print("reported")
"""


def test_scan_every_reports_while_the_program_runs(python, program, tmp_path):
    program(WAITS_FOR_A_SCAN)
    outcome = python.run("--scan-every", "0.01", "-o", "scanned.json", "-q", "program.py")
    assert (outcome.stdout, outcome.stderr) == (b"reported\n", b"")
    report = cyclewatch.Report.load(tmp_path / "scanned.json")
    assert [finding.collected for finding in report.findings] == ["not yet"]


def test_scan_every_scans_only_while_collection_is_off(python, program, tmp_path):
    program("import time\nend = time.monotonic() + 0.3\nwhile time.monotonic() < end: pass\n")
    options = ["--scan-every", "0.001", "--no-exit-scan", "-o", "scanned.json"]
    python.run(*options, "program.py")
    assert cyclewatch.Report.load(tmp_path / "scanned.json").stats.scans == 0


# Each collection takes longer than the interval. Counts those that run while ten steps are made.
SLOW_COLLECTIONS = """
    import gc, time

    def slow(phase, info):
        if phase == "stop":
            collections.append(time.perf_counter())
            while time.perf_counter() < collections[-1] + 0.05:
                pass

    collections = []
    gc.disable()
    gc.callbacks.append(slow)
    while len(collections) < 4:
        pass
    between = [after - before for before, after in zip(collections, collections[1:])]
    print(min(between) > 0.05 + 0.05 * WAIT)
"""


@pytest.mark.parametrize(("options", "wait"), [([], 8.9), (["--budget", "0.5"], 0.9)])
def test_periodic_calls_leave_time_to_the_program(python, program, options, wait):
    program(SLOW_COLLECTIONS.replace("WAIT", str(wait)))
    outcome = python.run("--collect-every", "0.001", "-q", *options, "program.py")
    assert (outcome.stdout, outcome.stderr) == (b"True\n", b"")


GROWS_UNTIL_REPORTED = """\
import glob
import cyclewatch

class Node:
    pass

def read(node):
    if node is kept[0]:
        kept.append(Node())  # for the next census, also while the program ends
    return {"device": "cpu", "nbytes": 500, "data_ptr": id(node)}

kept = [Node()]
cyclewatch.register_owner(Node, read)
while not glob.glob("grown.json"):
    pass
first = len(kept)
while len(kept) < first + 20:
    pass
print(first + 15)
"""


def test_census_every_reports_growth_while_the_program_runs(python, program, tmp_path):
    program(GROWS_UNTIL_REPORTED)
    outcome = python.run(
        *("--census-every", "0.001", "--budget", "1", "-o", "grown.json", "program.py")
    )
    report = cyclewatch.Report.load(tmp_path / "grown.json")
    (growing,) = report.growing
    assert (growing.type, growing.unit) == ("__main__.Node", "second")
    assert report.live_owners[0].type == "__main__.Node"
    # The file that was written first is replaced by one with the later censuses.
    assert report.live_owners[0].count >= int(outcome.stdout)
    # Any node's index may be shown, because the search starts at the youngest generation.
    assert re.fullmatch(r"module global __main__\.kept -> kept\[\d+\]", growing.held_by)
    assert growing.rate > 0
    # An account at each interval, and one at the end.
    accounts = json.loads(report.to_json())["memory"]
    assert sorted(each["occasion"] for each in accounts) == ["end", "request"]
    assert outcome.stderr.decode().startswith("cyclewatch: Tensor memory grows: +")


def test_warning_names_the_line_that_disabled_collection(python, program):
    program(LEAK.replace("gc.collect()", "gc.disable()"))
    lines = python.run("--warn", "program.py").stderr.decode()
    assert "collection is off" in lines
    assert "It was switched off in program.py:13 (gc.disable())." in lines
    program(LEAK.replace("gc.collect()", "gc.freeze()"))
    lines = python.run("--warn", "program.py").stderr.decode()
    assert "They were frozen in program.py:13 (gc.freeze())." in lines


def test_frozen_garbage_is_reported_at_exit(python, program, tmp_path):
    program(LEAK.replace("gc.collect()", "gc.freeze()"))
    python.run("-o", "frozen.json", "program.py")
    (finding,) = cyclewatch.Report.load(tmp_path / "frozen.json").findings
    assert finding.collected == "never"


def test_out_of_memory_error_is_explained_unless_disabled(python, program):
    program("""
    import gc
    import cyclewatch

    class Owner:
        pass

    cyclewatch.register_owner(Owner, lambda owner: {"nbytes": 1, "device": "cpu"})
    gc.collect()
    raise MemoryError
    """)
    (line, *_) = reversed(python.run("-q", "program.py").stderr.decode().splitlines())
    (report,) = python.folder.glob("cyclewatch-program-*-oom.txt")
    assert line.startswith("cyclewatch: out of memory on cpu: ")
    assert line.endswith(f"; report: {report}")
    assert "cyclewatch" not in python.run("-q", "--no-oom", "program.py").stderr.decode()
    off = python.start("program.py", CYCLEWATCH="1", CYCLEWATCH_NO_OOM="1")
    assert "cyclewatch" not in off.stderr.decode()
