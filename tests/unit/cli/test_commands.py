# SPDX-License-Identifier: Apache-2.0
"""Output, files and exit status of each command."""

import io
import json
import os
import re
import shutil
import sys
import threading
import weakref
from pathlib import Path

import pytest

import cyclewatch
from cyclewatch.cli import inputs

GOLDEN = Path(__file__).resolve().parents[2] / "golden"

LAMBDA, NODES, ERROR = "cw1-3f0a9c1be27d4458", "cw1-00ff13d7a6c2e981", "cw1-a41c5ee0920bd677"


def test_show_fills_the_width(command, report):
    outcome = command("show", "--width", 80, report)
    golden = GOLDEN / "show_80.txt"
    if "CYCLEWATCH_UPDATE_GOLDEN" in os.environ:  # like the golden files of the C++ tests
        golden.write_text(outcome.out)
    assert outcome.out == golden.read_text()
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_show_selects_findings(command, report):
    top = command("show", report, "--top", 1)
    cards = [f"id    {signature}" for signature in (LAMBDA, NODES)]
    assert (top.status, cards[0] in top.out, cards[1] in top.out) == (0, True, False)
    assert "2 more findings not shown" in top.out
    assert "Known (listed" not in top.out
    assert "Known (listed" in command("show", report, "-s", ERROR).out
    one = command("show", report, "-s", NODES)
    assert (one.status, cards[0] in one.out, cards[1] in one.out) == (0, False, True)
    none = command("show", report, "-s", "cw1-0000000000000000")
    assert none.status == 1
    assert "cw1-0000000000000000" in none.err
    data = json.loads(command("show", report, "--json", "-s", ERROR).out)
    assert [each["signature"] for each in data[0]["report"]["findings"]] == [ERROR]


def test_inputs_are_files_folders_globs_and_standard_input(command, report, tmp_path, monkeypatch):
    shutil.copy(report, tmp_path / "other.json")
    (tmp_path / "other.html").write_text(cyclewatch.Report.load(report).to_html())
    (tmp_path / "package.json").write_text("{}")
    folder = command("show", tmp_path)
    assert folder.out.count("== ") == 2  # other.html is the same report as other.json
    assert "package.json" in folder.err
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "dangling.json").symlink_to("nowhere")
    mixed = command("show", tmp_path)
    assert (mixed.status, mixed.out) == (0, folder.out)
    assert "skipped: cannot read" in mixed.err
    os.mkfifo(tmp_path / "pipe.json")  # reading would block
    assert "pipe.json is not a regular file" in command("show", tmp_path).err
    assert "pipe.json is not a regular file" in command("show", "*.json").err
    assert command("show", "dangling.json").status == 3  # named explicitly
    assert command("show", "*port.json").out.startswith("165 reference cycles")
    assert command("show", "o*.html", "report.json").out.count("== ") == 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(report.read_bytes())))
    assert command("show", "-").out == command("show", report).out


