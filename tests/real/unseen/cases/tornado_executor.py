# SPDX-License-Identifier: Apache-2.0
import asyncio
import concurrent.futures
import threading

import torch
from tornado.concurrent import run_on_executor


class Reader:
    def __init__(self, executor):
        self.executor = executor

    @run_on_executor
    def read(self, ready):
        ready.wait()  # until the future has a callback
        return torch.rand(1000)


async def main():
    ready = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        tensor = Reader(executor).read(ready)
        ready.set()
        return len(await tensor)


def leaky():
    return asyncio.run(main())
