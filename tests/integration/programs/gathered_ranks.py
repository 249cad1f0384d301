# SPDX-License-Identifier: Apache-2.0
"""Ranks of a job; test_distributed.py runs it with torchrun and CYCLEWATCH=1.

Usage: gathered_ranks.py late|warn|restart|store_gone
"""

import gc
import os
import sys

import torch
import torch.distributed as dist

import cyclewatch

RANK = int(os.environ["RANK"])


class Engine:
    """Refers to itself through a bound method, and has a tensor of (rank + 1) KiB."""

    def __init__(self):
        self.data = torch.zeros((RANK + 1) * 256)
        self.hook = self.run

    def run(self):
        pass


def job_store():
    return dist.distributed_c10d._get_default_store()


def late():
    """Rank 1 is stuck while rank 0 gathers, and ends after rank 0 has reached its end."""
    if RANK == 1:
        job_store().wait(["leaving"])
        return
    if RANK != 0:
        cyclewatch.distributed.publish()
        job_store().set(f"published {RANK}", "")
        return
    job_store().wait(["published 2", "published 3"])
    report = cyclewatch.distributed.gather(timeout=0.1)
    print("missing:", report.missing_ranks, "processes:", len(report.processes))
    job_store().set("leaving", "")


def warn():
    """Ends normally; the watch is one that the program has started."""


def is_first_attempt():
    return os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"


def restart():
    """In the first attempt rank 1 publishes and fails; in the second it dies without a word."""
    if RANK == 0:
        job_store().set("leaving", "")
        if is_first_attempt():
            job_store().wait(["never"])
        return
    job_store().wait(["leaving"])
    if is_first_attempt():
        cyclewatch.distributed.publish()
        raise SystemExit(3)
    os._exit(0)


def store_gone():
    """Rank 0, which hosts the store, dies; then rank 1 ends."""
    if RANK == 0:
        sys.stdin.read(1)
        os._exit(0)
    sys.stdin.read(1)


def main():
    if sys.argv[1] == "warn":
        folder = os.environ["CYCLEWATCH_OUTPUT"]
        cyclewatch.warn_tensor_cycles(devices="cpu", report_dir=folder, gather=120)
    backend = "gloo"
    if sys.argv[1] == "restart" and is_first_attempt():
        # The store outlives the attempt. With addresses of gloo in it, the ranks of the next
        # attempt may try to connect to those of the first.
        import torch.testing._internal.distributed.fake_pg  # noqa: F401 - registers the backend

        backend = "fake"
    dist.init_process_group(backend)
    dist.barrier()  # gloo connects the ranks when they first communicate
    Engine()
    gc.collect()
    print("ready", flush=True)
    globals()[sys.argv[1]]()


main()
