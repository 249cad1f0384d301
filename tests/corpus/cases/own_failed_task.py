# SPDX-License-Identifier: Apache-2.0
"""A client keeps the failed task that ran one of its coroutines."""

import asyncio

EXPECTED = ["Client .task"]


class Client:
    def __init__(self, buffers):
        self.buffers = buffers

    async def serve(self):
        raise ConnectionError("closed")


async def use(payload, forget):
    client = Client(payload())
    client.task = asyncio.ensure_future(client.serve())
    await asyncio.wait([client.task])
    client.task.exception()
    if forget:
        client.task = None


def leaky(payload):
    asyncio.run(use(payload, False))


def fixed(payload):
    asyncio.run(use(payload, True))
