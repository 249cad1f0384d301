# SPDX-License-Identifier: Apache-2.0
"""The report on torch's debug server, while the program runs and when it exits."""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import textwrap
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("torch.distributed")
pytest.importorskip("jinja2")
# Not imported here, because torch may then abort this process when it exits.
if importlib.util.find_spec("torch.distributed.debug") is None:
    pytest.skip("torch has no debug server", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).parent / "programs" / "debug_server.py"
# torch's server uses requests or aiohttp, which need not be installed.
REQUESTS = """
import urllib.error, urllib.request
from types import SimpleNamespace
exceptions = SimpleNamespace(Timeout=TimeoutError, ConnectionError=urllib.error.URLError)
def post(url, timeout):
    host, _, rest = url.removeprefix("http://").partition(":")
    request = urllib.request.Request(f"http://127.0.0.1:{rest}", data=b"")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return SimpleNamespace(status_code=answer.status, text=answer.read().decode())
    except urllib.error.HTTPError as error:
        return SimpleNamespace(status_code=error.code, text=error.read().decode())
"""


def fetch(url):
    """The status and the text."""
    request = urllib.request.Request(url, data=b"" if "/handler/" in url else None)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def job(tmp_path):
    """Return a function that starts the program; it returns the process and two addresses."""
    (tmp_path / "requests.py").write_text(REQUESTS)
    # Other pages of torch's server print tables.
    (tmp_path / "tabulate.py").write_text(
        "def tabulate(*words, **options): raise NotImplementedError"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]),
        "OMP_NUM_THREADS": "1",
    }
    started = []

    def start(mode):
        process = subprocess.Popen(
            [sys.executable, PROGRAM, mode],
            env=environment,
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        page, worker = process.stdout.readline().split()
        return (
            process,
            f"http://127.0.0.1:{page}/cyclewatch",
            f"http://127.0.0.1:{worker}/handler/cyclewatch",
        )

    yield start
    for process in started:
        process.kill()
        process.communicate()


def end(process):
    """The exit status and standard error."""
    _, errors = process.communicate("\n", timeout=60)
    return process.returncode, errors


def page_of(url):
    """Wait until the server in the child process accepts connections."""
    while True:
        try:
            return fetch(url)
        except (ConnectionError, urllib.error.URLError):
            continue


def test_the_page_shows_the_report_of_the_running_rank(job):
    process, page, worker = job("watch")
    status, text = page_of(page)
    assert (status, "1 reference cycle kept 4.0 KiB of cpu memory" in text) == (200, True)
    assert process.poll() is None
    status, text = fetch(f"{worker}?format=json")
    assert status == 200
    [finding] = json.loads(text)["findings"]
    assert finding["title"].startswith("Layer")
    assert end(process)[0] == 0


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("none", (404, "No watch of cyclewatch is active")), ("values", (403, "records values"))],
)
def test_a_rank_without_a_watch_or_with_values_refuses(job, mode, expected):
    process, _, worker = job(mode)
    status, text = fetch(worker)
    assert (status, expected[1] in text) == (expected[0], True)
    assert end(process)[0] == 0


def test_requests_while_the_program_exits_do_not_abort_it(job):
    process, _, worker = job("watch")
    answered, stopping = threading.Event(), threading.Event()

    def ask():
        while not stopping.is_set():
            with contextlib.suppress(OSError):
                if fetch(worker)[0] == 200:
                    answered.set()

    clients = [threading.Thread(target=ask) for _ in range(3)]
    for client in clients:
        client.start()
    assert answered.wait(60)
    status, errors = end(process)
    stopping.set()
    for client in clients:
        client.join()
    assert (status, "FATAL" in errors, "Fatal" in errors) == (0, False, False)


def test_nothing_is_registered_unless_asked():
    code = "import torch.distributed, cyclewatch, sys; cyclewatch.watch(devices='cpu'); "
    code += "cyclewatch.distributed; print('cyclewatch.ranks.debug_server' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_program_exits_although_torch_releases_its_handlers_too_late():
    # torch's registry deletes its own handlers after the end of the interpreter, which aborts if
    # nothing else refers to them. That is the case if their module is still alive at the end.
    code = """
        import ctypes, cyclewatch
        cyclewatch.distributed.debug_handler()
        import torch.distributed.debug._handlers as module
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_descriptor_is_left_open():
    # Python 3.13 waits at exit until the pipe of multiprocessing is closed.
    code = """
        import os, socket
        from cyclewatch.ranks import debug_server
        with socket.create_server(("127.0.0.1", 0)) as server:
            pipe = os.pipe()
            before = os.listdir("/proc/self/fd")
            debug_server._refuse_connections(server.getsockname()[1])
            assert os.listdir("/proc/self/fd") == before, os.listdir("/proc/self/fd")
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
