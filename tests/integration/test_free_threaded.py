# SPDX-License-Identifier: Apache-2.0
"""Free-threaded builds: no watch, one sentence that says so, and the GIL stays off."""

import json

import pytest

PROGRAM = """
import gc, json, sys, sysconfig, threading

if not sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise SystemExit(77)

said = []

def work():
    import cyclewatch

    for number in range(200):
        loop = []
        loop.append(loop)
        if number % 50 == 0:
            gc.collect()
            try:
                cyclewatch.warn_tensor_cycles()
            except ImportError as error:
                said.append(str(error))

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps([sorted(set(said)), len(said), sys._is_gil_enabled()]))
"""


def test_watch_is_refused_in_one_sentence_and_the_gil_stays_off(interpreter):
    outcome = interpreter.run(PROGRAM, check=False)
    if outcome.returncode == 77:
        pytest.skip("this interpreter has a GIL")
    assert outcome.returncode == 0, outcome.stderr
    (sentence,), times, gil = json.loads(outcome.stdout)
    assert sentence.startswith("cyclewatch does not support free-threaded builds of CPython yet;")
    assert times == 8 * 4
    assert not gil
