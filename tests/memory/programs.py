# SPDX-License-Identifier: Apache-2.0
"""Ten programs that use memory for different reasons; prints the verdict on one of them.

programs.py NAME. The expected verdicts were written down before the programs were run.
"""

import gc
import sys

import torch

import cyclewatch

MIB = 1 << 18  # float32 elements in a MiB

# What each program does, and its verdict after "in use on cpu, of which ".
EXPECTED = {
    "dead_cycles": (
        "Objects that refer to themselves hold tensors; automatic collection is off.",
        "800 MiB dead in 10 cycles (a collection frees them): cut Node.me (programs.py:",
    ),
    "frozen_cycles": (
        "The same, but gc.freeze() was called before the objects were dropped.",
        "800 MiB dead in 10 frozen cycles (call gc.unfreeze(), then gc.collect()): cut Node.me "
        "(programs.py:",
    ),
    "growing_list": (
        "A list keeps tensors of each step; a watch takes censuses.",
        "800 MiB in a group that grows by 80.0 MiB per step, held by module global __main__.kept "
        "-> kept[0]",
    ),
    "optimizer_state": (
        "Adam stores two tensors for each parameter.",
        "800 MiB optimizer state: use an optimizer with a smaller state",
    ),
    "saved_for_backward": (
        "A loss is computed, and its graph keeps the intermediate results.",
        "800 MiB tensors saved for backward: the largest group, 800 MiB, "
        "is held by module global __main__.kept -> kept[0]",
    ),
    "activations": (
        "The outputs of a model are kept together with their graphs.",
        "800 MiB activations: the largest group, 800 MiB, "
        "is held by module global __main__.kept -> kept[0]",
    ),
    "parameters": (
        "A large model is loaded.",
        "1.0 GiB parameters: this is the model itself",
    ),
    "host_memory": (
        "Most of the memory does not belong to tensors.",
        "remainder, owned by no known tensor (C++ code, the interpreter, libraries): ",
    ),
    "model_and_dead_cycles": (
        "A large model, and dead cycles that are a fifth of its size.",
        "200 MiB dead in 5 cycles (a collection frees them): cut Node.me (programs.py:",
    ),
    "model_and_one_small_cycle": (
        "A large model, and a dead cycle that does not matter.",
        "1.0 GiB parameters: this is the model itself",
    ),
}

kept = []


class Node:
    """Holds a tensor and refers to itself."""

    def __init__(self, mib):
        self.data = torch.ones(mib * MIB)
        self.me = self


def model(mib=1024):
    """Keep a model with one parameter."""
    layer = torch.nn.Module()
    layer.weight = torch.nn.Parameter(torch.ones(mib * MIB))
    kept.append(layer)
    return layer


def dead_cycles():
    for _ in range(10):
        Node(80)


def frozen_cycles():
    nodes = [Node(80) for _ in range(10)]
    gc.freeze()
    nodes.clear()


def growing_list():
    watch = cyclewatch.watch(devices="cpu", budget=1, census_every=1)
    for step in range(10):
        kept.append(torch.ones(80 * MIB))
        watch.step(step)


def optimizer_state():
    layer = model(400)
    optimizer = torch.optim.Adam(layer.parameters())
    layer.weight.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(optimizer)


def saved_for_backward():
    result = torch.ones(80 * MIB, requires_grad=True)
    for _ in range(10):  # each saves its argument
        result = result.sin()
    kept.append(result.sum())


def activations():
    scale = torch.nn.Parameter(torch.ones(1))
    data = torch.ones(80 * MIB)
    for _ in range(10):
        kept.append(data + scale)


def parameters():
    model()


def host_memory():
    kept.append(b"x" * (1 << 30))


def model_and_dead_cycles():
    model()
    for _ in range(5):
        Node(40)


def model_and_one_small_cycle():
    model()
    Node(1)


if __name__ == "__main__":
    gc.disable()
    torch.set_num_threads(1)
    globals()[sys.argv[1]]()
    account = cyclewatch.memory("cpu")
    assert account.in_use == sum(size for _, size in account.lines)
    print(account.verdict)
