# SPDX-License-Identifier: Apache-2.0
"""cyclewatch view --follow: a page that reloads itself while a program runs."""

import gc
import os
import subprocess
import sys

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch import _native
from cyclewatch.cli import following

RELOADS = '<meta name="cyclewatch-reload" content="5">'


class Node:
    """Owns a buffer and refers to itself."""

    def __init__(self):
        self.data = Buffer(1 << 20)
        self.me = self


class Other:
    """Another cause."""

    def __init__(self):
        self.data = Buffer(1 << 20)
        self.again = self


@pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")
def test_the_page_follows_the_report_of_a_running_program(tmp_path):
    watch = cyclewatch.warn_tensor_cycles(
        devices="cpu", report_dir=tmp_path, formats="json", exit_scan=False, oom=False
    )
    page = tmp_path / "page.html"
    seen = []

    def write(kind):
        kind()
        gc.collect()
        watch._native_watch.flush()

    def pause(_):
        seen.append(page.read_text())
        if len(seen) == 1:
            write(Other)
        else:
            watch.stop()

    with pytest.warns(cyclewatch.TensorCycleWarning):
        write(Node)
        following.follow([str(watch.report_paths[0])], str(page), lambda: seen.clear(), pause)
    first, second = seen
    assert RELOADS in first
    assert RELOADS in second
    assert "Other.again" not in first
    assert "Other.again" in second
    assert RELOADS not in page.read_text()
    assert len(cyclewatch.Report.load(page).findings) == 2


# Ends once its own report shows samples, although nothing has been found.
QUIET = """
import json, os, sys, time
report, end = sys.argv[1], time.monotonic() + 60
while time.monotonic() < end:
    data = {}
    if os.path.exists(report):  # the report is replaced as a whole
        with open(report) as file:
            data = json.load(file)
    if data.get("memory_samples"):
        print(data["processes"][0]["unexamined"])
        break
    time.sleep(0.05)
"""


def test_a_named_report_shows_the_memory_before_the_first_finding(tmp_path):
    (tmp_path / "quiet.py").write_text(QUIET)
    command = [sys.executable, "-m", "cyclewatch", "run", "-o", "r.json", "quiet.py", "r.json"]
    outcome = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    assert outcome.stdout.strip().endswith(following._STILL_RUNNING)


def test_a_program_that_was_killed_is_no_longer_followed(changed, tmp_path):
    program = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    def keep_running(data):
        data["processes"][0]["unexamined"] = following._STILL_RUNNING
        data["processes"][0]["host"] = _native.machine()
        data["processes"][0]["pid"] = program.pid

    def pause(_):
        pages.append(page.read_text())
        program.kill()
        # The parent has not waited for it at first.
        os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)

    pages = []
    page = tmp_path / "page.html"
    file = str(changed("a.json", keep_running))
    following.follow([file], str(page), lambda: None, pause)
    assert [RELOADS in each for each in pages] == [True]
    assert RELOADS not in page.read_text()
    program.communicate()
    following.follow([file], str(page), lambda: None, lambda _: pytest.fail("still followed"))


def test_an_interrupt_ends_with_a_page_that_does_not_reload(changed, tmp_path):
    def keep_running(data):
        data["processes"][0]["unexamined"] = "the objects that became unreachable " + (
            following._STILL_RUNNING
        )

    def pause(_):
        assert RELOADS in page.read_text()
        raise KeyboardInterrupt

    page = tmp_path / "page.html"
    following.follow([str(changed("a.json", keep_running))], str(page), lambda: None, pause)
    assert RELOADS not in page.read_text()


def test_a_program_that_has_ended_is_shown_once(command, report, tmp_path):
    page = tmp_path / "page.html"
    outcome = command("view", "--follow", "--no-open", report, "-o", page)
    assert (outcome.status, outcome.out) == (0, f"{page}\n")
    assert RELOADS not in page.read_text()


def test_what_cannot_be_followed_is_refused(command, report):
    for words in (["--json", report], ["-"], [report, "-o", "-"]):
        outcome = command("view", "--follow", *words)
        assert outcome.status == 2
        assert outcome.err.startswith("cyclewatch: --follow needs files")
