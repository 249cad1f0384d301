# SPDX-License-Identifier: Apache-2.0
"""memory() and census() read autograd graphs only where that cannot crash the program."""

import subprocess
import sys

import torch
from running_backward import running_backward

import cyclewatch


def saved_bytes():
    lines = dict(cyclewatch.memory("cpu").lines)
    return sum(size for label, size in lines.items() if "saved for backward" in label)


def test_graphs_are_not_read_while_another_thread_runs_backward():
    start = torch.ones(100_000, requires_grad=True)
    waiting = start.exp().sum()  # only C++ holds the result of exp()
    with running_backward():
        during = saved_bytes()
    assert (during, saved_bytes()) == (0, 400_000)
    del start, waiting


LONG_GRAPH = """
import sys
import torch, cyclewatch

cell = torch.nn.GRUCell(8, 8)
state = torch.zeros(1, 8)  # never detached
for _ in range(6000):
    state = cell(torch.ones(1, 8), state)
for _ in range(3):
    cyclewatch.memory("cpu") if sys.argv[1] == "memory" else cyclewatch.census(devices="cpu")
    state = cell(torch.ones(1, 8), state)
state = None
print("freed")
"""


def test_program_can_free_a_long_graph_that_was_read():
    for function in ("memory", "census"):
        done = subprocess.run(
            [sys.executable, "-c", LONG_GRAPH, function], capture_output=True, text=True
        )
        assert (done.returncode, done.stdout) == (0, "freed\n"), done.stderr
