# SPDX-License-Identifier: Apache-2.0
"""Reports: steps, processes, generations, merging, statuses, and writing files."""

import copy
import gc
import json
import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from owners import Buffer, Node

import cyclewatch
from cyclewatch import _native

ROOT = Path(__file__).resolve().parents[2]


class Block:
    """An owner of `size` bytes that refers to itself."""

    __slots__ = ("__weakref__", "other", "size")

    def __init__(self, size):
        self.size = size
        self.other = self


@pytest.fixture(autouse=True)
def block_is_an_owner():
    """Collect older garbage and register Block."""
    gc.collect()
    cyclewatch.register_owner(
        Block, lambda block: {"device": "cpu", "nbytes": block.size, "data_ptr": id(block)}
    )
    yield
    cyclewatch.unregister_owner(Block)


def report_of(*sizes, steps=()):
    """A report with one cycle and one collection for each size."""
    with cyclewatch.watch(budget=1, devices=("cpu",)) as watch:
        for number, size in enumerate(sizes):
            if steps:
                watch.step(steps[number])
            Block(size)
            gc.collect()
    return watch.report()


def as_other_process(report, rank, tmp_path):
    """The same report, as if another process had written it."""
    document = json.loads(report.to_json())
    document["processes"][0].update(rank=rank, pid=4000 + rank)
    path = tmp_path / f"rank{rank}.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return cyclewatch.Report.load(path)


def test_finding_has_the_step_of_its_first_occurrence():
    report = report_of(100, 50, steps=(7, 8))
    assert [collection.step for collection in report.collections] == [7, 8]
    [occurrences] = report.findings[0].by_process
    assert (occurrences.process, occurrences.occurrences, occurrences.retained_bytes) == (0, 2, 150)
    assert occurrences.first_step == 7
    assert occurrences.first_seen == report.findings[0].first_seen


def test_step_is_none_until_the_program_sets_it():
    report = report_of(100)
    assert report.collections[0].step is None
    assert report.findings[0].by_process[0].first_step is None


def test_byte_seconds_are_bytes_times_the_longest_wait():
    report = report_of(1000)
    finding = report.findings[0]
    assert finding.byte_seconds == pytest.approx(1000 * finding.dead_for_at_most)
    assert finding.byte_seconds > 0


def test_collection_has_the_memory_in_use():
    [memory] = report_of(100).collections[0].device_memory
    assert (memory.device, memory.source) == ("cpu", "process")
    assert 0 < memory.used_after < memory.total
    assert 0 < memory.used_before < memory.total


def test_live_report_has_one_process():
    report = report_of(100)
    [process] = report.processes
    assert process.rank is None
    assert report.collections[0].process == 0
    assert report.findings[0].status == "new"
    assert report.findings[0].verdict == report.findings[0].note == ""


def test_merged_report_has_occurrences_by_process(tmp_path):
    one = as_other_process(report_of(100, 200), 0, tmp_path)
    two = as_other_process(report_of(1000), 1, tmp_path)
    whole = cyclewatch.Report.merge([two, one])
    assert [process.rank for process in whole.processes] == [0, 1]
    [finding] = whole.findings
    assert finding.retained_bytes == whole.retained_bytes == 1300
    assert [occurrences.retained_bytes for occurrences in finding.by_process] == [300, 1000]
    assert "2 processes" in repr(whole)
    assert "2 processes" in whole.to_text()
    assert "ranks 0 to 1" in whole.to_html()


def test_endless_device_is_not_a_report():
    with pytest.raises(cyclewatch.ReportFormatError, match="/dev/zero: .* larger than 256 MiB"):
        cyclewatch.Report.load("/dev/zero")


@pytest.mark.parametrize(
    ("step", "error", "message"),
    [
        ("7", TypeError, "expects an integer, not '7'"),
        (1.5, TypeError, "expects an integer, not 1.5"),
        (-1, ValueError, "must be from 0 to .*, not -1"),
        (-(2**70), ValueError, "must be from 0 to"),
        (2**63, ValueError, "must be from 0 to"),
    ],
)
def test_invalid_steps(step, error, message):
    with cyclewatch.watch(budget=1, devices=("cpu",)) as watch, pytest.raises(error, match=message):
        watch.step(step)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_native_objects_cannot_be_pickled_or_copied(protocol):
    report = report_of(8)
    for value in (report, report.findings[0], report.findings[0].cuts[0], report.processes[0]):
        with pytest.raises(TypeError, match=r"use Report.save\(\)"):
            pickle.dumps(value, protocol)
        for reduced in (value.__reduce__, lambda value=value: value.__reduce_ex__(protocol)):
            with pytest.raises(TypeError, match=type(value).__name__):
                reduced()
        with pytest.raises(TypeError, match="copy"):
            copy.copy(value)


