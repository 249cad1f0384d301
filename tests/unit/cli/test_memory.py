# SPDX-License-Identifier: Apache-2.0
"""cyclewatch memory: the account of another process.

sys.remote_exec() is replaced, so that the tests run on every version. The last test uses it.
"""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from cyclewatch.cli import memory_command, remote_process


@pytest.mark.parametrize("child", [["torch"]], indirect=True)
def test_account_of_a_process_that_does_not_use_cyclewatch(command, remote_exec, child):
    outcome = command("memory", child.pid, "--device", "cpu")
    assert (outcome.status, outcome.err) == (0, "")
    verdict, *lines = outcome.out.splitlines()
    assert " in use on cpu, of which " in verdict
    sizes = {}
    for line in lines[lines.index("Bytes:") + 1 : lines.index("", 1 + lines.index("Bytes:"))]:
        _, _, size, label = line.split(None, 3)
        sizes[label] = int(size.replace(",", ""))
    [peak] = re.findall(
        r"^Peak of resident memory so far: .* \(([\d,]+) bytes\)$", outcome.out, re.M
    )
    in_use = sizes.pop("in use (resident memory)")
    assert sizes["dead in 1 cycle (a collection frees them)"] == 2000
    assert sizes["reachable: other tensors"] >= 4000
    assert sum(sizes.values()) == in_use <= int(peak.replace(",", ""))
    assert "held by module global __main__.losses -> losses[0]" in outcome.out
    assert "#1  2.0 KiB in 1 cycle" in outcome.out
    assert len(remote_exec) == 1


@pytest.mark.parametrize("child", [["torch"]], indirect=True)
def test_account_as_json(command, remote_exec, child):
    outcome = command("memory", child.pid, "--json")
    assert (outcome.status, outcome.err) == (0, "")
    account = json.loads(outcome.out)
    assert account["device"] == "cpu"  # CUDA is not initialized
    assert account["in_use"] == sum(line["bytes"] for line in account["lines"])
    assert len(account["findings"]) == 1


def test_device_that_the_process_does_not_use(command, remote_exec, child):
    outcome = command("memory", child.pid, "--device", "cuda:3")
    assert (outcome.status, outcome.out) == (3, "")
    assert outcome.err == (
        f"cyclewatch: process {child.pid} cannot be examined: it has not used cuda:3, or it is "
        "not the current device\n"
    )


def test_unknown_device(command, remote_exec, child):
    outcome = command("memory", child.pid, "--device", "mps")
    assert (outcome.status, outcome.out, remote_exec) == (2, "", [])
    assert outcome.err == (
        'cyclewatch: expected "cpu" or a CUDA device such as "cuda:0", not \'mps\'\n'
    )


def test_messages_name_the_command(command, child, monkeypatch):
    monkeypatch.setattr(sys, "remote_exec", lambda *_: None, raising=False)
    monkeypatch.setattr(os.path, "samefile", lambda *_: False)
    outcome = command("memory", child.pid)
    assert outcome.status == 3
    assert outcome.err.endswith("; run cyclewatch memory in its container\n")


def test_stopped_process(command, child, monkeypatch):
    monkeypatch.setattr(sys, "remote_exec", lambda *_: None, raising=False)
    child.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    outcome = command("memory", child.pid)
    assert (outcome.status, outcome.out) == (3, "")
    assert re.search(r"process \d+ is stopped; continue it first", outcome.err)


def test_a_cuda_device_is_divided_from_the_counters_of_the_process(monkeypatch):
    mib = 1 << 20
    empty = memory_command._native.census_report([]).to_json()
    counters = {
        name: {"all": {"current": size * mib, "peak": size * mib}}
        for name, size in (
            ("reserved_bytes", 100),
            ("allocated_bytes", 60),
            ("active_bytes", 60),
            ("inactive_split_bytes", 30),
        )
    }
    record = (1000 * mib, (300 * mib, 0, 0, 0))
    note = "Tensors saved by autograd were not examined: another thread was running it."
    answer = ("cuda:1", [empty] * 4, b"", b"", 0, None, counters, 20 * mib, record, (note, []))
    monkeypatch.setattr(remote_process, "examine", lambda *_: repr(answer).encode())
    account = memory_command.examine(1, "cuda:1", 1.0)
    assert account.lines == [
        ("remainder of torch's allocations (C++ code, rounding of sizes)", 60 * mib),
        ("free in partly used segments (fragmented; largest free block 20.0 MiB)", 30 * mib),
        ("free in whole segments (empty_cache() returns them)", 10 * mib),
        ("used by CUDA contexts, other libraries and other processes", 600 * mib),
    ]
    assert (account.in_use, account.total) == (700 * mib, 1000 * mib)
    assert account.notes == [note]
    assert account.verdict.startswith("700 MiB of 1000 MiB in use on cuda:1, of which 600 MiB used")


@pytest.mark.skipif(not hasattr(sys, "remote_exec"), reason="sys.remote_exec() is new in 3.14")
def test_real_process(command):
    loop = "print('ready', flush=True)\nwhile True: pass\n"
    process = subprocess.Popen([sys.executable, "-c", loop], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        outcome = command("memory", process.pid)
        assert (outcome.status, outcome.err) == (0, "")
        assert outcome.out.startswith("cpu: ")
    finally:
        process.kill()
        process.communicate()
