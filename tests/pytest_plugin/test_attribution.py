# SPDX-License-Identifier: Apache-2.0
"""Attribution of cycles that become garbage only after the test that created them has ended."""

import pytest

INNOCENT = "\ndef test_innocent():\n    pass\n"


def test_garbage_of_the_import_is_not_attributed(check):
    result = check("leaky.Engine()\n" + INNOCENT, passed=1)
    result.stdout.fnmatch_lines(["cyclewatch: 0 cycles,*"])


def test_cycle_of_the_oldest_generation_is_found(check):
    source = """
def test_leak():
    engine = leaky.Engine()
    for generation in (0, 1, 2):
        gc.collect(generation)
"""
    check(source + INNOCENT, passed=1, failed=1)


LATE = """
CACHE = []

def test_fills():
    CACHE.append(leaky.Engine())

def test_empties():
    CACHE.clear()
"""


@pytest.mark.parametrize("options", [(), ("-n1",), ("--cyclewatch-freeze=off",)])
def test_cycle_that_another_test_releases_is_an_error_of_its_creator(check, options):
    apart = "-n1" in options
    result = check(LATE + INNOCENT, *options, apart=apart, passed=3, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_fills*",
            "Found after the test: created in its call, became garbage later.",
            "ERROR test_it.py::test_fills - Engine._handlers*",
        ]
    )


def test_equal_cycles_of_several_tests_are_one_finding(check):
    result = check(
        """
CACHE = []

@pytest.fixture(scope="module")
def engine():
    yield leaky.Engine()

def test_fills_too():
    CACHE.append(leaky.Engine())

def test_fills():
    CACHE.append(leaky.Engine())

def test_empties(engine):
    CACHE.clear()
""",
        passed=3,
        errors=3,
    )
    result.stdout.fnmatch_lines(
        [
            " 12.0 MiB in 3 cycles  Engine._handlers* and 2 more",
            "cyclewatch: 3 cycles (1 finding), 12.0 MiB, *",
        ]
    )


def test_cycle_of_a_module_fixture_is_an_error_of_its_teardown(run):
    result = run(
        "--cyclewatch",
        test_it="""
@pytest.fixture(scope="module")
def engine():
    return leaky.Engine()

def test_first(engine):
    pass

def test_last(engine):
    pass
""",
        test_zz=INNOCENT,
    )
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["ERROR test_it.py::test_last - Engine._handlers*"])


PINNED = "def test_wrong():\n    engine = leaky.Engine()\n    assert not engine\n" + INNOCENT


def test_cycle_that_an_exception_keeps_alive_is_not_reported(check):
    # pytester and the rerun plugin keep exceptions.
    result = check(PINNED, "-pno:rerunfailures", apart=True, passed=1, failed=1)
    result.stdout.fnmatch_lines(["cyclewatch: 0 cycles,*"])


def test_cleared_tracebacks_release_the_cycle(check):
    result = check(PINNED, "--cyclewatch-clear-tracebacks", passed=1, failed=1)
    result.stdout.fnmatch_lines(["*4.0 MiB  Engine._handlers*test_it.py::test_wrong"])


def test_cleared_tracebacks_include_causes_contexts_and_groups(check):
    check(
        """
ALIVE = []

def failing(error):
    buffer = leaky.Buffer(8)
    ALIVE.append(weakref.ref(buffer))
    try:
        raise error
    except ValueError:
        return error

def test_cause():
    first, second = failing(ValueError("cause")), failing(ValueError("context"))
    try:
        raise second
    except ValueError:
        raise KeyError from first

def test_group():
    raise ExceptionGroup("group", [failing(ValueError("member"))])

def test_all_are_gone():
    assert len(ALIVE) == 3
    assert [reference() for reference in ALIVE] == [None, None, None]
""",
        "--cyclewatch-clear-tracebacks",
        passed=1,
        failed=2,
    )


def test_unattributed_cycle_fails_the_run(check):
    # In this process pytester keeps the arguments of its hooks.
    result = check(
        """
engine = leaky.Engine()

def test_drops_what_the_import_created():
    global engine
    engine = None
""",
        apart=True,
        passed=1,
    )
    result.stdout.fnmatch_lines(["*4.0 MiB  Engine._handlers* no single test", "found after the*"])
    assert result.ret == 1