def test_a_folder_of_folders_is_searched(command, report, tmp_path):
    runs = tmp_path / "runs"
    for inner in ("host-1/day", "host-2", ".cache"):
        (runs / inner).mkdir(parents=True)
        shutil.copy(report, runs / inner / "report.json")
    shown = command("show", runs).out
    assert [line.split("runs/")[1] for line in shown.splitlines() if line.startswith("== ")] == [
        "host-1/day/report.json",
        "host-2/report.json",
    ]
    shutil.copy(report, runs / "first.json")
    assert command("show", runs).out == command("show", runs / "first.json").out


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["show", "missing.json"], 3, "cannot read missing.json"),
        (["show", "*.nothing"], 3, "cannot read *.nothing"),
        (["show", "text.json"], 3, "text.json"),
        (["show", "empty"], 3, "no report in empty"),
        (["show"], 2, "FILE"),
        (["show", ""], 2, "FILE is empty"),
        (["diff", "-", "-"], 2, "cannot both be standard input"),
        (["verify", "-", "-", "-e", "cw1-0"], 2, "cannot both be standard input"),
        (["explain", ""], 2, "unknown pattern ''"),
        (["explain", "zzz"], 2, "the patterns are frame-in-own-local, "),
        (["view", "--no-open", "report.json", "-o", "x.json"], 2, "cyclewatch convert"),
        (["shwo"], 2, "'shwo' is not a command; did you mean cyclewatch show?"),
        (["train.py"], 2, "did you mean cyclewatch run train.py?"),
        ([], 2, "no command given"),
        (["show", "--width", "3", "x"], 2, "columns"),
        (
            ["convert", "report.json"],
            2,
            "unknown output format; use --to, or end the name of --output with",
        ),
        (
            ["merge", "report.json", "-o", "x.doc"],
            2,
            "unknown output format; end the name of --output with",
        ),
        (["convert", "report.json", "-o", "x.doc"], 2, ".json"),
        (["convert", "report.json", "-o", "text.json/x/", "-t", "dot"], 3, "text.json/x/"),
        (["verify", "report.json", "report.json"], 2, "--expect"),
        (["strip", "report.json"], 2, "--paths"),
        (["explain", "closure-captures-slef"], 2, "closure-captures-self"),
        (["explain"], 2, "required: SIGNATURE|PATTERN; see cyclewatch explain --help"),
        (["run"], 2, "nothing to run: expected a script, -m MODULE or -c COMMAND"),
        (["run", "-q", "--"], 2, "nothing to run"),
        (["run", "--format"], 2, "--format: expected one argument"),
        (["run", "--frob", "x.py"], 2, "unrecognized arguments: --frob; see cyclewatch run --help"),
        (["show", "--frob", "x"], 2, "unrecognized arguments: --frob; see cyclewatch show --help"),
        (["run", "-m"], 2, "nothing to run"),
        (["run", "--budget", "7", "x.py"], 2, "share"),
        (["run", "--scan-every", "-1", "x.py"], 2, "0 or a number of seconds from"),
        (["run", "--collect-every", "1e300", "x.py"], 2, "seconds from 0.001 to 1e9, not '1e300'"),
    ],
)
def test_usage_and_input_errors(command, report, tmp_path, words, status, sentence):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.json").write_text("no")
    outcome = command(*words)
    assert (outcome.status, outcome.out) == (status, "")
    assert sentence in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("to", ["text", "json", "dot", "svg", "html"])
def test_convert_writes_the_same_as_the_library(command, report, to):
    expected = getattr(cyclewatch.Report.load(report), f"to_{to}")()
    assert command("convert", report, "--to", to, "-o", "-").out == expected


def test_convert_replaces_files_only_with_force(command, report, tmp_path):
    shutil.copy(report, tmp_path / "other.json")
    outcome = command("convert", "report.json", "other.json", "--to", "dot", "-o", "made/")
    assert outcome.out.split() == ["made/report.dot", "made/other.dot"]
    assert command("convert", "report.json", "-o", "new.txt").status == 0
    before = (tmp_path / "new.txt").read_text()
    refused = command("convert", "report.json", "-o", "new.txt", "--to", "dot")
    assert (refused.status, (tmp_path / "new.txt").read_text()) == (3, before)
    assert "--force" in refused.err
    assert command("convert", "report.json", "-o", "new.txt", "-t", "dot", "-f").status == 0
    assert (tmp_path / "new.txt").read_text().startswith("digraph")
    assert command("convert", "report.json", "other.json", "-o", "both.svg").status == 2
    assert command("convert", "report.json", "-t", "dot", "-o", "/dev/null").status == 0


@pytest.mark.parametrize(("to", "start"), [("png", b"\x89PNG\r\n"), ("pdf", b"%PDF-")])
def test_convert_with_another_program(command, report, tmp_path, to, start):
    outcome = command("convert", report, "-t", to)
    if shutil.which("rsvg-convert"):
        assert (tmp_path / f"report.{to}").read_bytes().startswith(start)
    else:
        assert (outcome.status, "librsvg2-bin" in outcome.err) == (3, True)


def test_diff_classifies_findings(command, report, changed):
    def change(data):
        gone, grown, shrunk = data["findings"]
        data["findings"] = [grown, shrunk, dict(gone, signature="cw1-1111111111111111")]
        grown["retained_bytes"] *= 2
        shrunk["retained_bytes"] //= 2

    after = changed("after.json", change)
    data = json.loads(command("diff", report, after, "--json").out)
    assert data.pop("live") == data.pop("memory") == []
    kinds = {kind: [each["signature"] for each in found] for kind, found in data.items()}
    assert kinds == {
        "new": ["cw1-1111111111111111"],
        "grown": [NODES],
        "shrunk": [ERROR],
        "gone": [LAMBDA],
        "same": [],
    }
    text = command("diff", report, after)
    assert text.status == 0
    assert text.out.startswith("1 new, 1 grown, 1 shrunk, 1 gone, 0 same\n")
    assert f"grown  62.0 MiB in 100 cycles -> 112 MiB in 100 cycles   {NODES}" in text.out
    assert command("diff", report, after, "--fail").status == 1
    assert command("diff", report, report, "--fail").status == 0


