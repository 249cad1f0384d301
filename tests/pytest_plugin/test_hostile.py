# SPDX-License-Identifier: Apache-2.0
"""Tests that pull the ground from under the plugin: each has an outcome that is stated here.

Every run is a process of its own, since these change what belongs to the whole process.
"""

import pytest

KINDS = ("buffers", "tensors")

INNOCENT = """

def test_innocent():
    pass
"""


@pytest.fixture
def outcomes(project):
    """The outcomes of a test file under the plugin: by name of the test, and of the phase."""

    def run(source, *arguments, after=INNOCENT):
        project.makepyfile(test_it=source + after)
        return project.runpytest_subprocess(
            "--cyclewatch=fail", "-pno:cacheprovider", "-pno:hypothesispytest", *arguments
        )

    return run


@pytest.mark.parametrize(
    "act",
    [
        "gc.disable()",
        "gc.set_debug(gc.DEBUG_SAVEALL)",
        "gc.set_debug(gc.DEBUG_STATS | gc.DEBUG_COLLECTABLE)",
        "gc.callbacks.clear()",
        "gc.freeze()",
        "gc.unfreeze()",
        "gc.set_threshold(1)",
        "gc.set_threshold(0)",
        "gc.set_debug(gc.DEBUG_LEAK)",
        "gc.disable(); gc.freeze(); gc.unfreeze(); gc.enable()",
        "gc.collect = gc.get_objects = gc.freeze = gc.unfreeze = None",
    ],
)
def test_loop_is_found_whatever_the_test_did_to_the_collector(outcomes, act):
    # The loop is there before the act: gc.freeze() freezes it.
    result = outcomes(
        f"""
import gc
import loops

def test_leak():
    engine = loops.Engine()
    {act}

def test_leaks_too():
    loops.Trainer()
"""
    )
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(
        ["FAILED *::test_leak - Engine*", "FAILED *::test_leaks_too - Tra*"]
    )


def test_what_the_test_set_stays_set(outcomes):
    result = outcomes(
        """
import gc

def test_sets():
    gc.disable()
    gc.set_debug(gc.DEBUG_UNCOLLECTABLE)

def test_still_set():
    assert not gc.isenabled()
    assert gc.get_debug() == gc.DEBUG_UNCOLLECTABLE
"""
    )
    result.assert_outcomes(passed=3)


def test_what_saveall_kept_is_blamed_on_the_test_that_made_it(outcomes):
    # The test's own collection puts the loop into gc.garbage: it dies only where that is cleared.
    result = outcomes(
        """
import gc
import loops

def test_leak():
    gc.set_debug(gc.DEBUG_SAVEALL)
    loops.Engine()
    gc.collect()

def test_clears():
    gc.set_debug(0)
    gc.garbage.clear()
"""
    )
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["ERROR *::test_leak - Engine*"])


@pytest.mark.parametrize("before", ["gc.disable()", "gc.set_debug(gc.DEBUG_SAVEALL)"])
def test_loop_is_found_whatever_the_program_did_before_the_run(outcomes, project, before):
    project.makeconftest(f"import gc\n{before}")
    result = outcomes("import loops\ndef test_leak():\n    loops.Engine()")
    result.assert_outcomes(failed=1, passed=1)


def test_hook_that_was_taken_out_is_told(outcomes):
    result = outcomes(
        """
import gc

def test_clears():
    gc.callbacks.clear()
"""
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["test_it.py::test_clears: times the hook was taken out of gc.*(1)"]
    )


def test_test_that_collects_is_found_out(outcomes):
    result = outcomes(
        """
import gc
import loops

def test_collects():
    loops.Engine()
    assert gc.collect() > 0
"""
    )
    result.assert_outcomes(failed=1, passed=1)


# Small loops: torch fills a large tensor with threads, which a forked child does not have; it would
# wait for them for ever, with or without the plugin.
def test_child_that_leaves_does_no_harm(outcomes):
    result = outcomes(
        """
import os
import loops

def test_forks():
    loops.Engine(1000)
    child = os.fork()
    if child == 0:
        loops.Engine(1000)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["#1  1000 B in 1 loop *"])


def test_child_that_comes_back_into_pytest_says_nothing(outcomes, project):
    # The child leaves with 1 if its copy of the test has failed.
    project.makeconftest(
        """
import os

PARENT = os.getpid()

def pytest_runtest_makereport(call):
    if os.getpid() != PARENT:
        os._exit(call.excinfo is not None)
"""
    )
    result = outcomes(
        """
import os
import loops

def test_forks():
    child = os.fork()
    if child == 0:
        loops.Engine(1000)
    else:
        assert os.waitpid(child, 0)[1] == 0
"""
    )
    result.assert_outcomes(passed=2)


def test_loop_of_a_thread_that_outlives_its_test_counts_where_it_was_made(outcomes):
    result = outcomes(
        """
import threading
import loops

GO, MADE, END = threading.Event(), threading.Event(), threading.Event()
THREADS = []

def work():
    engine = loops.Engine()
    MADE.set()
    END.wait()

def test_starts_a_thread():
    THREADS.append(threading.Thread(target=work))
    THREADS[0].start()
    MADE.wait()

def test_ends_it():
    END.set()
    THREADS[0].join()
"""
    )
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["ERROR test_it.py::test_starts_a_thread - Engine*"])


def test_warnings_that_were_replaced_do_no_harm(outcomes):
    result = outcomes(
        """
import warnings
import loops

def test_replaces():
    loops.Engine()
    warnings.warn_explicit = warnings.showwarning = warnings.warn = None
""",
        "--cyclewatch=warn",
        "-pno:warnings",
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*4.0 MiB  Engine._handlers*::test_replaces"])


def test_program_that_froze_its_objects_is_left_alone(outcomes, project):
    project.makeconftest("import gc\ngc.freeze()\nFROZEN = gc.get_freeze_count()")
    result = outcomes(
        """
import gc
import loops

def test_leak():
    loops.Engine()

def test_frozen_as_before():
    import conftest
    assert 0 < gc.get_freeze_count() <= conftest.FROZEN
"""
    )
    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(["the program had frozen objects before*"])


def test_heap_is_thawed_at_the_end(outcomes, project):
    project.makeconftest(
        """
import gc

def pytest_unconfigure():
    print("frozen at the end:", gc.get_freeze_count())
"""
    )
    outcomes("").stdout.fnmatch_lines(["frozen at the end: 0"])


def test_freezing_can_be_switched_off(outcomes):
    result = outcomes(
        """
import gc
import loops

def test_leak():
    assert gc.get_freeze_count() == 0
    loops.Engine()
""",
        "--cyclewatch-freeze=off",
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["FAILED *::test_leak - Engine*"])


def test_interrupt_ends_the_run_as_ever(outcomes):
    result = outcomes("def test_interrupted():\n    raise KeyboardInterrupt")
    assert result.ret == pytest.ExitCode.INTERRUPTED


def test_name_of_a_class_does_nothing_to_the_terminal(outcomes):
    result = outcomes(
        """
import cyclewatch
import loops

def make_loop():
    evil = type("Evil\\x1b[2J\\nFAKE LINE", (loops.Engine,), {})
    evil()

def test_loop():
    make_loop()

def test_assertion():
    with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
        make_loop()
""",
        "--color=no",
    )
    result.assert_outcomes(passed=1, failed=2)
    assert "\x1b" not in result.stdout.str()
    assert not any(line.startswith("FAKE LINE") for line in result.outlines)
