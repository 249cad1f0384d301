# SPDX-License-Identifier: Apache-2.0
"""`cyclewatch convert --to parquet`, and the queries of docs/guide/fleet.md in DuckDB."""

import json
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import jobs as fleet

import cyclewatch
from cyclewatch.export.dataset_tables import TABLES, library_of, page

ROOT = Path(__file__).resolve().parents[2]
DATASET_PAGE = ROOT / "docs" / "formats" / "dataset.md"
TODAY = date(2026, 3, 20)

duckdb = pytest.importorskip("duckdb")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def small_fleet():
    return fleet.make_jobs(200, 4, TODAY)


@pytest.fixture(scope="module")
def connection(small_fleet, tmp_path_factory):
    """The dataset of the fleet, opened as the guide shows."""
    dataset = tmp_path_factory.mktemp("dataset")
    fleet.write(dataset, small_fleet)
    text = fleet.PAGE.read_text(encoding="utf-8")
    code = re.search(r"In DuckDB:\n\n```py\n(.*?)```", text, re.DOTALL)[1]
    variables = {}
    exec(code.replace("/data/cyclewatch", str(dataset)), variables)
    return variables["connection"]


@pytest.mark.parametrize("heading", fleet.queries())
def test_query_answers_the_question(connection, small_fleet, heading):
    result = connection.sql(fleet.at(fleet.queries()[heading], TODAY))
    rows = [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]
    expected = fleet.answers(small_fleet, TODAY)[heading]
    assert expected, "the fleet contains no example"
    fleet.check(heading, rows, expected)


def test_all_questions_have_a_query():
    assert list(fleet.queries()) == list(fleet.answers([], TODAY))


def test_partition_column_is_the_day_of_the_start(connection):
    wrong = "SELECT count(*) FROM findings WHERE date <> CAST(started_at AS DATE)"
    assert connection.sql(wrong).fetchall() == [(0,)]


def test_every_rank_has_its_occurrences(connection, small_fleet):
    query = "SELECT sum(retained_bytes), count(*) FROM occurrences"
    [result] = connection.sql(query).fetchall()
    assert result == (
        sum(sum(job.findings.values()) for job in small_fleet),
        sum(4 * len(job.findings) for job in small_fleet),
    )


@pytest.fixture
def convert(tmp_path):
    (tmp_path / "report.json").write_text(json.dumps(fleet.GOLDEN))

    def run(*options, status=0, **environment):
        command = [sys.executable, "-m", "cyclewatch", "convert", "--to", "parquet", *options]
        outcome = subprocess.run(
            [*command, "report.json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
        )
        assert outcome.returncode == status, outcome.stderr
        return outcome.stdout + outcome.stderr

    return run


def test_report_is_appended_once(convert, tmp_path):
    written = convert("-o", "data", "--job", "4711").split()
    assert written == [f"data/{table}/date=2026-01-31/4711.parquet" for table in TABLES]
    assert "exists; use --force to replace it" in convert("-o", "data", "--job", "4711", status=3)
    convert("-o", "data", "--job", "4711", "--force")
    convert("-o", "data", "--job", "4712")
    assert parquet.read_table(tmp_path / "data" / "jobs").column("job").to_pylist() == [
        "4711",
        "4712",
    ]


def test_job_that_starts_again_on_another_day_is_replaced(convert, tmp_path):
    convert("-o", "data", "--job", "4711")
    convert("-o", "data", "--job", "4712")
    later = json.dumps(fleet.GOLDEN).replace("2026-01-31T", "2026-02-01T")
    (tmp_path / "report.json").write_text(later)
    message = convert("-o", "data", "--job", "4711", status=3)
    assert "date=2026-01-31/4711.parquet exists; use --force to replace it" in message
    assert not list(tmp_path.glob("data/*/date=2026-02-01"))
    convert("-o", "data", "--job", "4711", "--force")
    for table in TABLES:
        paths = sorted(
            str(path.relative_to(tmp_path)) for path in tmp_path.glob(f"data/{table}/*/*")
        )
        assert paths == [
            f"data/{table}/date=2026-01-31/4712.parquet",
            f"data/{table}/date=2026-02-01/4711.parquet",
        ]


def test_processes_have_the_hash_of_their_host(convert, tmp_path):
    changed = json.loads(json.dumps(fleet.GOLDEN))
    changed["processes"][0]["host"] = "0123456789abcdef"
    (tmp_path / "report.json").write_text(json.dumps(changed))
    convert("-o", "data")
    occurrences = parquet.read_table(tmp_path / "data" / "occurrences").to_pylist()
    hosts = {(row["pid"], row["host"]) for row in occurrences}
    assert (changed["processes"][0]["pid"], "0123456789abcdef") in hosts


def test_missing_ranks_of_a_single_report_are_counted(convert, tmp_path):
    with cyclewatch.watch(devices="cpu") as watch:
        pass
    empty = json.loads(watch.report().to_json())
    empty["processes"][0].update(rank=0, world_size=3)
    (tmp_path / "report.json").write_text(json.dumps(empty))
    convert("-o", "data")
    assert parquet.read_table(tmp_path / "data" / "jobs").column("missing_ranks").to_pylist() == [2]


def test_columns_have_the_values_of_the_report(convert, tmp_path):
    convert("-o", "data")
    report = cyclewatch.Report.load(tmp_path / "report.json")
    finding, cut = report.findings[0], report.findings[0].cut
    [row, *_] = parquet.read_table(tmp_path / "data" / "findings").to_pylist()
    assert row["job"] == "train.py-20260131T120000.000"
    assert row["signature"] == finding.signature
    assert row["cut"] == f"{cut.holder}.{cut.label}"
    assert (row["location"], row["library"]) == (cut.location, None)
    assert row["retained_bytes"] == finding.retained_bytes
    for table in TABLES:
        columns = set(parquet.read_table(tmp_path / "data" / table).column_names)
        names = {"job", "started_at", "script", "date"}
        assert columns == names | {each.name for each in TABLES[table].columns}


def test_job_name_is_a_safe_file_name(convert, tmp_path):
    convert("-o", "data", "--job", "../a b")
    [path] = (tmp_path / "data" / "jobs").rglob("*.parquet")
    assert re.fullmatch(r"a_b-[0-9a-f]{8}\.parquet", path.name)
    assert parquet.read_table(path).column("job").to_pylist() == ["../a b"]


def test_missing_output_and_missing_library_are_named(convert, tmp_path):
    assert "needs the folder of the dataset as --output" in convert(status=2)
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['pyarrow'] = None")
    message = convert("-o", "data", status=3, PYTHONPATH=str(tmp_path))
    assert "pip install 'cyclewatch[parquet]'" in message


@pytest.mark.parametrize(
    ("location", "library"),
    [
        ("/env/lib/python3.11/site-packages/torch/nn/a.py:3", "torch"),
        ("/usr/lib/python3/dist-packages/six.py:1", "six"),
        ("/home/me/train.py:3", None),
        (None, None),
    ],
)
def test_library_is_the_installed_package(location, library):
    assert library_of(location) == library


def test_page_describes_all_columns():
    if os.environ.get("CYCLEWATCH_UPDATE_PAGES") == "1":
        DATASET_PAGE.write_text(page(), encoding="utf-8")
    assert DATASET_PAGE.read_text(encoding="utf-8") == page()
