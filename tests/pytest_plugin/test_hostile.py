# SPDX-License-Identifier: Apache-2.0
"""Tests that change the collector, fork, or have hostile names."""

import pytest

LEAK = "def test_leak():\n    leaky.Engine()\n"


@pytest.mark.parametrize(
    "act",
    [
        "gc.disable()",
        "gc.set_debug(gc.DEBUG_SAVEALL)",
        "gc.set_debug(gc.DEBUG_STATS | gc.DEBUG_COLLECTABLE)",
        "gc.callbacks.clear()",
        "gc.freeze()",
        "gc.unfreeze()",
        "gc.set_threshold(0)",
        "gc.collect = None",
    ],
)
def test_cycle_is_found_although_the_test_changes_the_collector(check, act):
    # gc.freeze() freezes the existing cycle.
    source = f"""
def test_leak():
    engine = leaky.Engine()
    {act}

def test_leaks_too():
    leaky.Trainer()

def test_innocent():
    pass
"""
    result = check(source, apart=True, failed=2, passed=1)
    result.stdout.fnmatch_lines(
        ["FAILED *::test_leak - Engine*", "FAILED *::test_leaks_too - Tra*"]
    )
    if "callbacks" in act:
        result.stdout.fnmatch_lines(["test_it.py::test_leak: times the hook was removed from gc.*"])


@pytest.mark.parametrize("before", ["gc.disable()", "gc.set_debug(gc.DEBUG_SAVEALL)"])
def test_cycle_is_found_although_the_program_changed_the_collector(check, project, before):
    project.makeconftest(f"import gc\n{before}")
    check(LEAK, apart=True, failed=1)


@pytest.mark.parametrize("kind", ["buffers", "tensors"], indirect=True)
def test_fork(check, kind):
    # The tensors are small, because torch fills large ones with threads, which do not exist in a
    # forked child.
    check(
        """
def test_forks():
    leaky.Engine(1000)
    child = os.fork()
    if child == 0:
        leaky.Engine(1000)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
""",
        apart=True,
        failed=1,
    ).stdout.fnmatch_lines(["#1  1000 B in 1 *"])


def test_frozen_objects_of_the_program_stay_frozen(check, project):
    project.makeconftest("import gc\ngc.freeze()\nFROZEN = gc.get_freeze_count()")
    frozen = """
def test_frozen_as_before():
    import conftest
    assert 0 < gc.get_freeze_count() <= conftest.FROZEN
"""
    result = check(LEAK + frozen, apart=True, failed=1, passed=1)
    result.stdout.fnmatch_lines(["the program has frozen objects*"])


def test_heap_is_unfrozen_at_the_end(check, project):
    project.makeconftest(
        "import gc\ndef pytest_unconfigure():\n    print('frozen:', gc.get_freeze_count())"
    )
    source = "def test_frozen():\n    assert gc.get_freeze_count() > 0\n"
    check(source, apart=True, passed=1).stdout.fnmatch_lines(["frozen: 0"])


def test_name_of_a_class_does_nothing_to_the_terminal(check):
    result = check(
        """
def create():
    type("Evil\\x1b[2J\\nFAKE LINE", (leaky.Engine,), {})()

def test_cycle():
    create()

def test_assertion():
    with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
        create()
""",
        "--color=no",
        failed=2,
    )
    assert "\x1b" not in result.stdout.str()
    assert not any(line.startswith("FAKE LINE") for line in result.outlines)
