# SPDX-License-Identifier: Apache-2.0
"""What warn_tensor_cycles and observe_tensor_cycles say, where, and which files they write."""

import json
import os
import re

import pytest

import cyclewatch

# Line numbers below count from here: the program is written to a file of its own.
PROGRAM = """\
import gc, json, logging, os, sys, threading, warnings
import cyclewatch

class Buffer:
    def __init__(self, nbytes):
        self.nbytes = nbytes

class Child:
    def adopt(self, parent):
        self.parent = parent

class Parent:
    def __init__(self, nbytes):
        self.buffer = Buffer(nbytes)
        self.child = Child()
        self.child.adopt(self)

class Handler:
    def __init__(self, nbytes):
        self.buffer = Buffer(nbytes)
        self.on_event = lambda: self

cyclewatch.register_owner(
    Buffer, lambda b: {"device": "cpu", "nbytes": b.nbytes, "data_ptr": id(b)}
)
logged = []
handler = logging.Handler()
handler.emit = lambda record: logged.append([record.levelname, record.getMessage()])
logging.getLogger("cyclewatch").addHandler(handler)
gc.collect()
gc.disable()

def caught(function):
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        function()
    return [[str(r.message), r.category.__name__, r.filename, r.lineno] for r in records]

def answer(value):
    print(json.dumps(value))
"""


@pytest.fixture
def run(interpreter, tmp_path):
    """Runs PROGRAM and what a test adds to it, in a folder of its own."""

    def run_program(addition, *arguments, **options):
        path = tmp_path / "train_model.py"
        path.write_text(PROGRAM + addition)
        return interpreter.run(path, *arguments, cwd=tmp_path, **options)

    return run_program


def answer_of(outcome):
    return json.loads(outcome.stdout.splitlines()[-1])


def reports_in(folder):
    return sorted(path.name for path in folder.glob("cyclewatch-*"))


