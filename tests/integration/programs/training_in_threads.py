# SPDX-License-Identifier: Apache-2.0
"""Lists the live tensors while other threads train and free objects; test_threads.py runs it.

Expects PYTHONMALLOC=debug, so that reading an object that was freed crashes the process. Prints the
number of tensors of the main thread in each list.
"""

import sys
import threading

import torch

import cyclewatch

CALLS = 5
SIZE = 1024

kept = [torch.ones(SIZE, requires_grad=True) * 2 for _ in range(300)]
views = [each.view(2, -1) for each in kept]
ended = threading.Event()


def free_objects():
    while not ended.is_set():
        objects = [[] for _ in range(3000)]
        del objects


def train():
    while not ended.is_set():
        layer = torch.nn.Linear(8, 8)
        layer(torch.ones(2, 8)).relu()
        layer.weight.grad = torch.zeros(8, 8)
        layer.weight.grad = None


sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=each) for each in (free_objects, free_objects, train)]
for thread in threads:
    thread.start()
try:
    for _ in range(CALLS):
        owners = cyclewatch.live_owners(min_bytes=0)
        cyclewatch.memory()
        print(sum(each.count for each in owners if SIZE in each.shape))
finally:
    ended.set()
