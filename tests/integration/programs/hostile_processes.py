# SPDX-License-Identifier: Apache-2.0
"""Processes that fork, exit or are killed at inconvenient moments. PROGRAM SCENARIO.

Each process in which cycles were freed writes its own report to the current directory. Each
scenario prints a line "PID BYTES" for every expected report.
"""

import atexit
import gc
import logging
import multiprocessing
import operator
import os
import signal
import sys
import threading
import time
import warnings

from scenarios import Node, Owner, cycle

import cyclewatch

METHODS = ("fork", "forkserver", "spawn")
WATCHES = []
FORKED = []  # in a child


def start(read=None):
    cyclewatch.register_owner(Owner, read or answer)
    warnings.simplefilter("ignore")
    logging.getLogger("cyclewatch").setLevel(logging.CRITICAL)
    WATCHES.append(cyclewatch.warn_tensor_cycles(devices="cpu", formats=("json", "html"), budget=1))


def answer(owner):
    return {"device": "cpu", "nbytes": 8, "data_ptr": id(owner)}


def leak(times=1):
    for _ in range(times):
        cycle()
    gc.collect()


def expect(nbytes, pid=None):
    print(pid or os.getpid(), nbytes, flush=True)


def fork_once(then, done=[]):
    """Fork on the first call, and return in both processes. The child calls `then` at exit."""
    if not done:
        done.append(True)
        sys.stdout.flush()
        child = os.fork()
        done.append(child)
        if child == 0:
            atexit.register(then)
    return done


def leak_in_child():
    leak(2)
    expect(16)


def wait_for_child(done):
    if done[1] != 0:
        _, status = os.waitpid(done[1], 0)
        assert status == 0, status


def fork_in_finalizer():
    start()

    class Final:
        def __del__(self):
            fork_once(leak_in_child)

    final = Final()
    final.me = final
    final.owner = Owner()
    del final
    gc.collect()
    after_the_fork()


def after_the_fork():
    done = fork_once(None)
    wait_for_child(done)
    if done[1] != 0:
        leak()
        expect(16)


def fork_in_gc_callback(phase_wanted):
    def scenario():
        start()
        gc.callbacks.append(lambda phase, info: phase == phase_wanted and fork_once(leak_in_child))
        leak()
        after_the_fork()

    return scenario


def fork_in_reader():
    def read(owner):
        fork_once(leak_in_child)
        return answer(owner)

    start(read)
    leak()
    after_the_fork()


def fork_while_the_report_is_written():
    # Fork so often that the writer thread holds its locks during some of the forks.
    start(read_in_fork)
    for number in range(40):
        kind = type(f"Kind{number}", (), {})
        node = kind()
        node.me, node.owner = node, Owner()
        del kind, node
        gc.collect()
        if FORKED:
            gc.collect()
            os._exit(WATCHES[0].report().retained_bytes)
    expect(8 * 40)


def read_in_fork(owner):
    child = os.fork()
    if child == 0:
        # The child continues within the collection.
        FORKED.append(True)
        return None
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    return answer(owner)


def fork_while_another_thread_collects():
    # The fork could interrupt a reader written in Python, and the child could then never collect
    # again. This limitation of CPython also applies to finalizers.
    start(operator.attrgetter("answer"))
    stop = threading.Event()

    def work():
        while not stop.is_set():
            leak()

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            leak(3)
            report = WATCHES[0].report()
            # The child also inherits garbage that the thread has not collected yet.
            os._exit(0 if report.retained_bytes in (24, 32) else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
    stop.set()
    thread.join()


def work_in_worker(number):
    if not WATCHES:
        start()
    leak(number)
    return os.getpid(), 8 * number


def workers_of_multiprocessing(method):
    def scenario():
        if method == "fork":
            start()
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            answers = pool.map(work_in_worker, [1, 2, 3, 4], chunksize=1)
            pool.close()
            pool.join()
        retained = {}
        for pid, nbytes in answers:
            retained[pid] = retained.get(pid, 0) + nbytes
        for pid, nbytes in retained.items():
            expect(nbytes, pid)

    return scenario


class LeakingData:
    """A torch dataset that creates a cycle for every item."""

    def __len__(self):
        return 6

    def __getitem__(self, number):
        if not WATCHES:
            start()
        leak()
        return os.getpid()


def workers_of_a_data_loader(method):
    def scenario():
        from torch.utils.data import DataLoader

        if method == "fork":
            start()
        loader = DataLoader(
            LeakingData(), num_workers=2, batch_size=1, multiprocessing_context=method
        )
        retained = {}
        for batch in loader:
            retained[int(batch)] = retained.get(int(batch), 0) + 8
        for pid, nbytes in retained.items():
            expect(nbytes, pid)

    return scenario


def thread_asleep_in_a_reader():
    inside = threading.Event()

    def read(owner):
        inside.set()
        while True:
            time.sleep(0.001)

    start(read)
    threading.Thread(target=leak, daemon=True).start()
    inside.wait()


def thread_that_stops_watches():
    # Waits for the report file during finalization.
    start()
    leak()

    def work():
        while True:
            WATCHES[0].stop()
            WATCHES[0].report()
            start()
            leak()

    threading.Thread(target=work, daemon=True).start()
    time.sleep(0)


def leave_at_once():
    start()
    leak()
    os._exit(7)


def leave_in_a_callback():
    start()
    cyclewatch.observe_tensor_cycles(lambda report: sys.exit(7), devices="cpu")
    expect(8)
    leak()
    for _ in range(100):
        pass
    print("still here")


def leave_by_an_error():
    start()
    expect(8)
    leak()
    raise RuntimeError("the program's own")


def run_until_killed():
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(7))
    start()
    number = 0
    while True:
        number += 1
        kind = type(f"Kind{number % 50}", (), {})
        node = kind()
        node.me, node.owner = node, Owner()
        del kind, node
        gc.collect()
        if number % 100 == 0 and all(map(os.path.exists, WATCHES[0].report_paths)):
            print("written", flush=True)


class Kept(Node):
    """Stays alive until finalization."""

    def __del__(self):
        cycle()
        gc.collect()


def collect_during_finalization():
    start()
    leak()
    sys.kept = Kept()
    sys.kept.me = sys.kept
    threading.kept = cycle()
    expect(8)


def signal_for_sigtimedwait():
    """The program blocks a signal after the writer thread has started."""
    start()
    retained = 0
    before = len(os.listdir("/proc/self/task"))
    while len(os.listdir("/proc/self/task")) == before:  # until the writer thread runs
        leak()
        retained += 8
    expect(retained)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    os.kill(os.getpid(), signal.SIGUSR1)
    assert signal.sigtimedwait({signal.SIGUSR1}, 60).si_signo == signal.SIGUSR1


SCENARIOS = {
    "fork_in_gc_callback: start": fork_in_gc_callback("start"),
    "fork_in_gc_callback: stop": fork_in_gc_callback("stop"),
    **{f"multiprocessing: {method}": workers_of_multiprocessing(method) for method in METHODS},
    **{f"data loader: {method}": workers_of_a_data_loader(method) for method in METHODS},
}
for scenario in (
    *(fork_in_finalizer, fork_in_reader),
    *(fork_while_the_report_is_written, fork_while_another_thread_collects),
    *(thread_asleep_in_a_reader, thread_that_stops_watches),
    *(leave_at_once, leave_in_a_callback, leave_by_an_error),
    *(collect_during_finalization, signal_for_sigtimedwait, run_until_killed),
):
    SCENARIOS[scenario.__name__] = scenario

if __name__ == "__main__":
    gc.disable()
    gc.collect()
    SCENARIOS[sys.argv[1]]()