def line_of(text):
    return next(n for n, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


def test_one_warning_for_each_new_finding_at_the_line_of_the_cut(run, tmp_path):
    outcome = run("""
watch = cyclewatch.warn_tensor_cycles(devices="cpu")
def work():
    for _ in range(3):
        Handler(100)
        gc.collect()
    Parent(50)
    gc.collect()
    watch.stop()
issued = caught(work)
report = watch.report()
found = [[f.headline, f.remedy, f.cut.location] for f in report.findings]
answer([issued, logged, found])
""")
    issued, logged, findings = answer_of(outcome)
    # One for each finding, however often its cycle was made.
    assert len(issued) == len(findings) == 2
    for (message, category, path, line), (_, remedy, location) in zip(
        issued, findings, strict=True
    ):
        assert category == "TensorCycleWarning"
        assert message.splitlines()[0].endswith(f" of cpu memory alive: {remedy}.")
        if location is not None:
            assert f"{path}:{line}" == location
    # A warning tells of the first cycle of a kind, the report of all of them.
    assert issued[0][0].startswith("Handler is part of a reference cycle that keeps 100 B")
    assert findings[0][0].startswith("3 reference cycles through Handler keep 300 B")
    assert issued[0][2:] == [str(tmp_path / "train_model.py"), line_of("lambda: self")]
    # The logger got the card of each, and each names the report.
    assert [level for level, _ in logged] == ["WARNING", "WARNING"]
    (report,) = tmp_path.glob("cyclewatch-*.html")
    for _, card in logged:
        assert "cut" in card
        assert str(report) in card
        assert len(card.splitlines()) <= 26


def test_name_of_a_class_does_nothing_to_the_terminal(run):
    outcome = run("""
watch = cyclewatch.warn_tensor_cycles(devices="cpu", formats=())
def work():
    type("Evil\\x1b[2J\\nFAKE LINE", (Handler,), {})(100)
    gc.collect()
    watch.stop()
answer(caught(work) + logged)
""")
    (message, *_), (_, card) = answer_of(outcome)
    assert "Evil" in message
    assert "\n" not in message
    assert "\x1b" not in message + card


def test_report_file_is_complete_after_stop(run, tmp_path):
    outcome = run("""
watch = cyclewatch.warn_tensor_cycles(devices="cpu", formats=("html", "json"))
Handler(100)
gc.collect()
Handler(100)
gc.collect()
watch.stop()
written = cyclewatch.Report.load(f"cyclewatch-train_model-{os.getpid()}.html")
answer([os.getpid(), written.retained_bytes])
""")
    pid, held = answer_of(outcome)
    assert held == 200
    assert reports_in(tmp_path) == [f"cyclewatch-train_model-{pid}{s}" for s in (".html", ".json")]


def test_report_file_is_complete_after_an_exit_without_stop(run, tmp_path):
    outcome = run("""
watch = cyclewatch.warn_tensor_cycles(devices="cpu")
Handler(100)
gc.collect()
Handler(100)
gc.collect()
""")
    assert "TensorCycleWarning" in outcome.stderr
    (path,) = tmp_path.glob("cyclewatch-train_model-*.html")
    report = cyclewatch.Report.load(path)
    assert report.retained_bytes == 200
    assert report.findings[0].occurrences == 2


def test_cycle_that_dies_while_the_interpreter_exits_does_no_harm(run, tmp_path):
    outcome = run("""
watch = cyclewatch.warn_tensor_cycles(devices="cpu")
kept = Handler(100)
""")
    assert "Fatal" not in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert len(reports_in(tmp_path)) <= 1


def test_rank_is_part_of_the_name(run, tmp_path):
    run(
        """
watch = cyclewatch.warn_tensor_cycles(devices="cpu")
Handler(100)
gc.collect()
""",
        RANK="3",
    )
    (name,) = reports_in(tmp_path)
    assert re.fullmatch(r"cyclewatch-train_model-rank3-\d+\.html", name)


@pytest.mark.parametrize("chosen", ["", "report_dir='reports'"])
def test_folder_counts_from_where_the_watch_began(run, tmp_path, chosen):
    (tmp_path / "elsewhere").mkdir()
    run(f"""
watch = cyclewatch.warn_tensor_cycles(devices="cpu", {chosen})
os.chdir("elsewhere")
Handler(100)
gc.collect()
watch.stop()
""")
    assert len(reports_in(tmp_path / "reports" if chosen else tmp_path)) == 1
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_folder_whose_name_is_no_text_gets_the_report(run, tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff"
    outcome = run("""
watch = cyclewatch.warn_tensor_cycles(devices="cpu", report_dir=os.fsdecode(b"\\xff"))
def work():
    Handler(100)
    gc.collect()
    watch.stop()
issued = caught(work)
(path,) = watch.report_paths
with open("\\udcff/wrong.json", "w") as file:
    file.write("no report")
try:
    cyclewatch.Report.load("\\udcff/wrong.json")
except cyclewatch.ReportFormatError as error:
    answer([len(issued), len(logged), cyclewatch.Report.load(path).retained_bytes, str(error)])
""")
    *counts, error = answer_of(outcome)
    assert counts == [1, 1, 100]
    assert "\ufffd/wrong.json: not valid JSON" in error
    assert len(os.listdir(folder)) == 2


def test_unwritable_folder_is_replaced_by_the_temporary_one_and_the_log_says_so(run, tmp_path):
    (tmp_path / "temporary").mkdir()
    outcome = run(
        """
watch = cyclewatch.warn_tensor_cycles(devices="cpu", report_dir="/dev/null/reports")
Handler(100)
gc.collect()
watch.stop()
answer(logged)
""",
        TMPDIR=str(tmp_path / "temporary"),
    )
    said = [text for _, text in answer_of(outcome) if "/dev/null/reports" in text]
    assert len(said) == 1
    assert str(tmp_path / "temporary") in said[0]
    assert len(reports_in(tmp_path / "temporary")) == 1
    assert reports_in(tmp_path) == []


def test_two_watches_in_one_folder_write_a_report_each(run, tmp_path):
    outcome = run("""
watches = [cyclewatch.warn_tensor_cycles(devices="cpu") for _ in range(2)]
Handler(100)
gc.collect()
for watch in watches:
    watch.stop()
answer([watch.report_paths for watch in watches] + [logged])
""")
    first, second, logged = answer_of(outcome)
    assert sorted([*first, *second]) == sorted(str(each) for each in tmp_path.glob("cyclewatch-*"))
    assert len({*first, *second}) == 2
    for path in (*first, *second):
        assert cyclewatch.Report.load(path).retained_bytes == 100
        assert sum(path in card for _, card in logged) == 1


def test_file_of_another_process_is_never_overwritten(run, tmp_path):
    run("""
theirs = f"cyclewatch-train_model-{os.getpid()}.html"
open(theirs, "w").write("theirs")
watch = cyclewatch.warn_tensor_cycles(devices="cpu")
Handler(100)
gc.collect()
Handler(100)
gc.collect()
watch.stop()
assert open(theirs).read() == "theirs"
""")
    theirs, ours = sorted(tmp_path.glob("cyclewatch-*"), key=lambda path: path.stat().st_size)
    assert theirs.read_text() == "theirs"
    assert cyclewatch.Report.load(ours).retained_bytes == 200


def test_nothing_is_written_where_nothing_was_found(run, tmp_path):
    run("""
with cyclewatch.warn_tensor_cycles(devices="cpu"):
    cycle = []
    cycle.append(cycle)
    del cycle
    gc.collect()
""")
    assert reports_in(tmp_path) == []


def test_warnings_that_are_errors_are_logged_and_the_program_goes_on(run):
    outcome = run("""
warnings.simplefilter("error")
watch = cyclewatch.warn_tensor_cycles(devices="cpu")
Handler(100)
gc.collect()
gc.collect()
watch.stop()
answer([logged, watch.report().retained_bytes])
""")
    logged, held = answer_of(outcome)
    assert held == 100
    assert [level for level, _ in logged] == ["WARNING", "ERROR"]
    assert "TensorCycleWarning" in logged[1][1]
    assert "Traceback" not in outcome.stderr


def test_callback_is_called_once_for_each_collection_that_found_an_owner(run):
    outcome = run("""
seen = []
def callback(report):
    seen.append([report.retained_bytes, len(report.findings), threading.current_thread().name])
watch = cyclewatch.observe_tensor_cycles(callback, devices="cpu")
Handler(100)
Handler(100)
gc.collect()
gc.collect()
Handler(7)
thread = threading.Thread(target=gc.collect)
thread.start()
thread.join()
watch.stop()
answer([seen, logged])
""")
    seen, logged = answer_of(outcome)
    assert seen == [[200, 1, "MainThread"], [7, 1, "MainThread"]]
    assert logged == []


def test_callback_that_raises_does_not_end_the_watch(run, tmp_path):
    outcome = run("""
calls, unraisable = [], []
sys.unraisablehook = lambda told: unraisable.append([str(told.exc_value), told.object is callback])
def callback(report):
    calls.append(report.retained_bytes)
    raise RuntimeError("callback broke")
watch = cyclewatch.observe_tensor_cycles(callback, devices="cpu")
for nbytes in (1, 2):
    Handler(nbytes)
    gc.collect()
watch.stop()
answer([calls, unraisable, logged, sys.exc_info()[0] is None])
""")
    assert answer_of(outcome) == [[1, 2], [["callback broke", True]] * 2, [], True]
    assert reports_in(tmp_path) == []


def test_forked_child_starts_empty_and_writes_its_own_report(run, tmp_path):
    outcome = run("""
warnings.simplefilter("ignore")
watch = cyclewatch.warn_tensor_cycles(devices="cpu")
Handler(100)
gc.collect()
read, write = os.pipe()
child = os.fork()
if child == 0:
    before = watch.report().retained_bytes
    Handler(7)
    gc.collect()
    watch.stop()
    os.write(write, json.dumps([before, watch.report().retained_bytes]).encode())
    os._exit(0)
_, status = os.waitpid(child, 0)
watch.stop()
answer([status, json.loads(os.read(read, 1000)), watch.report().retained_bytes, os.getpid(), child])
""")
    status, of_child, of_parent, parent, child = answer_of(outcome)
    assert (status, of_child, of_parent) == (0, [0, 7], 100)
    held = {
        pid: cyclewatch.Report.load(tmp_path / f"cyclewatch-train_model-{pid}.html").retained_bytes
        for pid in (parent, child)
    }
    assert held == {parent: 100, child: 7}


@pytest.mark.parametrize("strategy", ["ride-along", "trial-deletion", "unproven"])
def test_findings_are_the_same_whatever_the_strategy(run, strategy, interpreter):
    if interpreter.free_threaded and strategy == "trial-deletion":
        pytest.skip("no trial deletion where threads run at once")
    addition = """
with cyclewatch.watch(devices="cpu") as watch:
    for _ in range(3):
        Handler(100)
        Parent(50)
        gc.collect()
report = watch.report()
answer([report.processes[0].strategy, report.retained_bytes, report.stats.owners, report.notes,
        [[f.signature, f.title, f.retained_bytes, f.occurrences] for f in report.findings]])
"""
    chosen, *found = answer_of(run(addition, CYCLEWATCH_STRATEGY=strategy))
    _, *usual = answer_of(run(addition))
    assert chosen == ("trial-deletion" if strategy == "trial-deletion" else "ride-along")
    assert found == usual
    assert usual[0] == 450


def test_import_costs_no_logging_no_warnings_and_no_torch(interpreter):
    outcome = interpreter.run(
        """
        import sys
        before = set(sys.modules)
        import cyclewatch
        print(sorted({"logging", "warnings", "torch", "typing"} & (set(sys.modules) - before)))
        """
    )
    assert outcome.stdout.strip() == "[]"


# A handler that stores what it is given under a lock of its own, while it makes objects.
OWN_LOCK = """
class Sink(logging.Handler):
    def __init__(self):
        super().__init__()
        self.own, self.rows, self.met = threading.Lock(), [], 0
    def emit(self, record):
        if not self.own.acquire(blocking=False):
            self.met += 1
            return
        if record.name == "program":
            Parent(16)
            gc.collect()
            for _ in range(1000):
                str(record)
        self.rows.append(record.name)
        self.own.release()

sink = Sink()
logging.getLogger().addHandler(sink)
warnings.simplefilter("ignore")
watch = cyclewatch.warn_tensor_cycles(devices="all", formats=(), budget=1)
logging.getLogger("program").warning("a step")
during = list(sink.rows)
gc.collect()
for _ in range(1000):
    str(sink)
answer([during, sink.rows, sink.met])
"""


def test_nothing_is_logged_amid_the_programs_own_logging(run):
    during, rows, met = answer_of(run(OWN_LOCK))
    assert during == ["program"]
    assert rows == ["program", "cyclewatch"]  # after the next collection
    assert met == 0
