# SPDX-License-Identifier: Apache-2.0
"""Runs either example by name.

Example: python examples/workloads.py --workload awaitable --iterations 20 --no-watch
"""

import awaitable
import simple
from workload import parse_arguments, run

STEPS = {"simple": simple.step, "awaitable": awaitable.step}

if __name__ == "__main__":
    arguments = parse_arguments(__doc__, STEPS)
    run(STEPS[arguments.workload], arguments)
