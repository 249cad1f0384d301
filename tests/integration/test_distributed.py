# SPDX-License-Identifier: Apache-2.0
"""publish(), gather() and the merged report at exit, with torch's stores and real ranks."""

import gc
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import time
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest

import cyclewatch
from cyclewatch.ranks import exit_gathering, job_store, report_exchange
from cyclewatch.ranks.job_store import Published
from cyclewatch.watching import watches

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")

PROGRAM = Path(__file__).parent / "programs" / "gathered_ranks.py"
ROOT = Path(__file__).resolve().parents[2]
SERVER = """
import sys, torch.distributed as dist
store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
print(store.port, flush=True)
sys.stdin.read()
"""


class RecordingStore(dist.Store):
    """A store in memory, that records the size of each value, and fails on request."""

    def __init__(self):
        super().__init__()
        self.values = {}
        self.sizes = []
        self.failing = False

    def check(self, keys):
        if self.failing:
            raise RuntimeError("Connection reset by peer\nException raised from recvBytes")
        return all(key in self.values for key in keys)

    def add(self, key, amount):
        self.values[key] = self.values.get(key, 0) + amount
        return self.values[key]

    def set(self, key, value):
        self.sizes.append(len(value))
        self.values[key] = value.encode() if isinstance(value, str) else bytes(value)

    def get(self, key):
        return self.values[key]


@pytest.fixture
def store():
    return RecordingStore()


@pytest.fixture
def as_rank(monkeypatch):
    """Return a function that makes this process the given rank of 4, and returns its report.

    Unless `has_joined` is false, it has destroyed its process group.
    """

    def become(rank, has_joined=True):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "4")
        method = "env://" if has_joined else None
        monkeypatch.setattr(dist.distributed_c10d, "_default_pg_init_method", method)
        with cyclewatch.watch(devices="cpu") as watch:
            pass
        return watch.report()

    return become


def ranks_of(report):
    return [process.rank for process in report.processes]


def test_missing_ranks_are_named(store, as_rank):
    cyclewatch.distributed.publish(as_rank(2), store=store)
    report = cyclewatch.distributed.gather(0, report=as_rank(0), store=store)
    assert ranks_of(report) == [0, 2]
    assert report.missing_ranks == [1, 3]
    first_line = "No report from 2 of 4 ranks (1 and 3)."
    assert report.to_text().startswith(first_line)
    assert first_line in report.to_html()
    assert '"missing_ranks": [\n    1,\n    3\n  ]' in report.to_json()


def test_other_ranks_publish_and_get_nothing(store, as_rank):
    for rank in (1, 2, 3):
        own = as_rank(rank)
        assert cyclewatch.distributed.gather(report=own, store=store) is None
    report = cyclewatch.distributed.gather(report=as_rank(0), store=store)
    assert (ranks_of(report), report.missing_ranks) == ([0, 1, 2, 3], [])


def test_publication_replaces_the_earlier_one_of_the_process(store, as_rank):
    own = as_rank(1)
    cyclewatch.distributed.publish(own, store=store)
    values = len(store.values)
    cyclewatch.distributed.publish(own, store=store)
    assert len(store.values) == values


def test_processes_with_the_same_rank_are_all_in_the_report(store, as_rank):
    document = as_rank(1).to_json()
    for pid in (100, 101):
        changed = document.replace(f'"pid": {os.getpid()}', f'"pid": {pid}')
        job_store.publish(store, 1, Published("1", changed.encode()))
        job_store._numbers.clear()  # as in another process
    report = cyclewatch.distributed.gather(0, report=as_rank(0), store=store)
    assert (ranks_of(report), report.missing_ranks) == ([0, 1, 1], [2, 3])


def test_report_of_another_version_is_not_read(store, as_rank):
    document = as_rank(1).to_json().replace('"schema_version": 2', '"schema_version": 3').encode()
    job_store.publish(store, 1, Published("9.0", document))
    report = cyclewatch.distributed.gather(0, report=as_rank(0), store=store)
    assert report.missing_ranks == [1, 2, 3]
    [note] = report.notes
    assert "cyclewatch 9.0" in note and "rank 1" in note and "use a newer version" in note


PACKED = zlib.compress(b"{}")


