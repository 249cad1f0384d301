# SPDX-License-Identifier: Apache-2.0
"""A worker keeps a thread, never started, whose target is a method of the worker."""

import threading

EXPECTED = ["work __self__", "Worker .thread"]


class Worker:
    def __init__(self, batch):
        self.batch = batch

    def work(self):
        return self.batch


def leaky(payload):
    worker = Worker(payload())
    worker.thread = threading.Thread(target=worker.work)


def fixed(payload):
    worker = Worker(payload())
    worker.thread = threading.Thread(target=Worker.work)
