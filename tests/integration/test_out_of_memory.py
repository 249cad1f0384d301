# SPDX-License-Identifier: Apache-2.0
"""A program under RLIMIT_AS that fills its memory, through a cycle or by holding tensors."""

import re
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "out_of_memory.py"
MIB = 1 << 20
ROW = re.compile(r"^ +([\d,]+)  ([^(\n]+?)(?: \(|$)", re.MULTILINE)


def run_out_of_memory(interpreter, folder, how, size=32):
    """The report, its numbers by description, and standard error."""
    outcome = interpreter.run(PROGRAM, how, str(size), check=False, cwd=folder)
    (path,) = folder.glob("cyclewatch-out_of_memory-*-oom.txt")
    text = path.read_text(encoding="utf-8")
    numbers = {words: int(count.replace(",", "")) for count, words in ROW.findall(text)}
    note = outcome.stderr.splitlines()[-1]
    assert "DefaultCPUAllocator" in outcome.stderr.splitlines()[-2]
    assert note == f"cyclewatch: {text.splitlines()[0]}; report: {path}"
    assert numbers["requested"] == size * MIB
    assert numbers["limit"] - numbers["requested"] < numbers["in use"] <= numbers["limit"]
    return text, numbers


# Small tensors leave no room for the examination.
@pytest.mark.parametrize("size", [1, 32])
@pytest.mark.usefixtures("torch_interpreter")
def test_cycle_is_named(main_interpreter, tmp_path, size):
    text, numbers = run_out_of_memory(main_interpreter, tmp_path, "leak", size)
    (cycles,) = re.findall(r"dead in ([\d,]+) cycles \(a collection frees them\)$", text, re.M)
    dead = numbers[f"dead in {cycles} cycles"]
    assert int(cycles.replace(",", "")) > 640 // size
    assert dead == int(cycles.replace(",", "")) * size * MIB
    assert (
        sum(numbers[each] for each in ("reachable from Python", "the rest")) + dead
        == (numbers["in use"])
    )
    assert "Engine.callbacks" in text


@pytest.mark.usefixtures("torch_interpreter")
def test_live_owner_is_named_without_a_cycle(main_interpreter, tmp_path):
    text, numbers = run_out_of_memory(main_interpreter, tmp_path, "hold")
    assert numbers["dead in 0 cycles"] == 0
    assert numbers["reachable from Python"] > 640 * MIB
    assert numbers["reachable from Python"] + numbers["the rest"] == numbers["in use"]
    first = text.partition("Largest reachable tensors:\n")[2].splitlines()[0]
    assert re.search(r"__main__\.History \[33554432\] uint8 \(\d+ x 32\.0 MiB\)$", first)
