"""A queue keeps failed jobs and their exceptions, so that the jobs can be retried.

module global __main__.queue -> queue.failed[0].error.__traceback__ -> run_job() local batch
"""

import dataclasses
import weakref

import cyclewatch


class Batch:
    pass


@dataclasses.dataclass
class Failure:
    name: str
    error: Exception


class JobQueue:
    def __init__(self):
        self.failed = []

    def run(self, name, job):
        try:
            job()
        except ValueError as error:
            self.failed.append(Failure(name, error))


queue = JobQueue()
references = []


def run_job():
    batch = Batch()
    references.append(weakref.ref(batch))
    raise ValueError("shape")


queue.run("resize", run_job)
print(cyclewatch.why_alive(references[0], 1)[0])
