# SPDX-License-Identifier: Apache-2.0
"""The fixture tensors_released and --cyclewatch-live."""

import types

import pytest

from cyclewatch.pytest_plugin.live_check import add_fixture

KEEPS = """
kept = []

def test_keeps(tensors_released):
    kept.append(leaky.Buffer(4096))

def test_releases(tensors_released):
    leaky.Buffer(4096)
    leaky.Engine()
"""


def test_fixture_names_the_holder(run):
    result = run(test_it=KEEPS)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_keeps*",
            "the test left 4.0 KiB of tensors reachable (* before, * after it)",
            "*4.0 KiB  leaky.Buffer on cpu",
            "*held by module global test_it.kept -> kept[[]0]",
        ]
    )


def test_option_adds_the_fixture_to_every_test(run):
    source = KEEPS.replace("tensors_released", "") + (
        "class TestCase(unittest.TestCase):\n"
        "    def test_method(self):\n"
        "        kept.append(leaky.Buffer(100))\n"
    )
    run("--cyclewatch-live", test_it=source).assert_outcomes(passed=3, errors=2)
    run(test_it=source).assert_outcomes(passed=3)


def test_option_works_without_private_attributes_of_pytest():
    item = types.SimpleNamespace(fixturenames=["shared", "mine"])
    add_fixture(item)
    assert item.fixturenames == ["shared", "mine", "tensors_released"]
    without_fixtures = types.SimpleNamespace()
    add_fixture(without_fixtures)
    assert vars(without_fixtures) == {}


def test_memory_that_was_reachable_before_is_ignored(run):
    source = """
kept = [leaky.Buffer(4096)]

@pytest.fixture(scope="module")
def shared():
    return leaky.Buffer(1)

@pytest.fixture
def mine():
    return leaky.Buffer(2)

def test_replaces(shared, tensors_released, mine):
    kept[0] = leaky.Buffer(4095)
"""
    run(test_it=source).assert_outcomes(passed=1)


# One test that uses fixtures of every kind; pytest frees their memory after the check.
FRAMEWORK = """
@pytest.fixture(scope="module")
def model():
    model = leaky.Buffer(5000)
    yield model

@pytest.fixture(scope="session")
def late():
    return leaky.Buffer(6000)

@pytest.fixture
def batch():
    yield []

def test_first(model, batch):
    batch.append(leaky.Buffer(7000))

def test_second(model, request):
    request.getfixturevalue("late")

class TestClass:
    def test_method(self, model):
        self.model = leaky.Buffer(8000)

class TestCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = leaky.Buffer(9000)

    def setUp(self):
        self.mine = leaky.Buffer(10000)

    def test_method(self):
        self.other = leaky.Buffer(11000)
"""


def test_memory_that_pytest_drops_later_is_ignored(run):
    run("--cyclewatch-live", test_it=FRAMEWORK).assert_outcomes(passed=4)


LEAKS = """
kept = []

@pytest.fixture(scope="module")
def cache():
    return []

def test_cache(cache, tensors_released):
    cache.append(leaky.Buffer(5000))

class TestCase(unittest.TestCase):
    def test_method(self):
        self.buffer = leaky.Buffer(6000)
        kept.append(self)
        kept.append(self.buffer)
"""


def test_memory_that_a_shared_fixture_keeps_is_named(run):
    result = run("--cyclewatch-live", test_it=LEAKS)
    result.assert_outcomes(passed=2, errors=2)
    result.stdout.fnmatch_lines(
        ["*4.9 KiB  leaky.Buffer on cpu", "*held by fixture cache -> cache[[]0]"]
    )
    result.stdout.no_fnmatch_line("*held by FixtureDef.*")
    result.stdout.fnmatch_lines(
        ["*5.9 KiB  leaky.Buffer on cpu", "*held by module global test_it.kept -> kept[[]1]"]
    )


@pytest.mark.parametrize(
    ("option", "errors"),
    [
        ("--cyclewatch-min-bytes=4097", 0),
        ("--cyclewatch-min-bytes=4096", 1),
        ("--cyclewatch-devices=cpu", 1),
    ],
)
def test_limits(run, option, errors):
    run(option, test_it=KEEPS).assert_outcomes(passed=2, errors=errors)


def test_failed_test_is_not_checked(run):
    source = """
kept = []

def test_fails(tensors_released):
    kept.append(leaky.Buffer(4096))
    assert False
"""
    run(test_it=source).assert_outcomes(failed=1)


def test_owners_without_a_gc_header(run):
    source = """
def read(page):
    memory = {"device": "cpu", "nbytes": 4096, "data_ptr": id(page)}
    return memory if len(page) == 123 else None

cyclewatch.register_owner(bytearray, read)
kept = []

def test_keeps(tensors_released):
    kept.append(bytearray(123))

def test_releases(tensors_released):
    bytearray(123)
"""
    result = run(test_it="import cyclewatch\n" + source)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*held by module global test_it.kept -> kept[[]0]"])
