# SPDX-License-Identifier: Apache-2.0
"""Which test a cycle belongs to if it becomes garbage later than it was created."""

KINDS = ("buffers", "tensors")

INNOCENT = "\ndef test_innocent():\n    pass\n"


def test_garbage_from_before_belongs_to_no_test(check):
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


def test_cycle_that_another_test_releases_is_an_error_of_its_creator(check):
    result = check(LATE + INNOCENT, passed=3, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_fills*",
            "Found after the test: created in its call, became garbage later.",
            "ERROR test_it.py::test_fills - Engine._handlers*",
        ]
    )


def test_late_cycle_is_an_error_of_its_creator_under_xdist_too(check):
    result = check(LATE + INNOCENT, "-n1", apart=True, passed=3, errors=1)
    result.stdout.fnmatch_lines(
        ["ERROR test_it.py::test_fills - Engine._handlers*", "*3 passed, 1 error*"]
    )
    result.stdout.fnmatch_lines(
        ["*4.0 MiB  Engine._handlers*::test_fills", "cyclewatch: 1 cycle, *"]
    )


def test_without_freezing_the_creator_is_found_as_well(check):
    check(LATE + INNOCENT, "--cyclewatch-freeze=off", passed=3, errors=1)


def test_equal_cycles_of_several_tests_fail_each_and_are_counted_once(check):
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


def test_fixture_of_a_module_counts_for_the_teardown_that_ends_it(run):
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


def test_set_up_class_counts_for_the_teardown_that_ends_it(check):
    result = check(
        """
class First(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = leaky.Engine()

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
        passed=3,
        errors=1,
    )
    result.stdout.fnmatch_lines(["ERROR test_it.py::First::test_two - Engine._handlers*"])


def test_cycle_of_a_thread_counts_where_it_was_created(check):
    result = check(
        """
MADE, END = threading.Event(), threading.Event()
THREADS = []

def work():
    engine = leaky.Engine()
    MADE.set()
    END.wait()

def test_starts_a_thread():
    THREADS.append(threading.Thread(target=work))
    THREADS[0].start()
    MADE.wait()

def test_ends_it():
    END.set()
    THREADS[0].join()
""",
        apart=True,
        passed=2,
        errors=1,
    )
    result.stdout.fnmatch_lines(["ERROR test_it.py::test_starts_a_thread - Engine*"])


PINNED = "def test_wrong():\n    engine = leaky.Engine()\n    assert not engine\n" + INNOCENT


def test_what_an_exception_keeps_alive_is_not_checked(check):
    # In another process, and without reruns: pytester and that plugin keep the exception.
    result = check(PINNED, "-pno:rerunfailures", apart=True, passed=1, failed=1)
    result.stdout.fnmatch_lines(["cyclewatch: 0 cycles,*"])


def test_cleared_tracebacks_free_it_and_list_it(check):
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


def test_cycle_of_no_test_fails_the_run(check):
    # In another process: in this one pytester keeps what its hooks were given.
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
