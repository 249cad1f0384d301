# SPDX-License-Identifier: Apache-2.0
import anyio
import torch


async def child(data):
    raise ValueError(data.shape)


async def main(data):
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(child, data)
            group.start_soon(child, data)
    except BaseExceptionGroup as error:
        return len(error.exceptions)


def leaky():
    return anyio.run(main, torch.rand(100, 100))