def test_verify_requires_the_finding_to_be_gone_and_fewer_bytes(command, report, changed):
    fixed = changed("fixed.json", lambda data: data["findings"].pop(0))
    assert command("verify", report, fixed, "-e", LAMBDA).status == 0
    assert command("verify", report, fixed, "-e", LAMBDA, "-e", NODES).status == 1
    assert command("verify", report, fixed, "-e", "cw1-0000000000000000").status == 1
    assert command("verify", report, report, "-e", LAMBDA).status == 1

    def worse(data):
        data["findings"].pop(0)
        data["findings"][0]["retained_bytes"] = data["findings"][0]["attributed_bytes"] = 1 << 40

    outcome = command("verify", report, changed("worse.json", worse), "-e", LAMBDA, "--json")
    assert outcome.status == 1
    assert json.loads(outcome.out)["signatures"] == {LAMBDA: "gone"}


def test_verify_requires_all_variants_of_the_finding_to_be_gone(command, changed):
    other = "cw1-1111111111111111"

    def two_variants(data):
        same = {"title": "A -> B", "location": "", "occurrences": 64, "bytes": 1}
        data["findings"][0]["variants"] = [
            {"signature": LAMBDA, "name": "fast", **same},
            {"signature": other, "name": "slow", **same},
        ]

    def one_left(data):
        data["findings"][0].update(signature=other, retained_bytes=1, attributed_bytes=1)

    before, after = changed("before.json", two_variants), changed("after.json", one_left)
    outcome = command("verify", before, after, "-e", LAMBDA)
    assert f"{LAMBDA}: gone, but other cycles of the finding remain: {other}\n" in outcome.out
    assert outcome.out.endswith("\nnot verified\n")
    assert outcome.status == 1
    outcome = command("verify", before, after, "-e", LAMBDA, "--json")
    assert json.loads(outcome.out)["remaining_variants"] == {LAMBDA: [other]}


def test_merge(command, report, changed):
    def other_rank(data):
        data["processes"][0].update(pid=9, rank=1)

    other = changed("other.json", other_rank)
    assert command("merge", report, other, "-o", "merged.json").status == 0
    merged = cyclewatch.Report.load("merged.json")
    assert [process.rank for process in merged.processes] == [0, 1]
    assert merged.findings[0].occurrences == 128
    assert command("merge", report, other).out == merged.to_json()
    assert command("merge", report, "-o", "merged.json").status == 3


def rank_reports(changed, ranks):
    """The files of `ranks`, named so that their order differs from that of the ranks."""
    paths = []
    for rank in ranks:

        def change(data, rank=rank):
            data["processes"][0].update(rank=rank, pid=100 - rank)
            data["findings"][0]["largest_bytes"] += rank % 3
            data["findings"][0]["remedy"] = f"of rank {rank}"

        paths.append(changed(f"{97 - rank}.json", change))
    return paths


def test_merging_files_equals_merging_reports(command, changed):
    paths = rank_reports(changed, range(12))
    expected = cyclewatch.Report.merge(map(cyclewatch.Report.load, paths))
    assert command("merge", *reversed(paths)).out == expected.to_json()
    # Not possible one file at a time: two reports of a process, a page, a pipe.
    shutil.copy(paths[3], "copy.json")
    assert command("merge", "copy.json", *paths).out == expected.to_json()
    cyclewatch.Report.load(paths[0]).save("0.html")
    assert command("merge", "0.html", *paths[1:]).out == expected.to_json()
    end, start = os.pipe()
    with os.fdopen(end), os.fdopen(start, "wb") as pipe:
        writer = threading.Thread(target=lambda: (pipe.write(paths[0].read_bytes()), pipe.close()))
        writer.start()
        assert command("merge", f"/dev/fd/{end}", *paths[1:]).out == expected.to_json()
        writer.join()


