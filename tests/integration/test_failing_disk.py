# SPDX-License-Identifier: Apache-2.0
"""A disk that is full while a report is written costs a sentence; the old report stays."""

import errno
import json
import os
import re
import shutil
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "failing_disk_program.py"
GOLDEN = Path(__file__).parents[1] / "golden"
FAULTS = {"full": errno.ENOSPC, "file size": errno.EFBIG}
SENTENCE = re.compile(
    r"log: cyclewatch could not write /\S+/cyclewatch-failing_disk_program-\d+\.json: (.+)\. "
    r"The findings stay in memory; to save them to another file, use watch\.report\(\)\.save\(\)\."
)


@pytest.fixture
def run_failing(main_interpreter, tmp_path, failing_disk):
    """Runs an act of the program; gives what it printed, and its lines on standard error."""

    def run(act, fault):
        folder = tmp_path / (fault.split()[0] if fault else "none")
        folder.mkdir()
        outcome = main_interpreter.run(PROGRAM, act, fault, folder, LD_PRELOAD=str(failing_disk))
        return json.loads(outcome.stdout), outcome.stderr.splitlines()

    return run


@pytest.mark.parametrize(("fault", "error"), FAULTS.items())
def test_full_disk_costs_one_sentence_and_the_old_report_stays(run_failing, fault, error):
    told, lines = run_failing("watched", fault)
    old_stays, findings, findings_on_disk_later = told
    assert old_stays
    assert (findings, findings_on_disk_later) == (2, 3)
    (sentence,) = filter(SENTENCE.fullmatch, lines)
    assert SENTENCE.fullmatch(sentence)[1] == os.strerror(error)
    lines.remove(sentence)
    assert lines == run_failing("watched", "")[1]


@pytest.mark.parametrize(("fault", "error"), FAULTS.items())
def test_save_to_a_full_disk_raises_and_the_old_file_stays(run_failing, fault, error):
    told, old_stays = run_failing("saved", fault)[0]
    assert told.startswith(f"[Errno {error}] {os.strerror(error)}: ")
    assert old_stays


COMMAND = "import sys; from cyclewatch.cli import main; sys.exit(main(sys.argv[1:]))"


def test_command_whose_output_cannot_be_written_ends_with_3(
    main_interpreter, tmp_path, failing_disk
):
    shutil.copy(GOLDEN / "report.json", tmp_path)
    (tmp_path / "out.html").write_text("old")
    outcome = main_interpreter.run(
        COMMAND,
        *("convert", "--to", "html", "report.json", "--force", "-o", "out.html"),
        check=False,
        cwd=tmp_path,
        LD_PRELOAD=str(failing_disk),
        FAILING_DISK="1",
    )
    assert outcome.stderr == "cyclewatch: cannot write out.html: No space left on device\n"
    assert (outcome.returncode, outcome.stdout) == (3, "")
    assert (tmp_path / "out.html").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["out.html", "report.json"]


LEAKING = """
import gc
import cyclewatch

class Owner:
    pass

cyclewatch.register_owner(Owner, lambda owner: {"device": "cpu", "nbytes": 1024, "data_ptr": 8})
owner = Owner()
owner.me = owner
del owner
gc.collect()
print("done")
"""


def test_run_says_that_its_report_could_not_be_written(main_interpreter, tmp_path, failing_disk):
    (tmp_path / "program.py").write_text(LEAKING)
    (tmp_path / "out.json").write_text("old")
    outcome = main_interpreter.run(
        COMMAND,
        *("run", "--devices", "cpu", "-f", "-o", "out.json", "--fail", "--quiet", "program.py"),
        check=False,
        cwd=tmp_path,
        LD_PRELOAD=str(failing_disk),
        FAILING_DISK="1",
    )
    sentence = f"cyclewatch could not write {tmp_path}/out.json: No space left on device"
    assert outcome.stderr == f"{sentence}; free some space, or use another --output\n"
    assert (outcome.returncode, outcome.stdout) == (1, "done\n")
    assert (tmp_path / "out.json").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["out.json", "program.py"]
