# SPDX-License-Identifier: Apache-2.0
"""An object keeps a suspended coroutine of one of its methods."""

EXPECTED = ["Worker .task"]


class Pause:
    def __await__(self):
        yield


class Worker:
    def __init__(self, batch):
        self.batch = batch

    async def work(self):
        await Pause()
        return self.batch


def leaky(payload):
    worker = Worker(payload())
    worker.task = worker.work()
    worker.task.send(None)


def fixed(payload):
    worker = Worker(payload())
    task = worker.work()
    task.send(None)
