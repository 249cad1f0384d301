# SPDX-License-Identifier: Apache-2.0
"""assert_no_tensor_cycles(), for any test framework."""

import gc
import unittest

import pytest
from owners import Buffer

import cyclewatch

pytestmark = pytest.mark.usefixtures("buffers_are_owners")


class Engine:
    """A reference cycle."""

    def __init__(self):
        self.buffer = Buffer()
        self.myself = self


def test_block_that_creates_a_cycle_raises_with_its_card():
    with (
        pytest.raises(cyclewatch.TensorCycleError) as caught,
        cyclewatch.assert_no_tensor_cycles(devices="cpu"),
    ):
        Engine()
    assert str(caught.value).startswith("Engine.myself -> Engine keeps 100 B\n\n#1  100 B in ")
    (finding,) = caught.value.findings
    assert finding.retained_bytes == 100
    assert isinstance(caught.value, AssertionError)


def test_older_garbage_does_not_count():
    Engine()
    with cyclewatch.assert_no_tensor_cycles(devices="cpu") as watch:
        Buffer()
    assert not watch.active


def test_exception_of_the_block_propagates():
    with pytest.raises(KeyError), cyclewatch.assert_no_tensor_cycles(devices="cpu"):
        Engine()
        raise KeyError


def test_small_cycles_do_not_count():
    with cyclewatch.assert_no_tensor_cycles(devices="cpu", min_bytes=101):
        Engine()


def test_collector_settings_of_the_block_are_kept():
    with (
        pytest.raises(cyclewatch.TensorCycleError),
        cyclewatch.assert_no_tensor_cycles(devices="cpu"),
    ):
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        hooks = gc.callbacks[:]
        gc.callbacks.clear()
        Engine()
    try:
        assert not gc.isenabled()
        assert gc.get_debug() == gc.DEBUG_SAVEALL
        assert gc.garbage == []
    finally:
        gc.set_debug(0)
        gc.enable()
        gc.callbacks[:] = [hook for hook in hooks if "cyclewatch" not in repr(hook)]


def test_unittest_reports_a_failure():
    class Case(unittest.TestCase):
        def test_leak(self):
            with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
                Engine()

    result = unittest.TestResult()
    Case("test_leak").run(result)
    assert (len(result.failures), len(result.errors)) == (1, 0)
