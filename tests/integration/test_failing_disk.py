# SPDX-License-Identifier: Apache-2.0
"""Disks that are full, read-only or broken cost a sentence, and nothing that was there before.

Each is a child process. Calls are made to fail by a preloaded library (tests/failing_disk), and
some by disks that are really full, in a small file system of the child's own.
"""

import errno
import functools
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

import cyclewatch

PROGRAM = Path(__file__).parent / "programs" / "failing_disk_program.py"
GOLDEN = Path(__file__).parents[1] / "golden"
# Of all calls that write a file, each with errors of its own.
CALLS = {
    "getrandom": ["EAGAIN"],
    "open": ["ENOSPC", "EDQUOT", "EROFS", "EIO"],
    "write": ["ENOSPC", "EDQUOT", "EIO"],
    "fsync": ["ENOSPC", "EDQUOT", "EIO"],
    "close": ["ENOSPC", "EDQUOT", "EIO"],
    "move": ["ENOSPC", "EDQUOT", "EROFS", "EIO"],
}
FAULTS = [(call, name) for call, names in CALLS.items() for name in names]
ONE_OF_EACH = [(call, names[0]) for call, names in CALLS.items()]
SENTENCE = re.compile(
    r"log: cyclewatch could not write /\S+/cyclewatch-failing_disk_program-\d+\.json: (.+)\. "
    r"The findings are kept in memory, for the next report; "
    r"watch\.report\(\)\.save\(\) puts them elsewhere\."
)


def number_of(name):
    return getattr(errno, name)


def answer(outcome):
    """What the program printed, and its lines on standard error."""
    return json.loads(outcome.stdout), outcome.stderr.splitlines()


def told_with(interpreter, act, call, error, folder, library):
    """As answer(), of a program in which `call` fails with that number of an error."""
    fault = f"{call} {error}"
    return answer(interpreter.run(PROGRAM, act, fault, folder, LD_PRELOAD=str(library)))


@functools.cache
def lines_without_a_fault(interpreter, act):
    """What the program says where nothing fails."""
    with tempfile.TemporaryDirectory() as folder:
        return answer(interpreter.run(PROGRAM, act, "", folder))[1]


def told_in_one_sentence(interpreter, act, lines):
    """Why the report was not written; all else is said as without the fault."""
    (sentence,) = filter(SENTENCE.fullmatch, lines)
    lines.remove(sentence)
    assert lines == lines_without_a_fault(interpreter, act)
    return SENTENCE.fullmatch(sentence)[1]


@pytest.mark.parametrize(("call", "error"), FAULTS)
def test_a_call_that_fails_costs_a_sentence_and_the_old_report_stays(
    main_interpreter, tmp_path, failing_disk, call, error
):
    number = number_of(error)
    told, lines = told_with(main_interpreter, "later", call, number, tmp_path, failing_disk)
    old_is_whole, findings, findings_on_disk_later = told
    assert old_is_whole
    assert (findings, findings_on_disk_later) == (2, [3])
    assert told_in_one_sentence(main_interpreter, "later", lines) == os.strerror(number)


@pytest.mark.parametrize(("call", "error"), ONE_OF_EACH)
def test_a_first_report_is_written_when_there_is_room(
    main_interpreter, tmp_path, failing_disk, call, error
):
    number = number_of(error)
    told, lines = told_with(main_interpreter, "first", call, number, tmp_path, failing_disk)
    nothing_is_left, findings, findings_on_disk_later = told
    assert nothing_is_left
    assert (findings, findings_on_disk_later) == (1, [1])
    assert told_in_one_sentence(main_interpreter, "first", lines) == os.strerror(number)


@pytest.mark.parametrize(("call", "error"), ONE_OF_EACH)
def test_a_program_ends_as_ever_where_its_disk_fails_to_the_end(
    main_interpreter, tmp_path, failing_disk, call, error
):
    number = number_of(error)
    told, lines = told_with(main_interpreter, "to_the_end", call, number, tmp_path, failing_disk)
    assert told == 2
    assert told_in_one_sentence(main_interpreter, "to_the_end", lines)
    (path,) = tmp_path.iterdir()
    assert len(cyclewatch.Report.load(path).findings) == 1


def test_a_program_that_a_long_file_would_end_ends_as_ever(main_interpreter, tmp_path):
    outcome = main_interpreter.run(PROGRAM, "to_the_end", "deadly file size", tmp_path)
    told, lines = answer(outcome)
    assert told == 2
    assert told_in_one_sentence(main_interpreter, "to_the_end", lines) == os.strerror(errno.EFBIG)


def mode_of(path):
    return stat.S_IMODE(path.lstat().st_mode)


