# SPDX-License-Identifier: Apache-2.0
"""Measures a watch's overhead on a program that does nothing but create tensor-free garbage."""

from __future__ import annotations

import importlib

from measure import Figure, in_child, main, paired_ratios, seconds_of
from workloads import garbage_cycle

import cyclewatch


def child(imported: str, iterations: int, rounds: int) -> dict[str, float | list[float]]:
    if imported:
        importlib.import_module(imported)
    nanoseconds: list[float] = []

    def on() -> float:
        with cyclewatch.watch() as watch:
            elapsed = seconds_of(lambda: garbage_cycle(iterations))
            stats = watch.stats
        nanoseconds.append(stats.seconds * 1e9 / stats.unreachable)
        return elapsed

    def off() -> float:
        return seconds_of(lambda: garbage_cycle(iterations))

    return {"ratios": paired_ratios(on, off, rounds), "nanoseconds": nanoseconds[1:]}


def measure(quick: bool) -> list[Figure]:
    figures = []
    for imported, goal in (("", 1.06), ("torch", 1.15)):
        answer = in_child(
            __file__,
            imported=imported,
            iterations=5_000 if quick else 50_000,
            rounds=5 if quick else 101,
        )
        state = f"{imported} imported" if imported else "no owner library imported"
        ratios, nanoseconds = answer["ratios"], answer["nanoseconds"]
        assert isinstance(ratios, list) and isinstance(nanoseconds, list)
        figures += [
            Figure(f"garbage cycle, {state}: with / without", "ratio", ratios, goal),
            Figure(f"garbage cycle, {state}: per unreachable object", "ns", nanoseconds),
        ]
    return figures


if __name__ == "__main__":
    main(measure, child)