def test_show_and_explain_keep_few_reports_in_memory(command, changed, monkeypatch):
    ranks = rank_reports(changed, range(8))
    alive = weakref.WeakSet()
    most = 0

    def read(path, certain):
        nonlocal most
        report = cyclewatch.Report.load(path)
        alive.add(report)
        most = max(most, len(alive))
        return report

    monkeypatch.setattr(inputs, "_read", read)
    signature = cyclewatch.Report.load(ranks[0]).findings[0].signature
    for words in (["explain", signature], ["show"], ["show", "--json"]):
        most = 0
        assert command(*words, *ranks).status == 0

        assert 0 < most <= 4, words


def test_view_merges_files_without_loading_all_reports(command, changed, monkeypatch):
    ranks = rank_reports(changed, range(8))
    expected = cyclewatch.Report.merge([cyclewatch.Report.load(each) for each in ranks]).to_html()
    monkeypatch.setattr(inputs, "_read", None)
    assert command("view", "--no-open", *ranks, "-o", "page.html").status == 0
    assert Path("page.html").read_text() == expected


def test_merging_many_reports_suggests_a_dataset(command, changed, monkeypatch):
    paths = rank_reports(changed, range(3))
    monkeypatch.setattr("cyclewatch.cli.merge_command._MOST_REPORTS", 3)
    assert "dataset" not in command("merge", *paths).err
    monkeypatch.setattr("cyclewatch.cli.merge_command._MOST_REPORTS", 2)
    assert "merged 3 reports" in command("merge", *paths).err


def test_merging_names_the_file_that_cannot_be_read(command, changed):
    paths = rank_reports(changed, range(3))
    paths[1].write_text(paths[1].read_text()[:-9])
    outcome = command("merge", *paths)
    assert outcome.status == 3
    assert f"{paths[1]}: the file ends at byte" in outcome.err


def test_view_writes_one_page(command, report, tmp_path):
    shutil.copy(report, tmp_path / "other.json")
    assert command("view", report).out == f"{tmp_path}/report.html\n"
    several = command("view", "--no-open", "report.json", "other.json")
    assert several.out == "cyclewatch-merged.html\n"
    assert cyclewatch.Report.load("cyclewatch-merged.html").findings
    # An existing page is opened, not written again.
    assert command("view", "--no-open", "report.html").status == 0
    assert command("view", "--no-open", "report.json").status == 3


