# SPDX-License-Identifier: Apache-2.0
import numpy as np
import trio

OWNERS = {np.ndarray: lambda array: array.nbytes}


async def child(data):
    raise ValueError("no")


async def main(data):
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child, data)
            nursery.start_soon(child, data)
    except trio.MultiError:
        pass


def leaky():
    trio.run(main, np.ones((100, 100)))
