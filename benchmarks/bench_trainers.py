# SPDX-License-Identifier: Apache-2.0
"""Measures what the callbacks of trainers add to a step, in comparison with Watch.step().

Needs requirements-trainers.txt. Rounds with and without a call alternate. The trainers are
replaced by objects with the attributes that the callbacks read, because a step of a real trainer
takes a thousand times as long.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from types import SimpleNamespace

import cyclewatch
from cyclewatch.integrations.accelerate import CycleWatch
from cyclewatch.integrations.lightning import CycleWatchCallback as LightningCallback
from cyclewatch.integrations.lightning import FabricCallback
from cyclewatch.integrations.transformers import CycleWatchCallback as TransformersCallback

STEPS = 1_000  # in a round

Call = Callable[[int], object]


def nothing(_step: int) -> None:
    """The step without a callback."""


def microseconds(call: Call, first: int) -> float:
    """The mean duration of a call in one round."""
    began = time.perf_counter()
    for step in range(first, first + STEPS):
        call(step)
    return (time.perf_counter() - began) / STEPS * 1e6


class Trainer:
    """A trainer, and the state of one."""

    global_step = 0
    log_every_n_steps = 10**9
    loggers = callbacks = ()
    should_stop = False
    fit_loop = SimpleNamespace(epoch_loop=SimpleNamespace(_batches_that_stepped=0))


def calls(watch: cyclewatch.Watch) -> dict[str, Call]:
    """What each integration runs at the end of a step, with its trainer at that step."""
    trainer = Trainer()
    transformers, lightning = TransformersCallback(), LightningCallback()
    fabric, accelerate = FabricCallback(), CycleWatch(SimpleNamespace(), log_every=0)
    transformers.on_train_begin(None, trainer, None)
    lightning.setup(trainer, None, "fit")
    accelerate.__enter__()

    def with_trainer(call: Callable[[], object]) -> Call:
        def run(step: int) -> None:
            trainer.global_step = step
            call()

        return run

    return {
        "Watch.step()": watch.step,
        "transformers": with_trainer(lambda: transformers.on_step_end(None, trainer, None)),
        "Lightning": with_trainer(
            lambda: lightning.on_train_batch_end(trainer, None, None, None, 0)
        ),
        "Lightning Fabric": lambda _: fabric.on_after_optimizer_step(None, None),
        "Accelerate": accelerate.step,
    }


def main() -> None:
    """Print the median of each call, and what it takes in addition to Watch.step()."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=301)
    rounds = parser.parse_args().rounds
    with cyclewatch.watch(devices="cpu") as watch:
        measured = calls(watch)
        durations: dict[str, list[float]] = {name: [] for name in measured}
        for number in range(rounds):
            for name, call in measured.items():
                spent = microseconds(call, number * STEPS)
                durations[name].append(spent - microseconds(nothing, number * STEPS))
    step = statistics.median(durations["Watch.step()"])
    for name, each in durations.items():
        median = statistics.median(each)
        print(f"{name:16}  {median:5.2f} us  {median - step:+5.2f} us")


if __name__ == "__main__":
    main()