@pytest.mark.parametrize(
    ("header", "packed"),
    [
        ('{"version": "9.0", "parts": 2}', PACKED),
        ('{"version": "9.0", "chunks": "all"}', PACKED),
        (f'{{"version": "9.0", "chunks": 1, "crc": {zlib.crc32(b"other")}}}', b"other"),
        ("[]", PACKED),
        ("\\", PACKED),
    ],
)
def test_report_in_another_form_is_missing_with_the_reason(store, as_rank, header, packed):
    store.add("cyclewatch/1/processes", 1)
    store.set("cyclewatch/1/1", header)
    store.set("cyclewatch/1/1/0", packed)
    report = cyclewatch.distributed.gather(0, report=as_rank(0), store=store)
    assert report.missing_ranks == [1, 2, 3]
    version = "cyclewatch 9.0" if "9.0" in header else "another version of cyclewatch"
    assert report.notes == [
        f"The report of rank 1 cannot be read: {version} published it in an unknown form."
    ]


def test_rank_that_the_job_does_not_have_is_refused(store, as_rank):
    own = as_rank(5)
    with pytest.raises(RuntimeError, match="RANK is 5, but WORLD_SIZE is 4"):
        cyclewatch.distributed.publish(own, store=store)
    assert not store.values


def test_files_name_the_ranks_without_a_report(as_rank, tmp_path):
    for rank in (0, 2):
        as_rank(rank).save(tmp_path / f"rank{rank}.json")
    command = [sys.executable, "-m", "cyclewatch", "merge", "-o", "all.json", "--force"]
    for files, missing in (("rank0.json rank2.json", [1, 3]), ("rank2.json", [0, 1, 3])):
        subprocess.run([*command, *files.split()], cwd=tmp_path, check=True)
        assert cyclewatch.Report.load(tmp_path / "all.json").missing_ranks == missing


def test_process_that_a_rank_has_started_is_not_a_rank(as_rank):
    document = as_rank(1, has_joined=False).to_json()
    document = document.replace(f'"pid": {os.getpid()}', '"pid": 7')
    helper = cyclewatch._native.load_report(document.encode(), "helper")
    [process] = helper.processes
    assert (process.rank, process.world_size) == (1, None)
    assert cyclewatch.Report.merge([as_rank(0), helper]).missing_ranks == [1, 2, 3]
    report = cyclewatch.Report.merge([as_rank(0), helper, as_rank(1)])
    assert report.missing_ranks == [2, 3]
    assert not any("several processes" in note for note in report.notes)
    assert not cyclewatch.Report.merge([helper]).missing_ranks


@pytest.mark.parametrize(
    ("command", "is_rank"), [("exec {}", False), ("{}; true", True)], ids=["python", "shell"]
)
def test_process_with_a_rank_is_not_one_if_a_python_program_has_started_it(command, is_rank):
    """A rank may set RANK itself, for torch.distributed, before it starts helpers."""
    code = "from cyclewatch import _native; print(_native.job_rank())"
    outcome = subprocess.run(
        ["/bin/sh", "-c", "export RANK=1 WORLD_SIZE=4; " + command.format('"$0" -c "$1"')]
        + [sys.executable, code],
        capture_output=True,
        text=True,
    )
    assert outcome.stdout.strip() == f"(1, 4, {is_rank})", outcome.stderr


FORKED = """
import os, sys, cyclewatch, torch.distributed as dist
import torch.testing._internal.distributed.fake_pg
cyclewatch.warn_tensor_cycles(devices="cpu")
dist.init_process_group("fake", init_method=sys.argv[1], store=eval(sys.argv[2]), rank=1,
                        world_size=4)
if os.fork():
    os.wait()
else:
    print(cyclewatch._native.job_rank(), flush=True)
    dist.destroy_process_group()
    print(cyclewatch._native.job_rank(), flush=True)
    os._exit(0)
print(cyclewatch._native.job_rank())
"""


