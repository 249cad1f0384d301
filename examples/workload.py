# SPDX-License-Identifier: Apache-2.0
"""Code shared by the examples: the command line, and a loop that runs a leaking step."""

import argparse
import gc
import logging
import sys
import warnings

import torch

import cyclewatch


def parse_arguments(description):
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--iterations", type=int, default=20, help="cycles to create (default: 20)")
    parser.add_argument(
        "--size", type=int, default=1024, help="tensors are SIZE x SIZE float32 (default: 1024)"
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="auto: the GPU if there is one (default)",
    )
    parser.add_argument(
        "--watch",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="warn about tensor cycles and write a report (default: yes)",
    )
    parser.add_argument("--report-dir", help="directory of the report (default: the current one)")
    return parser.parse_args()


def run(step, arguments):
    """Call `step` in a loop, with a watch if requested, and collect at the end."""
    device = arguments.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"

    def make_tensor():
        return torch.ones(arguments.size, arguments.size, device=device)

    watch = None
    if arguments.watch:
        # Print the card to standard output. Hide the warning, which repeats the line above it.
        logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
        warnings.simplefilter("ignore", cyclewatch.TensorCycleWarning)
        watch = cyclewatch.warn_tensor_cycles(devices=(device,), report_dir=arguments.report_dir)
    for _ in range(arguments.iterations):
        step(make_tensor)
    gc.collect()
    if watch is not None:
        watch.stop()
