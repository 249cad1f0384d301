# SPDX-License-Identifier: Apache-2.0
"""Makes the reports of many jobs, and answers the questions of docs/guide/fleet.md in Python."""

import json
import random
import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path

from cyclewatch import _native
from cyclewatch.export.dataset import files_of

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "report.json").read_text(encoding="utf-8"))
PAGE = ROOT / "docs" / "guide" / "fleet.md"
TABLES = ("jobs", "findings", "occurrences", "collections", "live_groups", "device_memory")
GIB = 1 << 30
LIBRARIES = (None, "torch", None, "lightning", None, "transformers")


def queries():
    """The queries of the page, by heading."""
    text = PAGE.read_text(encoding="utf-8")
    return dict(
        re.findall(r"^## (Which [^\n]*|In which [^\n]*)\n.*?```sql\n(.*?)```", text, re.M | re.S)
    )


@dataclass
class Job:
    """What the reports of a job contain."""

    name: str
    script: str
    started_at: datetime
    ranks: int
    collection_seconds: float
    # Signature -> bytes in all ranks together.
    findings: dict[str, int] = field(default_factory=dict)

    elapsed = 1000.0  # of each rank


def make_jobs(number, ranks, today):
    """`number` jobs of five scripts in the 40 days until `today`."""
    chance = random.Random(1)
    jobs = []
    for at in range(number):
        moment = datetime.combine(today, time(12)) - timedelta(days=40) * (
            (number - 1 - at) / number
        )
        job = Job(f"job-{at}", f"train{at % 5}", moment, ranks, round(chance.uniform(0, 50), 3))
        for cycle in range(12):
            # The last ones are new; 3 and 4 come and go.
            first = number * 39 // 40 if cycle >= 10 else 0
            on = (at // 20) % 2 == 0 if cycle in (3, 4) else chance.random() < 0.5
            if at >= first and on:
                job.findings[signature_of(cycle)] = chance.randrange(1, 1000) * ranks * 4096
        jobs.append(job)
    return jobs


def signature_of(cycle):
    return f"cw1-{cycle:016x}"


def seconds_of(signature):
    """For how long the memory of a cycle is unreachable."""
    return 1.5 + int(signature[4:], 16)


def location_of(signature):
    cycle = int(signature[4:], 16)
    library = LIBRARIES[cycle % len(LIBRARIES)]
    return (
        f"/env/lib/python3.11/site-packages/{library}/a.py:{cycle}" if library else f"a.py:{cycle}"
    )


def report_of(job):
    """The merged report of a job."""
    document = {**GOLDEN, "findings": [], "collections": []}
    document["processes"] = [
        {
            **GOLDEN["processes"][0],
            "script": job.script,
            "pid": 100 + rank,
            "rank": rank,
            "started_at": job.started_at.isoformat(timespec="milliseconds") + "Z",
        }
        for rank in range(job.ranks)
    ]
    for signature, total in job.findings.items():
        finding = json.loads(json.dumps(GOLDEN["findings"][0]))
        finding["signature"] = signature
        finding["cut"][0]["location"] = location_of(signature)
        finding["retained_bytes"] = total
        finding["byte_seconds"] = total * seconds_of(signature)
        each = finding["by_process"][0]
        finding["by_process"] = [
            {**each, "process": rank, "retained_bytes": total // job.ranks}
            for rank in range(job.ranks)
        ]
        document["findings"].append(finding)
    generation = {**GOLDEN["stats"]["generations"][0], "seconds": job.collection_seconds}
    elapsed = job.elapsed * job.ranks
    document["stats"] = {**GOLDEN["stats"], "elapsed": elapsed, "generations": [generation]}
    return _native.load_report(json.dumps(document).encode(), job.name)


def write(dataset, jobs):
    """Append the reports of the jobs to the dataset."""
    for job in jobs:
        for name, data in files_of(report_of(job), job.name).items():
            path = dataset / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def answers(jobs, today):
    """The expected result of each query: the columns that identify its rows, in order."""
    month = datetime.combine(today.replace(day=1), time())
    recent = [job for job in jobs if job.started_at >= month]
    cost, libraries = defaultdict(float), defaultdict(float)
    for job in recent:
        for signature, total in job.findings.items():
            value = total * seconds_of(signature) / GIB
            cost[signature] += value
            library = LIBRARIES[int(signature[4:], 16) % len(LIBRARIES)]
            if library:
                libraries[library] += value
    slowest = sorted(recent, key=lambda job: (-job.collection_seconds, job.name))[:20]
    return {
        "Which cycles cost the most this month": [
            {"signature": each, "gib_seconds": cost[each]}
            for each in sorted(cost, key=lambda each: (-cost[each], each))
        ],
        "In which libraries": [
            {"library": each, "gib_seconds": libraries[each]}
            for each in sorted(libraries, key=lambda each: -libraries[each])
        ],
        "Which are new since yesterday": new_since_yesterday(jobs, today),
        "Which came back after a fix": came_back(jobs),
        "Which jobs lost the most time to collections": [
            {
                "job": job.name,
                "collection_seconds": job.collection_seconds,
                "share": job.collection_seconds / (job.elapsed * job.ranks),
            }
            for job in slowest
        ],
    }


def new_since_yesterday(jobs, today):
    yesterday = datetime.combine(today, time()) - timedelta(days=1)
    old = {each for job in jobs if job.started_at < yesterday for each in job.findings}
    total = defaultdict(int)
    for job in jobs:
        for signature, size in job.findings.items():
            if signature not in old:
                total[signature] += size
    order = sorted(total, key=lambda each: (-total[each], each))
    return [{"signature": each, "retained_bytes": total[each]} for each in order]


def came_back(jobs):
    rows = []
    for script in {job.script for job in jobs}:
        without = {}
        for job in sorted(
            (each for each in jobs if each.script == script), key=lambda each: each.started_at
        ):
            for signature in job.findings:
                if without.get(signature, 0) >= 3:
                    rows.append((job.started_at, signature, job.name, without[signature]))
                without[signature] = -1
            without = {signature: count + 1 for signature, count in without.items()}
    rows.sort(key=lambda row: row[1])
    rows.sort(key=lambda row: row[0], reverse=True)
    return [
        {"signature": signature, "job": name, "jobs_without": count}
        for _, signature, name, count in rows
    ]


def at(query, today: date):
    """The query as if it was run on `today`."""
    return query.replace("current_date", f"DATE '{today}'")


def check(heading, rows, expected):
    """Compare the result of a query, a list of dicts, with the expected columns."""
    assert len(rows) == len(expected), f"{heading}: {len(rows)} rows instead of {len(expected)}"
    for row, wanted in zip(rows, expected, strict=True):
        for name, value in wanted.items():
            is_near = isinstance(value, float) and abs(row[name] - value) <= 1e-9 * abs(value)
            assert is_near or row[name] == value, f"{heading}: {name} is {row[name]}, not {value}"
