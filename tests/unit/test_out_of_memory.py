# SPDX-License-Identifier: Apache-2.0
"""Out-of-memory errors: the report, the note, and the exception hooks."""

import contextlib
import gc
import json
import multiprocessing
import os
import re
import sys
import tempfile
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch.account import measurement

pytestmark = pytest.mark.usefixtures("buffers_are_owners")

ROW = re.compile(r"^ +-?[\d.]+ \w+ +(-?[\d,]+)  (.+)$", re.MULTILINE)


def leak():
    buffer = Buffer(1_000_000, shape=(1000, 250), dtype="float32")
    buffer.me = buffer


FREE = "free, kept by malloc() for later allocations"
REST = "remainder, owned by no known tensor"


def rows(text):
    """Map each row's description, up to the first parenthesis, to the number in the row."""
    return {
        words.partition(" (")[0]: int(count.replace(",", "")) for count, words in ROW.findall(text)
    }


def run_out_of_memory(folder, error):
    """Raise `error` inside a `with` block of oom_autopsy(), and return the autopsy."""
    with (
        pytest.raises(type(error)),
        cyclewatch.oom_autopsy(report_dir=folder) as autopsy,
    ):
        raise error
    return autopsy


def test_report_divides_the_memory_in_use(tmp_path):
    leak()
    kept = [Buffer(1_000_000, shape=(1000, 250), dtype="float32") for _ in range(3)]
    requested = 10**15
    error = RuntimeError(f"DefaultCPUAllocator: you tried to allocate {requested} bytes.")
    autopsy = run_out_of_memory(tmp_path, error)
    with open(autopsy.report_path, encoding="utf-8") as file:
        text = file.read()
    numbers = rows(text)
    assert len(kept) == 3
    assert numbers["requested"] == requested
    assert numbers["reachable: other tensors"] >= 3_000_000
    assert numbers["dead in 1 cycle"] == 1_000_000
    totals = {"requested", "in use", "limit"}
    assert numbers[REST] > 0
    # Tests that ran before in this process may have left tensors of other categories.
    assert numbers["in use"] == sum(numbers[each] for each in numbers.keys() - totals)
    assert "Buffer.me -> Buffer" in text
    assert re.search(
        r"2\.9 MiB  \S*Buffer \[1000, 250\] float32 on cpu \(3 x 977 KiB\)$", text, re.M
    )


@pytest.mark.usefixtures("frozen_objects_are_listed")
def test_frozen_cycles_are_listed_separately(tmp_path):
    leak()
    gc.freeze()
    try:
        leak()
        autopsy = run_out_of_memory(tmp_path, MemoryError())
    finally:
        gc.unfreeze()
    with open(autopsy.report_path, encoding="utf-8") as file:
        text = file.read()
    numbers = rows(text)
    assert numbers["dead in 1 cycle"] == numbers["dead in 1 frozen cycle"] == 1_000_000
    assert "977 KiB dead in 1 frozen cycle (call gc.unfreeze(), then gc.collect())" in text


def test_note_is_one_line_with_the_path_of_the_report(tmp_path):
    error = MemoryError()
    autopsy = run_out_of_memory(tmp_path, error)
    (note,) = error.__notes__
    assert note.startswith("cyclewatch: out of memory on cpu: ")
    assert note.endswith(f"; report: {autopsy.report_path}")
    assert "\n" not in note
    page = autopsy.report_path.replace(".txt", ".html")
    assert sorted(map(str, tmp_path.iterdir())) == [page, autopsy.report_path]
    assert f"; page: {page}; " in note
    assert autopsy.report_path.endswith("-oom.txt")


def test_note_says_what_to_do_about_what_holds_a_notable_part(tmp_path):
    kept = Buffer(1 << 20)
    error = MemoryError()
    run_out_of_memory(tmp_path, error)
    assert " local kept);" in error.__notes__[0]
    kept.facts["nbytes"] = 1 << 40
    error = MemoryError()
    run_out_of_memory(tmp_path, error)
    assert " local kept: delete the variable `kept` of " in error.__notes__[0]


