# SPDX-License-Identifier: Apache-2.0
"""Whose a loop is, when it becomes garbage at another time than it was made."""

KINDS = ("buffers", "tensors")


def test_garbage_from_before_is_nobodys(run):
    result = run(
        "--cyclewatch",
        test_it="""
import loops

loops.Engine()  # while the module is imported

def test_innocent():
    pass
""",
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["cyclewatch: 0 loops,*"])


def test_loop_that_grew_old_during_its_test_is_found(run):
    result = run(
        "--cyclewatch",
        test_it="""
import gc
import loops

def test_leak():
    engine = loops.Engine()
    for generation in (0, 1, 2):
        gc.collect(generation)

def test_innocent():
    pass
""",
    )
    result.assert_outcomes(passed=1, failed=1)


def test_loop_that_another_test_lets_go_is_blamed_on_its_maker(run):
    result = run(
        "--cyclewatch",
        test_it="""
import loops

CACHE = []

def test_fills():
    CACHE.append(loops.Engine())

def test_empties():
    CACHE.clear()

def test_innocent():
    pass
""",
    )
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_fills*",
            "Found after the test: made in its call, garbage later.",
            "ERROR test_it.py::test_fills - Engine._handlers*",
        ]
    )


def test_equal_loops_of_several_tests_are_counted_once(run):
    result = run(
        "--cyclewatch",
        test_it="""
import loops, pytest

CACHE = []

@pytest.fixture(scope="module")
def engine():
    yield loops.Engine()

def test_fills_too():
    CACHE.append(loops.Engine())

def test_fills():
    CACHE.append(loops.Engine())

def test_empties(engine):
    CACHE.clear()
""",
    )
    result.assert_outcomes(passed=3, errors=3)
    result.stdout.fnmatch_lines(
        [
            " 12.0 MiB in 3 loops  Engine._handlers* and 2 more",
            "cyclewatch: 3 loops (1 finding), 12.0 MiB, *",
        ]
    )


def test_fixture_of_a_module_counts_for_the_teardown_that_ends_it(run):
    result = run(
        "--cyclewatch",
        test_it="""
import loops
import pytest

@pytest.fixture(scope="module")
def engine():
    return loops.Engine()

def test_first(engine):
    pass

def test_last(engine):
    pass
""",
        test_zz="def test_innocent(): pass",
    )
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["ERROR test_it.py::test_last - Engine._handlers*"])


def test_set_up_class_counts_for_the_teardown_that_ends_it(run):
    result = run(
        "--cyclewatch",
        test_it="""
import loops
import unittest

class First(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = loops.Engine()

    @classmethod
    def tearDownClass(cls):
        del cls.engine

    def test_one(self):
        pass

    def test_two(self):
        pass

class Second(unittest.TestCase):
    def test_innocent(self):
        pass
""",
    )
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["ERROR test_it.py::First::test_two - Engine._handlers*"])


PINNED = """
import loops

def test_wrong():
    engine = loops.Engine()
    assert not engine

def test_innocent():
    pass
"""


def test_what_an_exception_keeps_is_not_held_against_anyone(project):
    project.makepyfile(test_it=PINNED)
    # In a process of its own, and without reruns: pytester and that plugin keep the exception.
    result = project.runpytest_subprocess("--cyclewatch", "-pno:rerunfailures")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["cyclewatch: 0 loops,*"])


def test_cleared_tracebacks_free_it_and_tell_it(run):
    result = run("--cyclewatch", "--cyclewatch-clear-tracebacks", test_it=PINNED)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*4.0 MiB  Engine._handlers*test_it.py::test_wrong"])


def test_cleared_tracebacks_free_causes_contexts_and_groups(run):
    result = run(
        "--cyclewatch",
        "--cyclewatch-clear-tracebacks",
        test_it="""
import weakref
import loops

ALIVE = []

def holding(error):
    buffer = loops.Buffer(8)
    ALIVE.append(weakref.ref(buffer))
    raise error

def failing(*errors):
    for error in errors:
        try:
            holding(error)
        except ValueError:
            pass

def test_cause():
    first, second = ValueError("cause"), ValueError("context")
    failing(first, second)
    try:
        raise second
    except ValueError:
        raise KeyError from first

def test_group():
    member = ValueError("member")
    failing(member)
    raise ExceptionGroup("group", [member])

def test_all_are_gone():
    assert len(ALIVE) == 3
    assert [reference() for reference in ALIVE] == [None, None, None]
""",
    )
    result.assert_outcomes(passed=1, failed=2)


def test_loop_of_no_test_fails_the_run(project):
    project.makepyfile(
        test_it="""
import loops

engine = loops.Engine()

def test_drops_what_the_import_made():
    global engine
    engine = None
"""
    )
    # In a process of its own: in this one pytester keeps what its hooks were given.
    result = project.runpytest_subprocess("--cyclewatch")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*4.0 MiB  Engine._handlers* no single test", "found after the*"])
    assert result.ret == 1
