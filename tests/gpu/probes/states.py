# SPDX-License-Identifier: Apache-2.0
"""What each query returns in each state of a process, and what it does to that state.

`states.py state_NAME cuda`. Each query runs in a fork of a process that has loaded the runtime and
has made no CUDA call, so that no query sees what another one has done.
"""

import ctypes
import json
import os
import select
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import support  # noqa: E402
from probes import cuda_api as cuda  # noqa: E402

SECONDS_PER_QUERY = 15
# Never the first CUDA calls of a process: cyclewatch asks these before anything else.
HARMLESS = ("cuCtxGetCurrent", "cuCtxGetDevice", "cuDevicePrimaryCtxGetState", "cuDeviceGetCount")


def in_fork(work, seconds=SECONDS_PER_QUERY):
    """Return what `work` returns in a forked child, or a sentence about how the child ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = work()
        except BaseException as error:  # the child must not return from this function
            answer = f"failed: {error}"
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    try:
        if not select.select([reading], [], [], seconds)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"no answer within {seconds} s"
        text = os.read(reading, 1 << 16)
    finally:
        os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(text) if text else f"the process ended with {status}"


def driver_state():
    """Return whether the driver is loaded, and whether device 0 has an active primary context."""
    if not cuda.loaded_libraries("libcuda.so"):
        return False, None
    error, active = cuda.primary_state(cuda.load_driver())
    return True, active and not error


def queries_of(runtime):
    """Return all queries; those of the driver only if it is loaded already."""
    buffer = ctypes.create_string_buffer(8)
    queries = cuda.runtime_queries(runtime, ctypes.addressof(buffer))
    if cuda.loaded_libraries("libcuda.so"):
        queries |= cuda.driver_queries(cuda.load_driver(), ctypes.addressof(buffer))
    return queries


def examine(runtime, name):
    """Ask one query, and describe its answer and its effects."""
    query = queries_of(runtime)[name]
    before = driver_state()
    begin = time.perf_counter()
    error, value = query()
    microseconds = 1e6 * (time.perf_counter() - begin)
    after = driver_state()
    parts = [f"error {error}" if error else "success"]
    if value is not None and not error:
        parts.append(f"answer {value}")
    if after[0] and not before[0]:
        parts.append("LOADS THE DRIVER")
    if after[1] and not before[1]:
        parts.append("CREATES A CONTEXT")
    if name.startswith("cuda") and name not in ("cudaRuntimeGetVersion", "cudaPeekAtLastError"):
        left = runtime.cudaPeekAtLastError()
        parts.append(f"leaves last error {left}" if left else "")
    return ", ".join(filter(None, [*parts, f"{microseconds:.0f} us"]))


def untouched(runtime):
    """No CUDA call before the query."""


def loaded(runtime):
    """The driver is loaded, but not initialized."""
    cuda.load_driver()


def initialized(runtime):
    """cuInit() was called; there is no context."""
    error = cuda.load_driver().cuInit(0)
    assert not error, f"cuInit() returned error {error}"


def context(runtime):
    """The primary context of device 0 is current."""
    cuda.load_driver()
    error = runtime.cudaFree(None)
    assert not error, f"cudaFree(0) returned error {error}"


def hidden(runtime):
    """CUDA_VISIBLE_DEVICES hides all devices; no CUDA call before the query."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""


STATES = {state.__name__: state for state in (untouched, loaded, initialized, context, hidden)}


def ask(runtime, state, name, forked):
    """Bring the process into `state`, then ask; with `forked`, in a child of that process."""
    STATES[state](runtime)
    if forked:
        return in_fork(lambda: examine(runtime, name), SECONDS_PER_QUERY / 3)
    return examine(runtime, name)


def names_of(state):
    """Return the names of the queries for a state."""
    names = list(cuda.runtime_queries(ctypes.CDLL(None), 0))
    if state not in ("untouched", "hidden"):
        names += cuda.driver_queries(ctypes.CDLL(None), 0)
    return names


def examine_state(state, forked=False):
    """Record every query in one state."""
    path = cuda.runtime_path()
    if path is None:
        raise support.MissingError("no CUDA runtime (libcudart) found")
    problem = support.device_problem()
    runtime = ctypes.CDLL(path)
    assert not cuda.loaded_libraries("libcuda.so"), "loading the runtime loaded the driver"
    support.record(runtime=Path(path).name)
    answers = {}
    # Without a device, only the states that need no driver can be reached.
    for name in names_of(state) if not problem or state in ("untouched", "hidden") else ():
        answers[name] = in_fork(lambda name=name: ask(runtime, state, name, forked))
        support.record(**{name: answers[name]})
    if problem:
        raise support.NoDeviceError(problem)
    broken = [name for name, answer in answers.items() if answer.startswith("failed")]
    assert not broken, answers[broken[0]]
    changed = [
        name
        for name, answer in answers.items()
        if name in HARMLESS and ("CREATES" in answer or "LOADS" in answer)
    ]
    assert not changed, changed
    if not forked:
        version = answers["cudaRuntimeGetVersion"]
        assert version.startswith("success") and "LOADS" not in version, version


CHECKS = {
    **{f"state_{state}": lambda device, state=state: examine_state(state) for state in STATES},
    "state_forked": lambda device: examine_state("context", forked=True),
}

if __name__ == "__main__":
    support.main(CHECKS, device_first=False)