def modes_of_temporary(folder):
    """Of each file there that was begun and not moved to its name."""
    return [mode_of(path) for path in folder.glob(".cyclewatch-*")]


MOMENTS = [(call, moment) for call in CALLS for moment in ("before", "after")]


@pytest.mark.parametrize(("call", "moment"), MOMENTS)
@pytest.mark.parametrize("old", [0, 1], ids=["first", "later"])
def test_a_program_killed_in_a_call_leaves_the_old_or_the_new_report(
    main_interpreter, tmp_path, failing_disk, old, call, moment
):
    fault = f"{call} {moment}"
    outcome = main_interpreter.run(
        *(PROGRAM, "killed", fault, tmp_path, old), check=False, LD_PRELOAD=str(failing_disk)
    )
    assert outcome.returncode == -signal.SIGKILL
    moved = (call, moment) == ("move", "after")
    reports = [cyclewatch.Report.load(path) for path in tmp_path.glob("cyclewatch-*")]
    findings = old + 1 if moved else old
    assert [len(report.findings) for report in reports] == ([findings] if findings else [])
    # What it had begun stays, for its owner only though the umask would let everybody read it.
    # A first report is linked to its name, so that the other one is still there.
    begun = MOMENTS.index((call, moment)) >= MOMENTS.index(("open", "after"))
    assert modes_of_temporary(tmp_path) == ([0o600] if begun and not (moved and old) else [])


@pytest.mark.parametrize(("call", "moment"), MOMENTS)
@pytest.mark.parametrize("old", [False, True], ids=["first", "later"])
def test_a_program_killed_in_a_call_of_save_leaves_the_old_or_the_new_file(
    main_interpreter, tmp_path, failing_disk, old, call, moment
):
    path = tmp_path / "report.json"
    if old:
        path.write_text("old")
        path.chmod(0o604)
    fault = f"{call} {moment}"
    outcome = main_interpreter.run(
        *(PROGRAM, "killed_saving", fault, tmp_path), check=False, LD_PRELOAD=str(failing_disk)
    )
    assert outcome.returncode == -signal.SIGKILL
    moved = (call, moment) == ("move", "after")
    if moved:
        assert (len(cyclewatch.Report.load(path).findings), mode_of(path)) == (1, 0o640)
    elif old:
        assert (path.read_text(), mode_of(path)) == ("old", 0o604)
    else:
        assert not path.exists()
    # Both the file and what was begun of it are for whom the umask lets read.
    begun = MOMENTS.index((call, moment)) >= MOMENTS.index(("open", "after"))
    assert modes_of_temporary(tmp_path) == ([0o640] if begun and not moved else [])


def test_a_disk_without_hard_links_will_do(main_interpreter, tmp_path, failing_disk):
    told, lines = told_with(main_interpreter, "first", "link", errno.EPERM, tmp_path, failing_disk)
    assert told == [False, 1, [1]]
    assert lines == lines_without_a_fault(main_interpreter, "first")


@pytest.fixture(scope="module")
def small_disk():
    """The command that gives the program after it a file system of a MiB in the folder before."""
    mount = 'mount -t tmpfs -o size=1m,nr_inodes=64 none "$0" && exec "$@"'
    for unshare in ("-rm", "-m"):
        command = ["unshare", unshare, "sh", "-c", mount]
        with tempfile.TemporaryDirectory() as folder:
            if subprocess.run([*command, folder, "true"], capture_output=True).returncode == 0:
                return command
    pytest.skip("neither a user namespace nor root may mount a file system on this machine")


