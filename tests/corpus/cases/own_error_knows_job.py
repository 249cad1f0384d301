# SPDX-License-Identifier: Apache-2.0
"""A job lists exceptions that were never raised; each refers to the job."""

EXPECTED = ["ReadError .job"]


class ReadError(Exception):
    def __init__(self, job):
        super().__init__("unreadable")
        self.job = job


class Job:
    def __init__(self, frames):
        self.frames = frames
        self.problems = []

    def check(self, job):
        self.problems.append(ReadError(job))


def leaky(payload):
    job = Job(payload())
    job.check(job)


def fixed(payload):
    job = Job(payload())
    job.check("job 1")