@pytest.mark.parametrize("watched", [False, True])
def test_page_shows_the_findings_the_account_and_the_live_tensors(tmp_path, watched):
    class Early:
        def __init__(self):
            self.buffer = Buffer(2_000_000)
            self.me = self

    with cyclewatch.watch(devices="cpu") if watched else contextlib.nullcontext():
        Early()
        gc.collect()
        leak()
        kept = [Buffer(3_000_000)]
        autopsy = run_out_of_memory(tmp_path, MemoryError())
    report = cyclewatch.Report.load(autopsy.report_path.replace(".txt", ".html"))
    assert kept
    data = json.loads(report.to_json())
    [account] = data["memory"]
    assert account["occasion"] == "out of memory"
    assert [each["bytes"] for each in account["lines"] if each["kind"] == "dead"] == [1_000_000]
    assert sum(each["bytes"] for each in account["lines"]) == account["in_use"]
    # The first has been collected before.
    titles = ["Early.me -> Early"] if watched else []
    # Nothing frees the cycles that tests of never_freed() have left.
    found = [each.title for each in report.findings if each.collected != "uncollectable"]
    assert found == [*titles, "Buffer.me -> Buffer"]
    assert report.live_owners[0].nbytes == 3_000_000


def test_page_of_a_watch_counts_what_is_dead_now(tmp_path):
    class Known:
        def __init__(self):
            self.buffer = Buffer(2_000_000)
            self.me = self

    class New:
        def __init__(self):
            self.buffer = Buffer(2_000_000)
            self.me = self

    with cyclewatch.watch(devices="cpu"):
        Known()
        gc.collect()
        Known(), Known(), New()
        autopsy = run_out_of_memory(tmp_path, MemoryError())
    report = cyclewatch.Report.load(autopsy.report_path.replace(".txt", ".html"))
    sizes = {
        each.title: each.retained_bytes
        for each in report.findings
        if each.collected != "uncollectable"
    }
    assert sizes == {"Known.me -> Known": 6_000_000, "New.me -> New": 2_000_000}
    # In the summary, too, although no collection has seen the last three.
    assert "7.6 MiB" in report.to_text().splitlines()[0]


def test_error_is_annotated_once(tmp_path):
    error = MemoryError()
    with cyclewatch.oom_autopsy(report_dir=tmp_path):
        run_out_of_memory(tmp_path, error)
        run_out_of_memory(tmp_path, error)
    assert len(error.__notes__) == 1


def test_cause_of_another_error_is_annotated(tmp_path):
    cause = MemoryError()
    error = ValueError()
    error.__cause__ = cause
    run_out_of_memory(tmp_path, error)
    assert len(cause.__notes__) == 1
    assert not hasattr(error, "__notes__")


def test_other_errors_cause_no_report(tmp_path):
    error = ValueError()
    assert run_out_of_memory(tmp_path, error).report_path is None
    assert not hasattr(error, "__notes__")
    assert not list(tmp_path.iterdir())


def test_error_that_was_handled_before_the_block_causes_no_report(tmp_path):
    try:
        raise MemoryError
    except MemoryError as error:
        assert run_out_of_memory(tmp_path, ValueError()).report_path is None
        assert not hasattr(error, "__notes__")


def test_error_that_was_handled_before_the_block_and_leaves_it_is_reported(tmp_path):
    try:
        raise MemoryError
    except MemoryError as error:
        assert run_out_of_memory(tmp_path, error).report_path is not None
        assert len(error.__notes__) == 1


def fail():
    raise MemoryError


def test_error_of_a_worker_process_causes_no_report(tmp_path):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        error = pool.submit(fail).exception()
    assert type(error) is MemoryError
    assert run_out_of_memory(tmp_path, error).report_path is None
    loader = RuntimeError(
        "Caught MemoryError in DataLoader worker process 0.\n"
        "Original Traceback (most recent call last):\n  ..."
    )
    error = MemoryError(*loader.args)  # torch raises the type of the original error
    assert run_out_of_memory(tmp_path, error).report_path is None


def test_other_files_are_not_replaced(tmp_path):
    (tmp_path / "first").mkdir()
    first = Path(run_out_of_memory(tmp_path / "first", MemoryError()).report_path)
    taken = tmp_path / first.name
    taken.write_text("of somebody else")
    os.mkfifo(taken.with_stem(f"{taken.stem}-2"))  # opening it would block
    taken.with_stem(f"{taken.stem}-3").symlink_to(taken)
    paths = [run_out_of_memory(tmp_path, MemoryError()).report_path for _ in range(2)]
    assert paths == [str(taken.with_stem(f"{taken.stem}-4"))] * 2
    assert taken.read_text() == "of somebody else"


def test_folder_of_the_report_is_created(tmp_path):
    autopsy = run_out_of_memory(tmp_path / "new" / "reports", MemoryError())
    assert autopsy.report_path.startswith(f"{tmp_path}/new/reports/")


class RefusingError(MemoryError):
    """Does not accept notes."""

    def add_note(self, note):
        raise TypeError(note)