def run_on(small_disk, interpreter, act, fault, folder, **environment):
    """As interpreter.run(), with a disk of its own in `folder`."""
    return subprocess.run(
        [*small_disk, folder, interpreter.path, PROGRAM, act, fault, folder],
        env={**interpreter.environment(), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


REAL_FAULTS = {"full": "ENOSPC", "without inodes": "ENOSPC", "read-only": "EROFS"}


@pytest.mark.parametrize(("fault", "error"), REAL_FAULTS.items())
def test_a_real_disk_that_fails_costs_a_sentence_and_the_old_report_stays(
    main_interpreter, tmp_path, small_disk, fault, error
):
    outcome = run_on(small_disk, main_interpreter, "later", fault, tmp_path)
    told, lines = answer(outcome)
    assert told == [True, 2, [3]]
    assert told_in_one_sentence(main_interpreter, "later", lines) == os.strerror(number_of(error))


@pytest.mark.parametrize("fault", ["file size", "deadly file size"])
def test_a_file_that_may_grow_no_longer_is_as_a_full_disk(main_interpreter, tmp_path, fault):
    told, lines = answer(main_interpreter.run(PROGRAM, "later", fault, tmp_path))
    assert told == [True, 2, [3]]
    assert told_in_one_sentence(main_interpreter, "later", lines) == os.strerror(errno.EFBIG)


def test_a_report_for_a_read_only_disk_goes_to_the_temporary_folder(
    main_interpreter, tmp_path, small_disk
):
    disk, temporary = tmp_path / "disk", tmp_path / "temporary"
    disk.mkdir()
    temporary.mkdir()
    outcome = run_on(
        small_disk, main_interpreter, "first", "read-only", disk, TMPDIR=str(temporary)
    )
    told, lines = answer(outcome)
    assert told == [True, 1, []]
    sentence = f"cyclewatch cannot write to {disk} and writes its report to {temporary} instead."
    lines.remove(f"log: {sentence}")
    assert lines == lines_without_a_fault(main_interpreter, "first")
    (path,) = temporary.iterdir()
    assert len(cyclewatch.Report.load(path).findings) == 1


def saving_failed(told, kept, later, error, number):
    """Whether save() raised for `number` formats, and neither took nor left anything."""
    sentences = [
        each for each in told if each.startswith(f"[Errno {error}] {os.strerror(error)}: ")
    ]
    return len(sentences) == number and kept and later == [None] * 4


@pytest.mark.parametrize(("call", "error"), ONE_OF_EACH)
def test_save_raises_and_the_old_file_stays(main_interpreter, tmp_path, failing_disk, call, error):
    fault = f"{call} {number_of(error)}"
    outcome = main_interpreter.run(PROGRAM, "saved", fault, tmp_path, LD_PRELOAD=str(failing_disk))
    assert saving_failed(*answer(outcome)[0], number_of(error), 4)
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize(("fault", "error"), REAL_FAULTS.items())
def test_save_to_a_real_disk_that_fails_raises_and_the_old_file_stays(
    main_interpreter, tmp_path, small_disk, fault, error
):
    outcome = run_on(small_disk, main_interpreter, "saved", fault, tmp_path)
    assert saving_failed(*answer(outcome)[0], number_of(error), 4)


@pytest.mark.parametrize("fault", ["file size", "deadly file size"])
def test_save_of_a_file_that_may_grow_no_longer_raises(main_interpreter, tmp_path, fault):
    # The text is short enough.
    outcome = main_interpreter.run(PROGRAM, "saved", fault, tmp_path)
    assert saving_failed(*answer(outcome)[0], errno.EFBIG, 3)


COMMAND = "import sys; from cyclewatch.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.parametrize(
    "words",
    [
        ["convert", "--to", "html"],
        ["convert", "--to", "heapsnapshot"],
        ["merge", "report.json"],
        ["strip", "--paths"],
        ["view", "--no-open"],
    ],
)
def test_a_command_whose_output_cannot_be_written_ends_with_3(
    main_interpreter, tmp_path, failing_disk, words
):
    shutil.copy(GOLDEN / "report.json", tmp_path)
    (tmp_path / "out.html").write_text("old")
    outcome = main_interpreter.run(
        COMMAND,
        *(*words, "report.json", "--force", "-o", "out.html"),
        check=False,
        cwd=tmp_path,
        LD_PRELOAD=str(failing_disk),
        FAILING_DISK=f"write {errno.ENOSPC}",
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
owner.me = owner if LEAKS else None
del owner
gc.collect()
print("done")
"""


@pytest.mark.parametrize("leaks", [True, False])
@pytest.mark.parametrize(
    ("options", "status"),
    [([], 0), (["--fail"], 1), (["--warn"], 0), (["--quiet"], 0), (["--fail", "--quiet"], 1)],
)
def test_run_says_that_its_report_could_not_be_written(
    main_interpreter, tmp_path, failing_disk, leaks, options, status
):
    (tmp_path / "program.py").write_text(LEAKING.replace("LEAKS", str(leaks)))
    (tmp_path / "out.json").write_text("old")
    outcome = main_interpreter.run(
        COMMAND,
        *("run", "--devices", "cpu", "-f", "-o", "out.json", *options, "program.py"),
        check=False,
        cwd=tmp_path,
        LD_PRELOAD=str(failing_disk),
        FAILING_DISK=f"write {errno.ENOSPC}",
    )
    assert (outcome.returncode, outcome.stdout) == (status if leaks else 0, "done\n")
    sentence = f"cyclewatch could not write {tmp_path}/out.json: No space left on device"
    assert outcome.stderr.count(sentence) == 1
    if not leaks or "--quiet" in options:
        assert outcome.stderr == f"{sentence}; make room there, or name another place\n"
    if "--warn" not in options:
        assert "report: " not in outcome.stderr
    assert (tmp_path / "out.json").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["out.json", "program.py"]
