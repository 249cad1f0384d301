# SPDX-License-Identifier: Apache-2.0
"""Registers an owner that claims more memory than it has: contradicted_owner.py DRIVER RUNTIME."""

import ctypes
import gc
import sys

from simulated_cuda_program import Library, Owner, stage

import cyclewatch


def main(driver_path, runtime_path):
    driver, runtime = Library(driver_path), Library(runtime_path)
    stage("none", driver, runtime)
    allocate = driver.calls.cyclewatch_simulated_allocate
    allocate.restype = ctypes.c_void_p
    allocate.argtypes = [ctypes.c_size_t, ctypes.c_int, ctypes.c_bool]
    memory = allocate(1 << 16, 2, False)
    claim = {"device": "cuda:0", "nbytes": 1 << 16, "data_ptr": memory}
    cyclewatch.register_owner(Owner, lambda owner: dict(claim))
    with cyclewatch.watch(budget=1) as watch:
        Owner()
        gc.collect()
    assert watch.report().retained_bytes == 1 << 16

    claim["nbytes"] = 1 << 32
    cyclewatch.unregister_owner(Owner)

    class Exaggerating(Owner):
        pass

    cyclewatch.register_owner(Exaggerating, lambda owner: dict(claim))
    with cyclewatch.watch(budget=1) as watch:
        for _ in range(3):
            Exaggerating()
        gc.collect()
    report = watch.report()
    assert report.findings == [] and report.retained_bytes == 0, report
    [(reason, count)] = report.stats.skipped.items()
    print(reason)
    print(count)
    print(report.notes)


if __name__ == "__main__":
    main(*sys.argv[1:])