def test_view_opens_the_browser(command, report, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    assert json.loads(command("view", report, "--json").out)["opened"] is True
    assert opened == [f"file://{tmp_path}/report.html"]


def test_strip_removes_paths_and_names(command, report, changed):
    def name_things(data):
        data["findings"][0]["cut"][0]["location"] = "/home/me/secret project/train.py:30"
        data["findings"][0]["remedy"] = "see /home/me/work/train.py:30"

    path = changed("full.json", name_things)
    paths = command("strip", "--paths", path).out
    assert "/home" not in paths
    assert "train.py:30" in paths
    assert "AwaitableTensorWithViewCallback" in paths
    names = command("strip", "--names", path).out
    for secret in ("/home", "train", "AwaitableTensor", "_view_dim", "load_shard", "ShardError"):
        assert secret not in names
    [device] = json.loads(report.read_text())["device_records"]
    assert device["uuid"] in paths and device["uuid"] not in names
    assert device["pci_id"] in paths and device["pci_id"] not in names
    assert device["name"] in names
    assert "closure:self" in names
    assert "torch.Tensor" in names
    stripped = json.loads(names)
    signatures = [each["signature"] for each in stripped["findings"]]
    assert signatures == [LAMBDA, NODES, ERROR]
    assert stripped["retained_bytes"] == json.loads(report.read_text())["retained_bytes"]


@pytest.mark.parametrize(
    "folder",
    [
        "/home/Ann Smith/Falcon (copy)/",
        "/home/ann/Falcon, Inc: it; was/",
        "C:\\Users\\Ann Smith\\Falcon\\",
        "//falcon/ann/",
        "file:///home/ann/falcon/",
        "~/Falcon Ann/",
    ],
)
def test_strip_removes_every_form_of_path(command, changed, folder):
    def name_things(data):
        first = data["findings"][0]
        first["cut"][0]["location"] = f"{folder}train.py:30"
        first["remedy"] = f"cut it ({folder}train.py:30)"
        first["picture"]["items"][0]["detail"] = f"{folder}train.py:30"

    stripped = command("strip", "--paths", changed("folder.json", name_things)).out
    first = json.loads(stripped)["findings"][0]
    assert first["cut"][0]["location"] == "train.py:30"
    assert first["remedy"] == "cut it (train.py:30)"
    assert first["picture"]["items"][0]["detail"] == "train.py:30"
    assert not re.search("ann|falcon", stripped, re.IGNORECASE)


def test_strip_removes_words_of_the_user(command, changed):
    def say(data):
        first = data["findings"][0]
        first.update(pattern="falcon-cache", status="ignored", status_reason="falcon of ann")
        first["owners"][0].update(device="falcon:0", dtype="falcon_dtype")
        first["cycle"][0].update(
            holder="torch.falcon_internal.Model", target="jax.falcon.__falcon__"
        )

    stripped = command("strip", "--names", changed("said.json", say)).out
    assert not re.search("falcon|ann", stripped)
    assert "torch.Tensor" in stripped


@pytest.mark.parametrize("option", ["--source", "--paths", "--names"])
def test_strip_removes_source_and_addresses(command, report, option):
    assert "lambda tensor" in report.read_text()
    stripped = command("strip", option, report).out
    assert "lambda tensor" not in stripped
    cut = json.loads(stripped)["findings"][0]["cut"][0]
    assert "source" not in cut
    original = json.loads(report.read_text())
    assert original.pop("addresses")
    assert "addresses" not in json.loads(stripped)
    if option == "--source":
        del original["findings"][0]["cut"][0]["source"]
        assert json.loads(stripped) == original


def test_strip_keeps_the_text_of_a_report(command, changed):
    advice = " ".join(each.advice for each in cyclewatch.patterns())
    for word in ("{variable}", "{holder}", "{target}", "{label}", "CudaGraphModule"):
        advice = advice.replace(word, "self")
    remedy = "It keeps 4.0 MiB of device memory alive, and 512 KiB more."

    def say(data):
        del data["findings"][1:]
        data["findings"][0].update(remedy=remedy, advice=advice)

    stripped = json.loads(command("strip", "--names", changed("said.json", say)).out)
    assert stripped["findings"][0]["remedy"] == remedy
    assert stripped["findings"][0]["advice"] == advice
    details = [item["detail"] for item in stripped["findings"][0]["picture"]["items"]]
    assert "torch.Tensor [1024, 1024] float32" in details


def test_explain(command, report, changed):
    by_name = command("explain", "closure-captures-self")
    assert by_name.status == 0
    assert "before:" in by_name.out
    assert "{" not in by_name.out
    by_signature = command("explain", LAMBDA, report)
    assert by_signature.out.endswith(by_name.out)
    assert f"id    {LAMBDA}" in by_signature.out
    # Without a file, explain reads the reports in the current directory.
    assert command("explain", LAMBDA).out == by_signature.out
    unknown = changed("unknown.json", lambda data: data["findings"][1].update(pattern="own"))
    assert command("explain", NODES, unknown).status == 1
    assert command("explain", "cw1-0000000000000000", report).status == 1
    data = json.loads(command("explain", LAMBDA, report, "--json").out)
    assert data["pattern"]["id"] == "closure-captures-self"


def test_explain_lists_all_locations(command, changed):
    def give_locations(data):
        finding = data["findings"][0]
        cut = {**finding["cut"][0], "base_class": "lib.Base", "source": None}
        del cut["source"]
        finding["cut"] = [cut | {"location": f"lib/part{i}.py:7"} for i in range(30)]
        finding["cut"][29]["references"] = 9
        finding["cut"].append(cut | {"location": "lib/part0.py:7", "holder": "lib.Other"})
        finding["omitted_cuts"] = 2

    out = command("explain", LAMBDA, changed("locations.json", give_locations)).out
    assert f"more locations: `cyclewatch explain {LAMBDA} REPORT` lists all" in out
    [_, locations] = out.split("all 32 locations to change:\n")
    assert all(f"lib/part{i}.py:7 (class lib.Base)\n" in locations for i in range(30))
    assert "        of lib.Other\n" in locations
    assert " (9 references)\n" in locations
    assert "    and 2 more, which the report does not contain\n" in locations