@pytest.mark.parametrize(
    "arguments", [["file:///dev/shm/unused", "None"], ["", "dist.HashStore()"]]
)
def test_forked_child_is_not_a_rank(arguments, tmp_path):
    code = FORKED if arguments[0] else FORKED.replace("init_method=sys.argv[1], ", "")
    outcome = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "RANK": "1", "WORLD_SIZE": "4"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert outcome.stdout.splitlines() == ["(1, 4, False)", "(1, 4, False)", "(1, 4, True)"], (
        outcome.stderr
    )


def test_rank_without_findings_writes_its_report_when_the_watch_stops(as_rank, tmp_path):
    as_rank(2)
    watch = cyclewatch.warn_tensor_cycles(devices="cpu", report_dir=tmp_path, formats="json")
    watch.stop()
    assert [Path(path).name for path in watch.report_paths] == [
        f"cyclewatch-{watch.report().processes[0].script}-rank2-{os.getpid()}.json"
    ]
    assert cyclewatch.Report.load(watch.report_paths[0]).processes[0].world_size == 4


def test_older_merged_report_and_a_newer_file_are_refused(store, as_rank, tmp_path):
    command = [sys.executable, "-m", "cyclewatch", "merge", "early.json", "newer.json"]
    with cyclewatch.watch(devices="cpu") as watch:
        as_rank(1)
        cyclewatch.distributed.publish(watch.report(), store=store)
        early = cyclewatch.distributed.gather(0, report=as_rank(0), store=store)
        as_rank(1)
        newer = watch.report()
    with pytest.raises(ValueError, match="older data of rank 1 than another report"):
        cyclewatch.Report.merge([early, newer])
    assert newer.processes[0].elapsed > early.processes[1].elapsed
    early.save(tmp_path / "early.json")
    newer.save(tmp_path / "newer.json")
    outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert outcome.returncode == 3
    assert "cannot merge the reports: a merged report has older data of rank 1" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def run_late_rank(folder, rank, world_size):
    """The watch starts first, and RANK is not set, as with torch.multiprocessing.spawn."""
    outcome = subprocess.run(
        [sys.executable, str(PROGRAM.with_name("late_rank.py")), str(rank), str(world_size)],
        env={
            **{name: value for name, value in os.environ.items() if name != "RANK"},
            "CYCLEWATCH": "1",
            "CYCLEWATCH_DEVICES": "cpu",
            "CYCLEWATCH_OUTPUT": f"{folder}/",
            "CYCLEWATCH_FORMAT": "json",
            "CYCLEWATCH_GATHER": "0",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def test_rank_is_that_of_torch_if_it_is_initialized(tmp_path):
    assert run_late_rank(tmp_path, 2, 3) == "[None, None] [2, 3] [2, 3]\n"
    [path] = tmp_path.glob("cyclewatch-late_rank-rank2-*.json")
    [process] = cyclewatch.Report.load(path).processes
    assert (process.rank, process.world_size) == (2, 3)


def test_process_group_of_one_process_does_not_make_it_a_rank(tmp_path):
    assert run_late_rank(tmp_path, 0, 1) == "[None, None] [None, None] [None, None]\n"


def test_chunks_have_at_most_1_mib(store):
    document = random.Random(0).randbytes(5 << 19)
    job_store.publish(store, 1, Published("1", document))
    assert max(store.sizes) == 1 << 20 and len(store.sizes) == 4
    assert job_store.read(store, 1) == [Published("1", document)]


def test_half_replaced_report_is_not_read(store):
    job_store.publish(store, 1, Published("1", b"old"))
    store.set("cyclewatch/1/1/0", b"new")
    assert job_store.read(store, 1) == []


def test_failure_of_the_store_is_noted_in_the_report(store, as_rank):
    store.failing = True
    report = cyclewatch.distributed.gather(5, report=as_rank(0), store=store)
    assert report.missing_ranks == [1, 2, 3]
    assert report.notes == [
        "The ranks are missing because the job's store failed (Connection reset by peer); merge "
        "the report files instead."
    ]


def test_merging_with_the_files_of_missing_ranks_finds_them(store, as_rank):
    report = cyclewatch.distributed.gather(0, report=as_rank(0), store=store)
    both = cyclewatch.Report.merge([report, as_rank(2)])
    assert both.missing_ranks == [1, 3]


def test_verify_needs_all_ranks(store, as_rank, tmp_path):
    report = cyclewatch.distributed.gather(0, report=as_rank(0), store=store)
    report.save(tmp_path / "after.json")
    as_rank(0).save(tmp_path / "before.json")
    command = [sys.executable, "-m", "cyclewatch", "verify", "before.json", "after.json"]
    outcome = subprocess.run(
        [*command, "--expect", "cw1-0000000000000000"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert outcome.returncode != 0
    assert "lacks the reports of these ranks: 1, 2, 3" in outcome.stderr


def test_errors_name_the_remedy(monkeypatch, as_rank):
    with pytest.raises(ValueError, match="timeout must be a number of seconds, not -1"):
        cyclewatch.distributed.gather(-1)
    report = as_rank(0)
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(ConnectionError, match="MASTER_ADDR and MASTER_PORT are not set"):
        cyclewatch.distributed.publish(report)
    with pytest.raises(RuntimeError, match="no watch is active; start one, or pass a report"):
        cyclewatch.distributed.publish()
    monkeypatch.delenv("RANK")
    with pytest.raises(RuntimeError, match="the rank of this process is unknown"):
        cyclewatch.distributed.publish(report)


@pytest.fixture
def server(monkeypatch):
    """A process that hosts a TCPStore, which is the store of this process's job."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", process.stdout.readline().strip())
    monkeypatch.setattr(job_store, "_connection", None)
    yield process
    process.kill()
    process.communicate()


def test_tcp_store(server, as_rank):
    own = as_rank(3)
    document = random.Random(0).randbytes(12 << 20)  # above the limit of TCPStore for one value
    job_store.publish(job_store.connect(), 1, Published("1", document))
    cyclewatch.distributed.publish(own)
    assert job_store.read(job_store.connect(), 1)[0].document == document
    report = cyclewatch.distributed.gather(0, report=as_rank(0))
    assert ranks_of(report) == [0, 3]


def test_stopped_server_does_not_block(server, as_rank, monkeypatch):
    monkeypatch.setattr(job_store, "_ANSWER_SECONDS", 0.2)
    own = as_rank(1)
    server.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, server.pid, os.WSTOPPED | os.WNOWAIT)
    with pytest.raises(ConnectionError, match="does not answer .*merge the report files instead"):
        cyclewatch.distributed.publish(own)


@pytest.mark.parametrize(
    ("seconds", "others", "merged"),
    [(None, [], None), (None, [2], [0, 2]), (0.01, [], [0]), (0, [2], None)],
)
def test_rank_0_alone_writes_no_merged_report_unless_asked(
    server, as_rank, monkeypatch, tmp_path, caplog, seconds, others, merged
):
    caplog.set_level("INFO", logger="cyclewatch")
    monkeypatch.setattr(exit_gathering, "_finished", 0)
    monkeypatch.setattr(exit_gathering, "_FIRST_SECONDS", 0)
    monkeypatch.setattr(exit_gathering, "_DEFAULT_SECONDS", 0.01)
    for rank in others:
        cyclewatch.distributed.publish(as_rank(rank))
    own = as_rank(0)
    watch = SimpleNamespace(report=lambda: own, report_paths=[str(tmp_path / "a-rank0-1.json")])
    paths = exit_gathering.gather_at_exit(watch, seconds)
    assert paths == ([str(tmp_path / "a-all-ranks-1.json")] if merged else [])
    assert [ranks_of(cyclewatch.Report.load(path)) for path in paths] == [merged] * len(paths)
    logged = [each.message for each in caplog.records if "report of all ranks" in each.message]
    assert logged == [f"cyclewatch: report of all ranks: {path}" for path in paths]
    is_unexpected = seconds is None and not others
    assert ("no other rank has sent a report" in caplog.text) == is_unexpected


def test_rank_0_names_the_others_if_all_are_watched(server, as_rank, monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(exit_gathering, "_finished", 0)
    monkeypatch.setattr(exit_gathering, "_DEFAULT_SECONDS", 0.01)
    own = as_rank(0, has_joined=False)
    watch = SimpleNamespace(report=lambda: own, report_paths=[str(tmp_path / "a-rank0-1.json")])
    assert exit_gathering.gather_at_exit(watch, None, is_every_rank_watched=True) == [], (
        "a process that a rank has started for something else"
    )
    own = as_rank(0)
    monkeypatch.setattr(exit_gathering, "_finished", 0)
    [path] = exit_gathering.gather_at_exit(watch, None, is_every_rank_watched=True)
    assert cyclewatch.Report.load(path).missing_ranks == [1, 2, 3]
    assert not caplog.records


def test_last_report_of_each_rank_is_awaited(store, as_rank, monkeypatch):
    """Rank 1 has published while it ran, and ends while rank 0 waits."""
    own, running = as_rank(0), as_rank(1)
    with cyclewatch.watch(devices="cpu") as watch:
        gc.collect()
    last = watch.report()
    report_exchange.publish(running, 1, store)
    report = report_exchange.gather(own, 2, store, 0, waits_for_last=True)
    assert (ranks_of(report), report.missing_ranks) == ([0, 1], [])
    assert any("Rank 1 has not sent its last report" in note for note in report.notes)

    def end(seconds):
        report_exchange.publish(last, 1, store, is_last=True)

    monkeypatch.setattr(report_exchange.time, "sleep", end)
    report = report_exchange.gather(own, 2, store, 60, waits_for_last=True)
    assert report.stats.collections == own.stats.collections + last.stats.collections
    assert last.stats.collections > running.stats.collections
    assert report.notes == own.notes


@pytest.mark.parametrize(
    ("rank", "is_watched", "is_quiet", "level"),
    [(0, 1, 0, 30), (0, 1, 1, 20), (0, 0, 0, 20), (1, 1, 0, 20)],
)
def test_rank_0_warns_if_the_store_is_gone(
    as_rank, monkeypatch, tmp_path, caplog, rank, is_watched, is_quiet, level
):
    caplog.set_level("INFO", logger="cyclewatch")
    monkeypatch.setattr(exit_gathering, "_finished", 0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
        monkeypatch.setenv("MASTER_PORT", str(free.getsockname()[1]))
        own = as_rank(rank)
        watch = SimpleNamespace(report=lambda: own, report_paths=[str(tmp_path / "a.json")])
        assert exit_gathering.gather_at_exit(watch, None, is_watched, is_quiet) == []
    [record] = [each for each in caplog.records if "were not merged" in each.message]
    assert record.levelno == level
    assert "does not answer" in record.message


@pytest.mark.parametrize(("is_watched", "level"), [(True, "WARNING"), (False, "INFO")])
def test_job_without_an_address_says_that_nothing_is_merged(
    as_rank, monkeypatch, tmp_path, caplog, is_watched, level
):
    """As with init_method="tcp://..."."""
    caplog.set_level("INFO", logger="cyclewatch")
    monkeypatch.setattr(exit_gathering, "_finished", 0)
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    own = as_rank(0)
    watch = SimpleNamespace(report=lambda: own, report_paths=[str(tmp_path / "a.json")])
    assert exit_gathering.gather_at_exit(watch, None, is_watched) == []
    [record] = [each for each in caplog.records if "MASTER_ADDR" in each.message]
    assert record.levelname == level
    assert "merge the report files" in record.message


def test_merged_report_is_as_private_as_those_of_the_ranks_and_replaces_no_file(as_rank, tmp_path):
    beside = str(tmp_path / "a-rank0-1.json")
    report = as_rank(0)
    paths = [Path(exit_gathering._save(report, beside)) for _ in range(2)]
    assert [path.name for path in paths] == ["a-all-ranks-1.json", "a-all-ranks-1-2.json"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o600, 0o600]


def test_merged_report_names_earlier_watches_with_findings(store, as_rank, monkeypatch, tmp_path):
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "1")
    monkeypatch.setattr(job_store, "connect", lambda: store)
    for rank in (1, 0):
        as_rank(rank)
        monkeypatch.setattr(exit_gathering, "_finished", 0)
        monkeypatch.setattr(watches, "_gathered", None)
        monkeypatch.setattr(watches, "_earlier", [])
        for leaks in (rank == 1, False):
            watch = cyclewatch.warn_tensor_cycles(
                devices="cpu", report_dir=tmp_path, formats="json", gather=1
            )
            if leaks:
                cycle = [torch.zeros(256)]
                cycle.append(cycle)
                del cycle
                gc.collect()
            watch.stop()
            if leaks:
                first = watch.report_paths[0]
        watches._gather_at_exit()
    [path] = tmp_path.glob("*-all-ranks-*.json")
    report = cyclewatch.Report.load(path)
    assert not report.findings
    assert [note for note in report.notes if "earlier" in note] == [
        "On rank 1, an earlier watch of the same process found 1 reference cycle, which this "
        f"report does not contain: {first}"
    ]


def environment(folder, **variables):
    settings = {"CYCLEWATCH": "1", "CYCLEWATCH_OUTPUT": f"{folder}/", "CYCLEWATCH_DEVICES": "cpu"}
    return {**os.environ, **settings, **variables}


def run_job(folder, ranks, scenario, *options, **variables):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", *options]
    return subprocess.run(
        [*command, f"--nproc-per-node={ranks}", str(PROGRAM), scenario],
        env=environment(folder, OMP_NUM_THREADS="1", **variables),
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
def test_late_rank_is_missing_first_and_merged_at_exit(tmp_path):
    outcome = run_job(tmp_path, 4, "late", CYCLEWATCH_GATHER="120")
    assert outcome.returncode == 0, outcome.stderr
    assert "missing: [1] processes: 3" in outcome.stdout
    [path] = tmp_path.glob("*-all-ranks-*.html")
    assert f"report of all ranks: {path}" in outcome.stderr
    report = cyclewatch.Report.load(path)
    assert (ranks_of(report), report.missing_ranks) == ([0, 1, 2, 3], [])
    [finding] = report.findings
    assert [each.retained_bytes for each in finding.by_process] == [1024, 2048, 3072, 4096]


@pytest.mark.slow
def test_watch_that_the_program_started_is_merged_at_exit(tmp_path):
    outcome = run_job(tmp_path, 2, "warn", CYCLEWATCH="0")
    assert outcome.returncode == 0, outcome.stderr
    [path] = tmp_path.glob("*-all-ranks-*.html")
    report = cyclewatch.Report.load(path)
    assert (ranks_of(report), report.missing_ranks) == ([0, 1], [])
    assert [each.retained_bytes for each in report.findings[0].by_process] == [1024, 2048]


@pytest.mark.slow
def test_report_of_an_attempt_before_a_restart_is_not_used(tmp_path):
    outcome = run_job(tmp_path, 2, "restart", "--max-restarts=1", CYCLEWATCH_GATHER="1")
    assert outcome.returncode == 0, outcome.stderr
    # Rank 0 of the first attempt may have written one too.
    path = max(tmp_path.glob("*-all-ranks-*.html"), key=lambda each: each.stat().st_mtime_ns)
    report = cyclewatch.Report.load(path)
    assert (ranks_of(report), report.missing_ranks) == ([0], [1])


@pytest.mark.slow
def test_store_that_is_gone_at_exit_leaves_the_files(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    first, second = (
        subprocess.Popen(
            [sys.executable, str(PROGRAM), "store_gone"],
            env=environment(tmp_path, RANK=rank, **place),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in ("0", "1")
    )
    for process in (first, second):
        assert process.stdout.readline() == "ready\n"
    first.communicate("x")
    started = time.monotonic()
    _, errors = second.communicate("x", timeout=120)
    assert second.returncode == 0, errors
    assert time.monotonic() - started < 60
    assert "Traceback" not in errors
    assert not list(tmp_path.glob("*-all-ranks-*"))
    [path] = tmp_path.glob("*-rank1-*.html")
    assert ranks_of(cyclewatch.Report.load(path)) == [1]


@pytest.mark.slow
def test_example_of_two_ranks(tmp_path):
    """examples/two_ranks.py leaks on rank 1 only, and merges the reports of both ranks."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*command, "--nproc-per-node=2", ROOT / "examples" / "two_ranks.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    [page] = (tmp_path / "reports").glob("*-all-ranks-*.html")
    report = cyclewatch.Report.load(page)
    assert (ranks_of(report), report.missing_ranks) == ([0, 1], [])
    [finding] = report.findings
    assert [report.processes[each.process].rank for each in finding.by_process] == [1]
    assert finding.cut.label == "closure:self"
