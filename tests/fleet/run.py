# SPDX-License-Identifier: Apache-2.0
"""`make fleet`: 100,000 rank reports of 1,000 jobs, queried with DuckDB and with PySpark."""

import argparse
import re
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path

import jobs as fleet
from pyspark.sql import SparkSession

TODAY = date(2026, 3, 20)


def timed(text, call, *arguments):
    started = time.perf_counter()
    result = call(*arguments)
    print(f"{text}: {time.perf_counter() - started:.1f} s", flush=True)
    return result


def code_of(engine, dataset):
    """The code of the guide that opens the dataset."""
    text = fleet.PAGE.read_text(encoding="utf-8")
    code = re.search(rf"In {engine}:\n\n```py\n(.*?)```", text, re.DOTALL)[1]
    return code.replace("/data/cyclewatch", str(dataset))


def write_all(dataset, jobs):
    parts = [jobs[at : at + 20] for at in range(0, len(jobs), 20)]
    with ProcessPoolExecutor() as pool:
        list(pool.map(partial(fleet.write, dataset), parts))


def with_duckdb(query, variables):
    result = variables["connection"].sql(query)
    return [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]


def with_pyspark(query, variables):
    return [row.asDict() for row in variables["session"].sql(query).collect()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--ranks", type=int, default=100)
    arguments = parser.parse_args()
    jobs = fleet.make_jobs(arguments.jobs, arguments.ranks, TODAY)
    expected = fleet.answers(jobs, TODAY)
    with tempfile.TemporaryDirectory(prefix="cyclewatch-fleet-") as folder:
        dataset = Path(folder)
        timed(f"{arguments.jobs * arguments.ranks:,} rank reports", write_all, dataset, jobs)
        files = [path.stat().st_size for path in dataset.rglob("*.parquet")]
        print(f"{len(files):,} files, {sum(files) / (1 << 20):.0f} MiB")
        # The code of the guide uses this session.
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        for engine, run in (("DuckDB", with_duckdb), ("PySpark", with_pyspark)):
            variables = {}
            timed(f"{engine}: open", exec, code_of(engine, dataset), variables)
            for heading, query in fleet.queries().items():
                rows = timed(f"{engine}: {heading}", run, fleet.at(query, TODAY), variables)
                fleet.check(f"{engine}: {heading}", rows, expected[heading])
    print("all results are as expected")


if __name__ == "__main__":
    sys.exit(main())
