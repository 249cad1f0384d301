# SPDX-License-Identifier: Apache-2.0
"""One rank of a job with torch's debug server, which prints its address and waits for a line.

Arguments: whether to watch ("watch", "values", "none").
"""

import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.distributed.debug as debug

import cyclewatch


class Layer:
    """A tensor in a cycle."""

    def __init__(self):
        self.data, self.me = torch.zeros(1024), self


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main(mode):
    import gc

    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(store.port))
    os.environ.update(RANK="0", WORLD_SIZE="1")
    if mode != "none":
        cyclewatch.watch(devices="cpu", capture_values=mode == "values")
        Layer()
        gc.collect()
    port = free_port()
    handlers = [cyclewatch.distributed.debug_handler()]
    debug.start_debug_server(port=port, handlers=handlers, start_method="spawn")
    print(port, debug._WORKER_SERVER.port, flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(sys.argv[1])
