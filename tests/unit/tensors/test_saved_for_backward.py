# SPDX-License-Identifier: Apache-2.0
"""Memory that only C++ code referred to, such as tensors saved for backward, is freed with a cycle.

The counters of torch's allocator are simulated, because a test has no GPU.
"""

import gc
import json

import pytest
import torch

import cyclewatch

MIB = 1 << 20
OWNED = 64 * MIB


class Buffer:
    """Memory of a simulated device; torch's counter decreases when it is freed."""

    def __init__(self, counter, freed):
        self.counter = counter
        self.freed = freed

    def __del__(self):
        self.counter["current"] -= self.freed


@pytest.fixture
def counter(monkeypatch):
    cyclewatch.register_owner(
        Buffer, lambda buffer: {"device": "cuda:0", "nbytes": OWNED, "data_ptr": id(buffer)}
    )
    counter = {"current": 1 << 40}
    statistics = {0: {"allocated_bytes": {"all": counter}}}
    # Only a builtin function is called.
    monkeypatch.setattr(torch._C, "_cuda_memoryStats", statistics.__getitem__, raising=False)
    yield counter
    cyclewatch.unregister_owner(Buffer)


def loss():
    return (torch.ones(8, requires_grad=True).exp() * 2).sum()


def collect():
    with cyclewatch.watch(devices="all") as watch:
        gc.collect()
    report = watch.report()
    return report, json.loads(report.to_json())


@pytest.mark.parametrize(("further", "shown"), [(0, 0), (MIB // 2, 0), (300 * MIB, 299 * MIB)])
def test_what_no_tensor_explains_is_measured(in_cycle, counter, further, shown):
    in_cycle(loss=loss(), buffer=Buffer(counter, OWNED + further))
    report, document = collect()
    (finding,) = document["findings"]
    (record,) = document["collections"]
    # The allocator rounds the size of the block of `Buffer` up by at most 1 MiB.
    assert finding["unowned_bytes"] == shown
    memory = {each["device"]: each for each in record["device_memory"]}["cuda:0"]
    assert memory.get("unowned_bytes", 0) == shown
    sentence = "a further 299 MiB freed that no tensor explains, most likely saved for backward"
    text = " ".join(report.to_text().split())
    assert "at least 64.0 MiB" in text
    assert (sentence in text) == (shown > 0)


def test_cycle_without_a_graph_gets_no_share(in_cycle, counter):
    in_cycle(tensor=torch.ones(8), buffer=Buffer(counter, OWNED + 300 * MIB))
    report, document = collect()
    (finding,) = document["findings"]
    assert "unowned_bytes" not in finding
    assert "at least" not in report.to_text()


def test_memory_is_not_assigned_to_one_of_two_cycles(in_cycle, counter):
    in_cycle(loss=loss(), buffer=Buffer(counter, OWNED + 300 * MIB))
    other = [loss(), Buffer(counter, OWNED)]
    other.append(other)
    del other
    _, document = collect()
    assert [each["unowned_bytes"] for each in document["findings"]] == [0, 0]
    (record,) = document["collections"]
    memory = {each["device"]: each for each in record["device_memory"]}["cuda:0"]
    assert memory["unowned_bytes"] == 298 * MIB


def test_size_on_the_cpu_is_a_lower_bound(in_cycle):
    in_cycle(loss=loss())
    report, document = collect()
    assert document["findings"][0]["unowned_bytes"] == 0
    assert "at least" in report.to_text()
    assert "freed that no tensor explains" not in report.to_text()
