# SPDX-License-Identifier: Apache-2.0
"""Compares the estimated cost of collections at different steps with runs of four gloo ranks.

Each step ends with a barrier. In half of the runs, every rank collects at steps of its own; in the
other half, all ranks collect at the same steps (``collect_at``). The gain is the difference of the
durations of a step. The estimate comes from the merged report of the first kind of run only.

If the machine has fewer processors than ranks, aligned collections would compete for them, which
the estimate does not cover. A collection then waits in a finalizer, as one that frees device memory
waits for the device; otherwise, it walks a large heap.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANKS = 4
EVERY = 20  # steps between two collections of a rank


class Waiting:
    """The finalizer takes as long as freeing device memory."""

    def __init__(self, seconds):
        self.seconds, self.me = seconds, self

    def __del__(self):
        time.sleep(self.seconds)


def run_rank(mode, arguments):
    """One rank: steps of equal duration, with a barrier at the end of each."""

    import torch.distributed as distributed

    import cyclewatch

    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    generation = 0 if arguments.waits else 2
    heap = [] if arguments.waits else [[] for _ in range(arguments.objects)]
    with cyclewatch.watch(devices="cpu") as watch:
        collector = cyclewatch.collect_at(every=EVERY, generation=generation)
        distributed.barrier()
        for step in range(EVERY, EVERY + arguments.steps + 1):
            # Unaligned ranks collect as if their step numbers were shifted.
            is_due = (step + (mode == "unaligned") * rank * EVERY // RANKS) % EVERY == 0
            watch.step(step)
            if is_due and arguments.waits:
                Waiting(arguments.pause)
            if mode == "aligned":
                collector.run(step)
            elif is_due:
                collector.collect("unaligned", generation)
            time.sleep(arguments.step)  # the model's part of the step
            distributed.barrier()
        collector.close()
        watch.report().save(f"{mode}-{rank}.json")
    del heap
    distributed.destroy_process_group()


def run_job(mode, arguments, folder):
    """Run all ranks, and return the merged report."""
    import cyclewatch

    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={RANKS}", __file__, "--mode", mode]
    command += ["--waits"] * arguments.waits
    for name in ("steps", "step", "pause", "objects"):
        command += [f"--{name}", str(getattr(arguments, name))]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    reports = (cyclewatch.Report.load(Path(folder) / f"{mode}-{r}.json") for r in range(RANKS))
    return cyclewatch.Report.merge(list(reports))


def parse():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=["unaligned", "aligned"], help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--step", type=float, default=0.03, help="seconds without collections")
    parser.add_argument("--pause", type=float, default=0.2, help="seconds a collection waits")
    parser.add_argument("--objects", type=int, default=2_000_000, help="in the heap of a rank")
    parser.add_argument("--waits", action="store_true", default=(os.cpu_count() or 1) < RANKS)
    return parser.parse_args()


def main():
    """Print the estimated and the measured gain of each round, and their medians."""
    arguments = parse()
    if arguments.mode:
        run_rank(arguments.mode, arguments)
        return
    rounds = []
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            unaligned, aligned = (
                run_job(mode, arguments, folder).alignment for mode in ("unaligned", "aligned")
            )
        row = {
            "estimated": unaligned["cost"] - unaligned["aligned"],
            "measured": unaligned["step"] - aligned["step"],
            "step": unaligned["step"],
        }
        rounds.append(row)
        print(json.dumps({name: round(value * 1e3, 2) for name, value in row.items()}), flush=True)
    median = {name: statistics.median(row[name] for row in rounds) for name in rounds[0]}
    error = median["estimated"] / median["measured"] - 1
    print(
        f"medians of {len(rounds)} rounds: estimated gain {median['estimated'] * 1e3:.1f} ms of a "
        f"{median['step'] * 1e3:.1f} ms step, measured {median['measured'] * 1e3:.1f} ms: "
        f"{error:+.1%}; collections {'wait' if arguments.waits else 'walk the heap'}"
    )


if __name__ == "__main__":
    main()
