# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that a watch adds to programs whose garbage owns no memory.

Each program creates one kind of garbage and runs under callgrind, with and without a watch. Unlike
times, instruction counts are reproducible on a busy machine. Each program runs with two amounts of
garbage; the difference between the counts excludes the startup of the interpreter and the watch.
"""

from __future__ import annotations

import functools
import gc
import shutil
import statistics
from collections.abc import Callable, Sequence

from measure import Figure, instructions_in_child, main
from workloads import Block, Instance, garbage_cycle, read_block

import cyclewatch


class Settings:
    """A long-lived object that garbage refers to."""

    __slots__ = ("__weakref__", "name", "values")

    def __init__(self, name: str) -> None:
        self.name = name
        self.values = [name]


LONG_LIVED = [Settings(f"settings {number}") for number in range(5)]


def containers(iterations: int) -> None:
    """Cycles that contain lists, tuples, dicts, sets and strings."""
    for number in range(iterations):
        first, second = Instance(), Instance()
        first.other = second
        second.other = first
        first.payload = [number, (first, "name"), {"key": (number, second)}]
        second.payload = {"list": [first, None, 1.5], "text": str(number), "set": {number}}


def long_lived(iterations: int) -> None:
    """Cycles that refer to objects in the oldest generation."""
    for number in range(iterations):
        first, second = Instance(), Instance()
        first.other = second
        second.other = first
        first.payload = LONG_LIVED[number % 5]
        second.payload = (LONG_LIVED[(number + 1) % 5], LONG_LIVED[(number + 2) % 5], LONG_LIVED)


def exceptions(iterations: int) -> None:
    """Exceptions that refer to themselves."""
    for number in range(iterations):
        error = ValueError("invalid", number)
        error.__context__ = RuntimeError(error)


def keep_exception(number: int) -> None:
    try:
        raise ValueError(number)
    except ValueError as error:
        kept = error  # noqa: F841  (the frame refers to the exception)


def exceptions_in_frames(iterations: int) -> None:
    """Exceptions, each stored in a variable of a frame in its own traceback."""
    for number in range(iterations):
        keep_exception(number)


PROGRAMS: dict[str, tuple[str, Callable[[int], None]]] = {
    "pairs": ("two-object cycles", garbage_cycle),
    "containers": ("cycles with containers", containers),
    "long-lived": ("cycles that refer to long-lived objects", long_lived),
    "exceptions": ("exceptions that refer to themselves", exceptions),
    "frames": ("exceptions in frames", exceptions_in_frames),
}


def child(program: str, iterations: int, watched: bool) -> dict[str, float | list[float]]:
    cyclewatch.register_owner(Block, read_block)
    gc.collect()
    work = PROGRAMS[program][1]
    if not watched:
        work(iterations)
        return {"unreachable": 0}
    with cyclewatch.watch(budget=1.0) as watch:
        work(iterations)
        return {"unreachable": watch.stats.unreachable}


def count(
    program: str, iterations: int, watched: bool, parts: Sequence[str] = ()
) -> tuple[int, int]:
    """Return the number of executed instructions and the number of unreachable objects.

    The second number is 0 without a watch.

    Args:
        program: A key of PROGRAMS.
        iterations: The number of cycles that the program creates.
        watched: Whether a watch is active.
        parts: Function-name patterns; only matching functions and their callees are measured.
    """
    instructions, answer = instructions_in_child(
        __file__, parts, program=program, iterations=iterations, watched=watched
    )
    return instructions, answer["unreachable"]


def compare(program: str, small: int, large: int) -> tuple[float, float]:
    """Return the ratio of instruction counts, and the added instructions per unreachable object."""
    counts = functools.partial(count, program)
    on = [counts(iterations, watched=True) for iterations in (small, large)]
    off = [counts(iterations, watched=False)[0] for iterations in (small, large)]
    with_it, without = on[1][0] - on[0][0], off[1] - off[0]
    return with_it / without, (with_it - without) / (on[1][1] - on[0][1])


def measure(quick: bool) -> list[Figure]:
    if shutil.which("valgrind") is None:
        print("The instructions are not counted: valgrind is not installed.")
        return []
    small, large = (1_000, 2_000) if quick else (5_000, 25_000)
    figures = []
    extra = []
    for program, (title, _) in list(PROGRAMS.items())[: 1 if quick else None]:
        ratio, instructions = compare(program, small, large)
        extra.append(instructions)
        figures += [
            Figure(f"{title}: with / without", "ratio", [ratio], 1.10),
            Figure(f"{title}: per unreachable object", "instructions", [instructions]),
        ]
    median = [statistics.median(extra)]
    return [*figures, Figure("median of the programs", "instructions", median, 90)]


if __name__ == "__main__":
    main(measure, child)
