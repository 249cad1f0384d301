# SPDX-License-Identifier: Apache-2.0
"""Files that cannot be written: no run ends well without a file that it was to leave."""

import os

import pytest

from cyclewatch import writing

CLEAN = "def test_clean():\n    pass"
LEAK = "import loops\ndef test_leak():\n    loops.Engine(1000)"

OPTIONS = {
    "report": ["--cyclewatch-report=out/deep"],
    "sarif": ["--cyclewatch-sarif=out/loops.sarif"],
    "baseline": ["--cyclewatch-baseline=out/known.json", "--cyclewatch-update-baseline"],
}
WHAT = {"report": "the report", "sarif": "the SARIF file", "baseline": "the baseline"}


@pytest.fixture(params=OPTIONS)
def file(request):
    """Which of the files."""
    return request.param


def test_file_in_place_of_a_folder_ends_the_run_before_it_begins(run, project, file):
    (project.path / "out").write_text("in the way")
    result = run("--cyclewatch", *OPTIONS[file], test_it=CLEAN)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line]
    assert line.startswith("ERROR: ")
    assert str(project.path / "out") in line
    assert "test session starts" not in str(result.stdout)


def test_folder_in_place_of_a_file_ends_the_run_before_it_begins(run, project):
    (project.path / "out" / "loops.sarif").mkdir(parents=True)
    (project.path / "out" / "deep" / "cyclewatch.html").mkdir(parents=True)
    for file in ("report", "sarif"):
        result = run("--cyclewatch", *OPTIONS[file], test_it=CLEAN)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR: --cyclewatch-{file}: * it is a folder"])


def test_folder_without_permission_ends_the_run_before_it_begins(run, project, monkeypatch, file):
    # Nothing is forbidden to root, who may run these tests.
    allowed = os.access
    forbidden = str(project.path)
    monkeypatch.setattr(
        writing.os, "access", lambda path, how: path != forbidden and allowed(path, how)
    )
    result = run("--cyclewatch", *OPTIONS[file], test_it=CLEAN)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --cyclewatch-{file}: *no permission *{project.path}"])


def test_file_that_fails_in_the_end_fails_a_run_that_passed(run, file):
    # What the first test puts there was not there when the run began.
    act = "import pathlib\ndef test_in_the_way():\n    pathlib.Path('out').write_text('')\n"
    result = run("--cyclewatch", *OPTIONS[file], test_it=act + CLEAN)
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    result.stdout.fnmatch_lines(
        [
            "*= cyclewatch =*",
            f"{WHAT[file]} * cannot be written: *out is no folder",
            "cyclewatch: 0 loops,*",
        ]
    )
    assert "Traceback" not in str(result.stdout) + str(result.stderr)


def test_other_files_are_written_and_loops_told_all_the_same(run, project):
    act = "import pathlib\ndef test_in_the_way():\n    pathlib.Path('out').write_text('')\n"
    result = run(
        "--cyclewatch",
        *OPTIONS["report"],
        *OPTIONS["baseline"],
        "--cyclewatch-sarif=loops.sarif",
        test_it=act + LEAK,
    )
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "   1000 B  Engine._handlers*",
            "the baseline * cannot be written: *",
            "the report * cannot be written: *",
            "cyclewatch: 1 loop, 1000 B,*",
        ]
    )
    assert (project.path / "loops.sarif").exists()


def test_reason_of_the_system_is_told_in_its_words(run, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr("cyclewatch.pytest_plugin.sarif.write_file", fail)
    result = run("--cyclewatch", *OPTIONS["sarif"], test_it=CLEAN)
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    result.stdout.fnmatch_lines(
        ["the SARIF file *loops.sarif cannot be written: No space left on device"]
    )


def test_empty_path_is_no_path(run):
    result = run("--cyclewatch", "--cyclewatch-report=", test_it=CLEAN)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --cyclewatch-report: needs a path"])


def test_name_that_is_no_utf8_stands_in_the_sarif_file(run, project):
    name = os.fsdecode(b"test_\xff.py")
    (project.path / name).write_text(
        "import loops\ndef test_leak():\n    engine = loops.Trainer(8)\n    engine.me = engine\n"
    )
    result = run("--cyclewatch", "--cyclewatch-sarif=loops.sarif", name)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert r"test_\udcff.py::test_leak" in (project.path / "loops.sarif").read_text()


def test_full_disk_fails_a_run_that_passed_and_leaves_the_old_file(
    project, monkeypatch, failing_disk, file
):
    project.makepyfile(test_it=CLEAN if file != "baseline" else LEAK)
    project.runpytest_subprocess("--cyclewatch", *OPTIONS[file])

    def files():
        paths = (project.path / "out").rglob("*")
        return {path: path.read_bytes() for path in paths if path.is_file()}

    old = files()
    assert old
    project.makepyfile(test_it=CLEAN)
    monkeypatch.setenv("LD_PRELOAD", str(failing_disk))
    monkeypatch.setenv("FAILING_DISK", "1")
    result = project.runpytest_subprocess("--cyclewatch", *OPTIONS[file])
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    (line,) = [line for line in result.outlines if "cannot be written" in line]
    assert line.startswith(f"{WHAT[file]} {project.path}/out/")
    assert line.endswith(" cannot be written: No space left on device")
    assert files() == old
