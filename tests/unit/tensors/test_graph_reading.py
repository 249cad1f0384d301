# SPDX-License-Identifier: Apache-2.0
"""memory() and census() read autograd graphs only where that cannot crash the program."""

import subprocess
import sys

import pytest
import torch
from running_backward import running_backward

import cyclewatch
from cyclewatch.account.measurement import Memory
from cyclewatch.oom.wording import oom_headline

BACKWARD_NOTE = (
    "Tensors saved by autograd were not examined: another thread was running a backward pass."
)

shows_saved_tensors = pytest.mark.usefixtures("shown_saved_tensors")


def saved_bytes():
    lines = dict(cyclewatch.memory("cpu").lines)
    return sum(size for label, size in lines.items() if "saved for backward" in label)


@shows_saved_tensors
def test_graphs_are_not_read_while_another_thread_runs_backward():
    start = torch.ones(100_000, requires_grad=True)
    waiting = start.exp().sum()  # only C++ holds the result of exp()
    with running_backward():
        during = saved_bytes()
        notes = cyclewatch.memory("cpu").notes
    assert notes == [BACKWARD_NOTE]
    assert cyclewatch.memory("cpu").notes == []
    assert (during, saved_bytes()) == (0, 400_000)
    del start, waiting


def test_every_list_of_tensors_says_that_graphs_were_not_read(caplog):
    start = torch.ones(100_000, requires_grad=True)
    waiting = start.exp().sum()
    with cyclewatch.watch(devices="cpu", census_every=1, budget=1) as watch:
        with running_backward():
            cyclewatch.live_owners()
            cyclewatch.census()
            headline = oom_headline(Memory("cpu", requested=None))
            watch.step(1)
        assert BACKWARD_NOTE in watch.report().notes
    assert [each.message for each in caplog.records].count(BACKWARD_NOTE) == 2
    assert headline.endswith(f". {BACKWARD_NOTE}")
    caplog.clear()
    cyclewatch.live_owners()
    assert BACKWARD_NOTE not in caplog.text
    assert BACKWARD_NOTE not in oom_headline(Memory("cpu", requested=None))
    del start, waiting


OLDER_TORCH = """
import torch, cyclewatch

assert cyclewatch.memory("cpu").notes == []  # no graphs
if hasattr(torch._C._autograd.SavedTensor, "data"):
    del torch._C._autograd.SavedTensor.data  # as in torch 2.6
result = torch.ones(8, requires_grad=True).exp()
print(*cyclewatch.memory("cpu").notes)
"""


def test_the_account_says_that_older_versions_do_not_show_saved_tensors():
    command = [sys.executable, "-c", OLDER_TORCH]
    done = subprocess.run(command, capture_output=True, text=True)
    note = "Tensors saved by autograd were not examined: this version of torch does not show them."
    assert done.stdout.strip() == note, done.stderr


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


HELD_GRAPH = """
import html, json, sys
import torch, cyclewatch

class Trainer:
    pass

def remainder(account):
    return next(size for label, size in account.lines if "remainder" in label)

def train(steps, detached):
    cell, head = torch.nn.GRUCell(64, 64), torch.nn.Linear(64, 1)
    trainer.state = torch.zeros(64, 64)
    for _ in range(steps):
        state = trainer.state.detach() if detached else trainer.state
        trainer.state = cell(torch.ones(64, 64), state)
        loss = head(trainer.state).sum()

trainer = Trainer()
train(10, True)
before = remainder(cyclewatch.memory("cpu"))
watch = cyclewatch.watch(devices="cpu")
train(1500, sys.argv[1] == "detached")
for account in [cyclewatch.memory("cpu"), cyclewatch.memory("cpu")]:
    for note in account.notes:
        assert note in str(account) and html.escape(note) in account._repr_html_()
    assert json.loads(account.to_json())["notes"] == account.notes
    assert json.loads(watch.report().to_json())["memory"][-1]["notes"] == account.notes
    print(account.verdict, "".join(account.notes), remainder(account) - before >> 20, sep="|")
"""


def accounts_with(argument):
    command = [sys.executable, "-c", HELD_GRAPH, argument]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line.split("|") for line in done.stdout.splitlines()]


@shows_saved_tensors
def test_the_account_names_the_holder_of_a_graph_with_too_many_nodes():
    path = "module global __main__.trainer -> trainer.state"
    for verdict, note, growth in accounts_with("kept"):
        assert f"{path} holds an autograd graph too large to be examined" in verdict
        assert verdict.count("`trainer.state.detach()` instead of `trainer.state`") == 1
        assert note == (
            "Tensors saved by autograd were not examined: this process has had autograd graphs "
            f"with more than 10,000 nodes. Held by {path}."
        )
        assert int(growth) > 100


def test_the_advice_on_a_graph_with_too_many_nodes_avoids_the_remainder():
    for verdict, note, growth in accounts_with("detached"):
        assert "autograd graph" not in verdict + note
        assert int(growth) < 30


CHAIN = """
import gc
import torch, cyclewatch

class Trainer:
    def __init__(self):
        self.cell, self.state = torch.nn.GRUCell(64, 64), torch.zeros(256, 64)

trainer = Trainer()
for step in range(300):
    trainer.state = trainer.cell(torch.ones(256, 64), trainer.state)
    if step == COLLECTED:
        gc.collect()
print(cyclewatch.memory("cpu").verdict)
"""


@shows_saved_tensors
@pytest.mark.parametrize("collected", [-1, 150, 299])
def test_the_account_names_the_newest_holder_of_a_chain_of_steps(collected):
    """Whatever the ages of the tensors in the collector's lists."""
    command = [sys.executable, "-c", CHAIN.replace("COLLECTED", str(collected))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "held by module global __main__.trainer -> trainer.state.grad_fn; " in done.stdout
    assert "store `trainer.state.detach()` instead of `trainer.state`" in done.stdout, done.stderr
