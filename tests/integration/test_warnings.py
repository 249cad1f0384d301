# SPDX-License-Identifier: Apache-2.0
"""Warnings, log records, callbacks and report files of a watch."""

import json
import re

import pytest

import cyclewatch

# Written to a file, so line numbers count from here.
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
logging.getLogger("cyclewatch").setLevel("INFO")
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
    """Runs PROGRAM followed by the code of a test."""

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


def test_each_new_finding_is_warned_about_once_at_the_cut(run, tmp_path):
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
    # The second of the three cycles doubles the size of its finding.
    [again] = [each for each in issued if each[0].startswith("again: ")]
    assert again[0].startswith(f"again: 200 B in 2 cycles; {findings[0][1]}\n")
    issued.remove(again)
    [line] = [each for each in logged if "again: " in each[1]]
    assert line[1].startswith(f"cyclewatch: {again[0].splitlines()[0]} [cw1-")
    logged.remove(line)
    # One other warning per finding.
    assert len(issued) == len(findings) == 2
    for (message, category, path, line), (_, remedy, location) in zip(
        issued, findings, strict=True
    ):
        assert category == "TensorCycleWarning"
        assert message.splitlines()[0].endswith(f" of cpu memory alive: {remedy}.")
        if location is not None:
            assert f"{path}:{line}" == location
    # The warning describes the first occurrence, the report all of them.
    assert issued[0][0].startswith("Handler is part of a reference cycle that keeps 100 B")
    assert findings[0][0].startswith("3 reference cycles through Handler keep 300 B")
    assert issued[0][2:] == [str(tmp_path / "train_model.py"), line_of("lambda: self")]
    # One line for each finding, with the path of the report, and the card.
    assert [level for level, _ in logged] == ["WARNING", "INFO"] * 2
    (report,) = tmp_path.glob("cyclewatch-*.html")
    for (_, line), (_, card), (message, *_) in zip(logged[::2], logged[1::2], issued, strict=True):
        signature = card.split()[-1]
        headline = message.splitlines()[0]
        assert line == f"cyclewatch: {headline} [{signature}]; report: {report}"
        assert "cut" in card
        assert len(card.splitlines()) <= 25


def test_name_of_a_class_does_nothing_to_the_terminal(run):
    outcome = run("""
watch = cyclewatch.warn_tensor_cycles(devices="cpu", formats=())
def work():
    type("Evil\\x1b[2J\\nFAKE LINE", (Handler,), {})(100)
    gc.collect()
    watch.stop()
answer(caught(work) + logged)
""")
    (message, *_), (_, line), (_, card) = answer_of(outcome)
    assert "Evil" in message
    assert "\n" not in message + line
    assert "\x1b" not in message + line + card


def test_log_record_has_a_field_for_each_fact(run):
    outcome = run("""
os.environ["RANK"] = "3"
handler.emit = lambda record: logged.append(
    [record.signature, record.retained_bytes, record.rank, record.location, record.report]
)
handler.setLevel("WARNING")
watch = cyclewatch.warn_tensor_cycles(devices="cpu", formats=())
Handler(100)
gc.collect()
watch.stop()
[finding] = watch.report().findings
answer([logged, finding.signature, finding.cut.location])
""")
    logged, signature, location = answer_of(outcome)
    assert logged == [[signature, 100, "3", location, None]]


def test_finding_is_printed_once_without_a_handler(interpreter, tmp_path):
    program = (
        PROGRAM.partition("logged = []")[0]
        + """
watch = cyclewatch.warn_tensor_cycles(devices="cpu", formats=())
Handler(100)
gc.collect()
watch.stop()
"""
    )
    outcome = interpreter.run(program, cwd=tmp_path)
    assert outcome.stderr.count("of cpu memory alive") == 1
    assert "TensorCycleWarning" in outcome.stderr


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
    pid, retained = answer_of(outcome)
    assert retained == 200
    assert reports_in(tmp_path) == [f"cyclewatch-train_model-{pid}{s}" for s in (".html", ".json")]


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
def test_report_dir_is_relative_to_the_first_working_directory(run, tmp_path, chosen):
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


def test_unwritable_folder_is_replaced_by_the_temporary_one(run, tmp_path):
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
    messages = [text for _, text in answer_of(outcome) if "/dev/null/reports" in text]
    assert len(messages) == 1
    assert str(tmp_path / "temporary") in messages[0]
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


def test_no_report_is_written_without_findings(run, tmp_path):
    run("""
with cyclewatch.warn_tensor_cycles(devices="cpu"):
    cycle = []
    cycle.append(cycle)
    del cycle
    gc.collect()
""")
    assert reports_in(tmp_path) == []


def test_warnings_as_errors_are_logged(run):
    outcome = run("""
warnings.simplefilter("error")
watch = cyclewatch.warn_tensor_cycles(devices="cpu")
Handler(100)
gc.collect()
gc.collect()
watch.stop()
answer([logged, watch.report().retained_bytes])
""")
    logged, retained = answer_of(outcome)
    assert retained == 100
    assert [level for level, _ in logged] == ["WARNING", "INFO", "ERROR"]
    assert "TensorCycleWarning" in logged[2][1]
    assert "Traceback" not in outcome.stderr


def test_callback_is_called_once_per_collection_with_findings(run):
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


# A handler that allocates while it holds a non-reentrant lock.
OWN_LOCK = """
class Sink(logging.Handler):
    def __init__(self):
        super().__init__()
        self.own_lock, self.rows, self.reentered = threading.Lock(), [], 0
    def emit(self, record):
        if not self.own_lock.acquire(blocking=False):
            self.reentered += 1
            return
        if record.name == "program":
            Parent(16)
            gc.collect()
            for _ in range(1000):
                str(record)
        self.rows.append(record.name)
        self.own_lock.release()

sink = Sink()
logging.getLogger().addHandler(sink)
warnings.simplefilter("ignore")
watch = cyclewatch.warn_tensor_cycles(devices="all", formats=(), budget=1)
logging.getLogger("program").warning("a step")
during = list(sink.rows)
gc.collect()
for _ in range(1000):
    str(sink)
answer([during, sink.rows, sink.reentered])
"""


def test_nothing_is_logged_while_the_program_logs(run):
    during, rows, reentered = answer_of(run(OWN_LOCK))
    assert during == ["program"]
    assert rows == ["program", "cyclewatch", "cyclewatch"]  # after the next collection
    assert reentered == 0
