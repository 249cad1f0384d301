# SPDX-License-Identifier: Apache-2.0
"""Appends reports to a dataset of Parquet files, for queries across many jobs."""

from __future__ import annotations

import glob
import hashlib
import os
import re

from cyclewatch.export.dataset_tables import JOB, TABLES, Column, first_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from cyclewatch._native import Report

_LONGEST_NAME = 100


def files_of(report: Report, job: str | None) -> dict[str, bytes]:
    """The contents of each file of the job, by its path in the dataset.

    All tables have a file, also those without rows, so that queries always find them.

    Args:
        report: The merged report of the job.
        job: The name of the job; by default, the script and the start time.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
    """
    started_at = first_start(report)
    script = report.processes[0].script
    job = job or f"{script or 'python'}-{started_at:%Y%m%dT%H%M%S.%f}"[:-3]
    values = {"job": job, "started_at": started_at, "script": script}
    name = _file_name(job)
    return {
        f"{table}/date={started_at:%Y-%m-%d}/{name}.parquet": _packed(table, report, values)
        for table in TABLES
    }


def other_dates(folder: str, files: Iterable[str]) -> list[str]:
    """The files of the same job in the dataset `folder` that have another date than `files`.

    A job that is started again, such as a requeued one, may have another date than before.
    """
    found = []
    for path in files:
        table, _, name = path.split("/")
        pattern = os.path.join(glob.escape(folder), table, "date=*", glob.escape(name))
        found += [each for each in glob.glob(pattern) if each != os.path.join(folder, path)]
    return sorted(found)


def _file_name(job: str) -> str:
    """A file name for the job: the same for the same job, and another one for other jobs."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", job)[:_LONGEST_NAME].lstrip("._")
    if name == job:
        return name
    return f"{name}-{hashlib.sha256(job.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _packed(table: str, report: Report, job: Mapping[str, object]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    columns = JOB + TABLES[table].columns
    rows = [{**job, **row} for row in TABLES[table].rows(report)]
    schema = pyarrow.schema([(each.name, _type(pyarrow, each)) for each in columns])
    arrays = [
        pyarrow.array([_storable(row[field.name]) for row in rows], field.type) for field in schema
    ]
    buffer = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(
        pyarrow.Table.from_arrays(arrays, schema=schema), buffer, compression="zstd"
    )
    data: bytes = buffer.getvalue().to_pybytes()
    return data


def _storable(value: object) -> object:
    """Names of the program may contain lone surrogates, which Parquet cannot store."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _type(pyarrow: Any, column: Column) -> Any:
    if column.type == "timestamp":
        return pyarrow.timestamp("us")
    return getattr(pyarrow, column.type)()
