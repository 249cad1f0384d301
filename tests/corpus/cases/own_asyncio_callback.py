# SPDX-License-Identifier: Apache-2.0
"""A job keeps a future, whose callback is a method of the job."""

import asyncio

EXPECTED = ["finish __self__", "Job .done"]


class Job:
    def __init__(self, batch):
        self.batch = batch

    def finish(self, future):
        return self.batch


def start(payload, loop, method_of):
    job = Job(payload())
    job.done = loop.create_future()
    job.done.add_done_callback(method_of(job))


def with_loop(payload, method_of):
    loop = asyncio.new_event_loop()
    start(payload, loop, method_of)
    loop.close()


def leaky(payload):
    with_loop(payload, lambda job: job.finish)


def fixed(payload):
    with_loop(payload, lambda job: Job.finish)
