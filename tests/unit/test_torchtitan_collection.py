# SPDX-License-Identifier: Apache-2.0
"""The replacement of torchtitan's GarbageCollection, which needs neither torchtitan nor torch."""

import gc
import inspect
import sysconfig
import warnings

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch.integrations.torchtitan import GarbageCollection


@pytest.fixture(autouse=True)
def automatic_collection_is_restored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    gc.enable()


def test_signatures_are_those_of_torchtitan():
    assert str(inspect.signature(GarbageCollection)).startswith(
        "(gc_freq: 'int' = 1000, debug: 'bool' = False)"
    )
    assert list(inspect.signature(GarbageCollection.run).parameters) == ["self", "step_count"]
    collect = inspect.signature(GarbageCollection.collect)
    assert list(collect.parameters) == ["reason", "generation"]
    assert collect.parameters["generation"].default == 1


def leak():
    cycle = [Buffer()]
    cycle.append(cycle)


@pytest.mark.parametrize(("debug", "expected"), [(False, [3, 6]), (True, [1, 2, 3, 4, 5, 6])])
def test_collects_at_the_steps_of_torchtitan(buffers_are_owners, debug, expected):
    handler = GarbageCollection(gc_freq=3, debug=debug)
    assert not gc.isenabled()
    assert [step for step in range(1, 7) if handler.run(step)] == expected
    handler.close()
    assert gc.isenabled()


@pytest.mark.skipif(
    sysconfig.get_config_var("Py_GIL_DISABLED") == 1,
    reason="scans of free-threaded builds examine all objects, which exceeds the budget of a step",
)
def test_warns_in_the_step_that_leaks(buffers_are_owners):
    handler = GarbageCollection(gc_freq=100)
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        for step in range(1, 5):
            if step == 3:
                leak()
            handler.run(step)
            assert cyclewatch.metrics()["cyclewatch/findings"] == (step >= 3)
    assert [each.category for each in issued] == [cyclewatch.TensorCycleWarning]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        handler.close()
    assert cyclewatch.metrics() == {}


@pytest.mark.parametrize(("argument", "error"), [(0, ValueError), (1.5, TypeError)])
def test_invalid_arguments_change_nothing(argument, error):
    with pytest.raises(error, match="gc_freq must be an integer from 1"):
        GarbageCollection(gc_freq=argument)
    assert gc.isenabled()
    assert cyclewatch.metrics() == {}