def test_report_of_another_interpreter_is_read(interpreter, tmp_path):
    path = tmp_path / "report.json"
    interpreter.run(
        """
        import gc, sys, cyclewatch
        class Block:
            def __init__(self):
                self.me = self
        cyclewatch.register_owner(Block, lambda block: {"device": "cpu", "nbytes": 30})
        with cyclewatch.watch(budget=1, devices="cpu") as watch:
            Block()
            gc.collect()
        watch.report().save(sys.argv[1])
        """,
        path,
    )
    report = cyclewatch.Report.load(path)
    assert report.findings[0].retained_bytes == 30
    assert report.to_json() == path.read_text()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_save_replaces_the_file_and_follows_the_umask(tmp_path):
    with cyclewatch.watch() as watch:
        pass
    path = tmp_path / "report.json"
    watch.report().save(path)
    watch.report().save(path)
    assert cyclewatch.Report.load(path).findings == []
    assert os.listdir(tmp_path) == ["report.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask()


def closed(schema):
    """Forbid undocumented fields in `schema`; fail if a field has no description."""
    if "properties" in schema:
        for name, rule in schema["properties"].items():
            assert rule.keys() & {"$ref", "const"} or rule["description"], name
        schema["additionalProperties"] = False
    for inner in (*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()):
        closed(inner)
    return schema


def test_schema_describes_every_field_of_the_golden_report():
    jsonschema = pytest.importorskip("jsonschema", reason="only for the main interpreter")
    schema = closed(json.loads((ROOT / "docs" / "formats" / "report.schema.json").read_text()))
    report = json.loads((ROOT / "tests" / "golden" / "report.json").read_text())
    jsonschema.validate(report, schema)
    for name in schema["$defs"]:
        without = {**schema, "$defs": {**schema["$defs"], name: False}}
        with pytest.raises(jsonschema.ValidationError):  # the report has such an item
            jsonschema.validate(report, without)


def test_generated_files_match_the_field_table():
    script = ROOT / "scripts" / "report_fields.py"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, script, "--check"], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def by_generation(report):
    return {totals.generation: totals for totals in report.generations}


@pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")
def test_all_collections_are_counted():
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        gc.collect(0)
        gc.collect(1)
        Node()
        reclaimed = [gc.collect(0), gc.collect()]
        Node(Buffer(1000))
        gc.collect()
    report = watch.report()
    totals = by_generation(report)
    assert {number: each.collections for number, each in totals.items()} == {0: 2, 1: 1, 2: 2}
    assert repr(totals[1]) == "<GenerationTotals of generation 1: 1 collection, 0 B>"
    assert sum(each.collections for each in totals.values()) == report.stats.collections
    assert totals[0].reclaimed == reclaimed[0] >= 1
    assert [(each.freeing, each.freed_bytes) for each in totals.values()] == [
        (0, 0),
        (0, 0),
        (1, 1000),
    ]
    full = totals[2]
    assert 0 < full.freeing_seconds < full.seconds < report.stats.collection_seconds
    assert full.share == pytest.approx(full.seconds / report.stats.elapsed, abs=1e-6)
    assert (full.examined is None) == (sys.version_info < (3, 15))


@pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")
def test_text_answers_whether_collections_are_needed():
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        gc.collect()
        Node(Buffer(1000))
        gc.collect()
    report = watch.report()
    text = " ".join(report.to_text().split())
    signature = report.findings[0].signature
    assert "1 of 2 collections freed no device memory and took" in text
    assert f"the other one freed 1000 B: {signature}. Fix it, and automatic" in text
    assert "generation 2: 2 collections in" in text


@pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")
def test_collection_frees_what_a_scan_reported():
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        Node(Buffer(1000))
        watch.step(1)
        assert watch.report().generations == []
        gc.collect()
    (totals,) = watch.report().generations
    assert (totals.freeing, totals.freed_bytes) == (1, 1000)


@pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")
def test_merged_report_adds_the_totals(tmp_path):
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        Node(Buffer(1000))
        gc.collect()
    first = watch.report()
    path = tmp_path / "second.json"
    first.save(path)
    path.write_text(path.read_text().replace('"rank": -1', '"rank": 1'))
    merged = cyclewatch.Report.merge([first, cyclewatch.Report.load(path)])
    (totals,) = merged.generations
    assert (totals.collections, totals.freeing, totals.freed_bytes) == (2, 2, 2000)
    assert totals.share == pytest.approx(totals.seconds / merged.stats.elapsed, abs=1e-6)


@pytest.mark.parametrize(
    ("first", "name"),
    [
        ("src/train.py", "train"),
        ("/site-packages/uvicorn/__main__.py", "uvicorn"),  # python -m uvicorn
        ("__main__.py", "__main__"),
        ("/__main__.py", "__main__"),
        ("-c", "python"),
    ],
)
def test_a_report_is_named_after_the_program(monkeypatch, first, name):
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setattr(sys, "argv", [first])
    assert _native.report_stem() == f"cyclewatch-{name}-{os.getpid()}"
