# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a frozen heap, registered memory owners, and no automatic collections."""

import gc
import sysconfig

import pytest
from owners import Buffer

import cyclewatch


@pytest.fixture(autouse=True, scope="module")
def frozen_heap():
    """Freeze the heap, so that collections examine only the tests' objects.

    The heap is not frozen on free-threaded builds: they do not list frozen objects, so paths would
    omit these objects.
    """
    gc.collect()
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def buffers_are_owners():
    """Collect older garbage and register Buffer."""
    gc.collect()
    cyclewatch.register_owner(Buffer, lambda buffer: buffer.facts)
    yield
    cyclewatch.unregister_owner(Buffer)


@pytest.fixture
def no_automatic_collection():
    """Disable automatic collections, and collect before and after the test."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    frozen = gc.get_freeze_count()
    yield
    if gc.get_freeze_count() > frozen:
        gc.unfreeze()
    gc.collect()
    if enabled:
        gc.enable()