class ExitingError(MemoryError):
    """An error that raises SystemExit when its notes are read."""

    @property
    def __notes__(self):
        raise SystemExit(0)


class OddNotesError(MemoryError):
    """An error whose notes are not a list of strings."""

    __notes__ = 5


@pytest.mark.parametrize("error", [RefusingError(), OddNotesError(), ExitingError()])
def test_error_that_refuses_a_note_is_reported_in_the_log(tmp_path, caplog, error):
    with (
        pytest.raises(type(error)) as caught,
        cyclewatch.oom_autopsy(report_dir=tmp_path) as autopsy,
    ):
        raise error
    assert caught.value is error
    (message,) = [record.message for record in caplog.records]
    assert message.startswith("cyclewatch: out of memory on cpu")
    assert message.endswith(f"; report: {autopsy.report_path}")


def test_report_goes_to_the_temporary_directory_if_the_folder_is_unusable(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    autopsy = run_out_of_memory(tmp_path / "file" / "folder", MemoryError())
    assert autopsy.report_path.startswith(f"{tmp_path}/temporary/")


def test_program_sees_its_own_error_if_the_examination_fails(tmp_path, monkeypatch, caplog):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(measurement, "Memory", fail)
    error = MemoryError()
    run_out_of_memory(tmp_path, error)
    assert not hasattr(error, "__notes__")
    assert caplog.messages == ["no out-of-memory report: MemoryError: "]


def test_hooks_are_restored(tmp_path):
    before = (sys.excepthook, threading.excepthook)
    with cyclewatch.oom_autopsy(report_dir=tmp_path):
        assert sys.excepthook is sys.__excepthook__ or before[0] is not sys.__excepthook__
        assert before != (sys.excepthook, threading.excepthook)
        with cyclewatch.warn_tensor_cycles(devices="cpu"):
            pass
        assert before != (sys.excepthook, threading.excepthook)
    assert before == (sys.excepthook, threading.excepthook)


def test_warn_tensor_cycles_installs_no_hooks_with_oom_false():
    before = sys.excepthook
    with cyclewatch.warn_tensor_cycles(devices="cpu", oom=False):
        assert sys.excepthook is before


def test_hook_of_another_library_stays(tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr(sys, "excepthook", lambda *_: called.append("first"))
    for _ in range(2):
        with cyclewatch.oom_autopsy(report_dir=tmp_path):
            ours = sys.excepthook

            def second(*arguments, ours=ours):
                called.append("second")
                ours(*arguments)

            sys.excepthook = second
        assert sys.excepthook is second
    error = MemoryError()
    sys.excepthook(MemoryError, error, None)
    assert called == ["second", "second", "first"]
    assert not hasattr(error, "__notes__")


PROGRAM = """
    import sys, threading
    import cyclewatch

    def announce(*arguments):
        print("hook of the program")
        sys.__excepthook__(*arguments)

    class Owner:
        pass

    cyclewatch.register_owner(Owner, lambda owner: {"nbytes": 1, "device": "cpu"})
    sys.excepthook = announce
    watch = cyclewatch.warn_tensor_cycles(devices="cpu", oom=sys.argv[1] == "on")

    def fail():
        raise MemoryError("here")

    if sys.argv[2] == "thread":
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
    else:
        fail()
"""


@pytest.mark.parametrize("where", ["program", "thread"])
def test_uncaught_error_is_annotated(interpreter, tmp_path, where):
    outcome = interpreter.run(PROGRAM, "on", where, check=False, cwd=tmp_path)
    (report,) = tmp_path.glob("cyclewatch-*-oom.txt")
    line = outcome.stderr.splitlines()[-1]
    assert line.startswith("cyclewatch: out of memory on cpu: "), outcome.stderr
    assert line.endswith(f"; report: {report}")
    assert outcome.stdout.splitlines() == ["hook of the program"] * (where == "program")


def test_uncaught_error_is_not_annotated_with_oom_false(main_interpreter, tmp_path):
    outcome = main_interpreter.run(PROGRAM, "off", "program", check=False, cwd=tmp_path)
    assert outcome.stderr.splitlines()[-1] == "MemoryError: here"
    assert not list(tmp_path.iterdir())


# Fills its memory under RLIMIT_AS, through a cycle or by holding tensors.
LIMITED = Path(__file__).parents[1] / "integration" / "programs" / "out_of_memory.py"
MIB = 1 << 20
LINE_WITH_NUMBER = re.compile(r"^ +\S+ \w+ +([\d,]+)  (.+?)(?: \(|$)", re.MULTILINE)


def run_under_limit(interpreter, folder, how, size=32):
    """Return the text of the report, and a dict from row descriptions to numbers."""
    outcome = interpreter.run(LIMITED, how, str(size), check=False, cwd=folder)
    (path,) = folder.glob("cyclewatch-out_of_memory-*-oom.txt")
    text = path.read_text(encoding="utf-8")
    numbers = {
        words: int(count.replace(",", "")) for count, words in LINE_WITH_NUMBER.findall(text)
    }
    # The exit scan may report the cycles after the traceback.
    error, note = re.search(r"^(.*)\n(cyclewatch: out of .*)$", outcome.stderr, re.M).groups()
    assert "DefaultCPUAllocator" in error
    page = path.with_suffix(".html")
    assert note == f"cyclewatch: {text.splitlines()[0]}; page: {page}; report: {path}"
    assert numbers["requested"] == size * MIB
    assert numbers["limit"] - numbers["requested"] < numbers["in use"] <= numbers["limit"]
    return text, numbers


# Small tensors leave no room for the examination.
@pytest.mark.parametrize("size", [1, 32])
@pytest.mark.usefixtures("torch_interpreter")
def test_cycle_is_named(main_interpreter, tmp_path, size):
    text, numbers = run_under_limit(main_interpreter, tmp_path, "leak", size)
    (cycles,) = re.findall(r"dead in ([\d,]+) cycles \(a collection frees them\)$", text, re.M)
    dead = numbers[f"dead in {cycles} cycles"]
    assert int(cycles.replace(",", "")) > 640 // size
    assert dead == int(cycles.replace(",", "")) * size * MIB
    others = sum(numbers.get(line, 0) for line in ("reachable: other tensors", FREE, REST))
    assert others + dead == numbers["in use"]
    assert "Engine.callbacks" in text


@pytest.mark.usefixtures("torch_interpreter")
def test_live_owner_is_named_without_a_cycle(main_interpreter, tmp_path):
    text, numbers = run_under_limit(main_interpreter, tmp_path, "hold")
    assert "dead in" not in text
    assert numbers["reachable: other tensors"] > 640 * MIB
    others = numbers.get(FREE, 0) + numbers[REST]
    assert numbers["reachable: other tensors"] + others == numbers["in use"]
    first = text.partition("Largest reachable tensors:\n")[2].splitlines()[0]
    assert re.search(r"__main__\.History \[33554432\] uint8 on cpu \(\d+ x 32\.0 MiB\)$", first)


# Runs no collection after the import of torch, so that no hook for failures is installed.
WITHOUT_COLLECTION = f"""
import gc, resource, runpy, sys
gc.disable()
sys.argv = ["train", "leak", "32"]
import cyclewatch
cyclewatch.warn_tensor_cycles, start = lambda **_: None, cyclewatch.warn_tensor_cycles
if {{starts_itself}}:
    start(devices="cpu")
runpy.run_path({str(LIMITED)!r}, run_name="__main__")
"""


RUN = ("-m", "cyclewatch", "run", "--devices", "cpu")
# No collection runs between the import of torch and the error.
THREAD = """
import gc
import torch
gc.disable()
import threading

def fail():
    torch.empty(1 << 50)

thread = threading.Thread(target=fail)
thread.start()
thread.join()
"""


@pytest.mark.usefixtures("torch_interpreter", "installation")
def test_thread_that_fails_before_a_collection(main_interpreter, tmp_path):
    program = tmp_path / "train.py"
    program.write_text(THREAD)
    outcome = main_interpreter.run(program, through=RUN, check=False, cwd=tmp_path)
    (path,) = tmp_path.glob("*-oom.txt")
    assert f"report: {path}" in outcome.stderr


@pytest.mark.usefixtures("torch_interpreter", "installation")
@pytest.mark.parametrize("is_run", [True, False])
def test_program_that_ends_before_a_collection(main_interpreter, tmp_path, is_run):
    program = tmp_path / "train.py"
    program.write_text(WITHOUT_COLLECTION.format(starts_itself=not is_run))
    outcome = main_interpreter.run(
        program, through=RUN if is_run else (), check=False, cwd=tmp_path
    )
    assert outcome.returncode == 1, outcome.stderr
    (path,) = tmp_path.glob("*-oom.txt")
    headline = path.read_text(encoding="utf-8").splitlines()[0]
    assert "dead in" in headline
    lines = outcome.stderr.splitlines()
    page = path.with_suffix(".html")
    assert lines.count(f"cyclewatch: {headline}; page: {page}; report: {path}") == 1
    assert any("reference cycles through Engine keep" in line for line in lines)
