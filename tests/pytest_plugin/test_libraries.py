# SPDX-License-Identifier: Apache-2.0
"""Cycles of test tools and of libraries are listed, and do not fail tests."""

import pytest

# The cycle contains an object of the test, but only the library stores references back to it.
LIBRARY = """
class Trainer:
    def fit(self, model):
        self.model = model
        model.trainer = self

class Hooks:
    def __init__(self):
        self.called = []
    def add(self, function):
        self.called.append(function)
"""

USES_LIBRARY = """
import lib

class Model:
    def __init__(self):
        self.buffer = leaky.Buffer(1000)

def test_fit():
    lib.Trainer().fit(Model())

def test_fit_again():
    lib.Trainer().fit(Model())
"""

USERS_CALLABLE = """
import lib

class Model:
    def __init__(self, hooks):
        self.buffer = leaky.Buffer(1000)
        self.hooks = hooks
        hooks.add({})

    def report(self):
        pass

def test_hook():
    Model(lib.Hooks())
"""


@pytest.fixture
def library(project, monkeypatch):
    """A library that is installed into a `--target` folder."""
    folder = project.mkdir("target")
    (folder / "lib").mkdir()
    (folder / "lib" / "__init__.py").write_text(LIBRARY)
    (folder / "lib-1.0.dist-info").mkdir()
    (folder / "lib-1.0.dist-info" / "RECORD").write_text("lib/__init__.py,,\n")
    monkeypatch.syspath_prepend(folder)


def test_library_code_does_not_fail_tests(check, library):
    result = check(USES_LIBRARY, passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "*lib/__init__.py:5: TensorCycleWarning: Model *trainer*gc.collect()*",
            "*Model.trainer -> ...  test_it.py::test_fit and 1 more  [[]library: *gc.collect()*",
            "cyclewatch: 2 cycles (1 finding), *0 allowed, 2 library",
        ]
    )


def test_library_warning_never_fails_a_test(check, library):
    check(USES_LIBRARY, "-Werror", passed=2)


@pytest.mark.parametrize("by", ["flag", "ini", "environment"])
def test_library_code_fails_tests_if_asked_for(check, project, library, monkeypatch, by):
    if by == "ini":
        project.makeini("[pytest]\ncyclewatch_libraries = fail\n")
    if by == "environment":
        monkeypatch.setenv("CYCLEWATCH_LIBRARIES", "fail")
    check(USES_LIBRARY, *["--cyclewatch-libraries=fail"][: by == "flag"], failed=2)


@pytest.mark.parametrize("callback", ["self.report", "lambda: self"])
def test_callable_of_the_user_in_a_library_fails_the_test(check, library, callback):
    check(USERS_CALLABLE.format(callback), failed=1)


IDIOMS = """
import logging
from unittest import mock

def fails(buffer):
    raise ValueError("1D")

def test_raises_as():
    buffer = leaky.Buffer(10)
    with pytest.raises(ValueError) as info:
        fails(buffer)
    assert "1D" in str(info.value)

def test_two_infos():
    buffer = leaky.Buffer(10)
    with pytest.raises(ValueError) as first:
        fails(buffer)
    with pytest.raises(ValueError) as second:
        fails(buffer)
    assert str(first.value) == str(second.value)

def test_raises_called():
    info = pytest.raises(ValueError, fails, leaky.Buffer(10))
    assert info.match("1D")

def test_magic_mock():
    engine = mock.MagicMock()
    engine.run(leaky.Buffer(10))
    engine.run.assert_called_once()

def test_mock():
    engine = mock.Mock(return_value=leaky.Buffer(10))
    engine.run(leaky.Buffer(10)).attribute
    engine.run.assert_called_once()

def test_autospec():
    class Engine:
        def run(self, buffer): ...
    mock.create_autospec(Engine)().run(leaky.Buffer(10))
    mock.create_autospec(fails)(leaky.Buffer(10))

def test_async_mock():
    mock.AsyncMock()(leaky.Buffer(10)).close()

@pytest.fixture
def engine():
    return mock.MagicMock(return_value=leaky.Buffer(10))

def test_fixture(engine):
    assert engine(leaky.Buffer(10)) is not None

class Model:
    def __init__(self):
        self.buffer = leaky.Buffer(10)
    def run(self): ...

def test_monkeypatch(monkeypatch):
    monkeypatch.setattr(Model(), "run", lambda: None)

def test_caplog(caplog):
    buffer = leaky.Buffer(10)
    try:
        fails(buffer)
    except ValueError:
        logging.getLogger(__name__).exception("failed")
    assert caplog.records

class TestUnit(unittest.TestCase):
    def test_assert_raises(self):
        buffer = leaky.Buffer(10)
        with self.assertRaises(ValueError) as context:
            try:
                fails(buffer)
            except ValueError as error:
                raise ValueError("again") from error
        self.assertIn("again", str(context.exception))

    @mock.patch(f"{__name__}.fails", autospec=True)
    def test_patch(self, patched):
        fails(leaky.Buffer(10))
        patched.assert_called_once()

    @unittest.expectedFailure
    def test_expected_failure(self):
        buffer = leaky.Buffer(10)
        self.fail()
"""


def test_tools_of_tests_do_not_fail_tests(check):
    result = check(IDIOMS, passed=12, xfailed=1)
    (count,) = (line for line in result.outlines if line.startswith("cyclewatch: "))
    cycles = int(count.split()[1])
    assert cycles >= 10
    assert count.endswith(f"0 allowed, {cycles} benign")


def test_method_that_the_project_stores_fails_a_test_with_monkeypatch(check):
    source = """
class Model:
    def __init__(self):
        self.buffer = leaky.Buffer(10)
        self.run = self.run
    def run(self): ...

def test_model(monkeypatch):
    Model()
"""
    result = check(source, failed=1)
    result.stdout.fnmatch_lines(["*test_it.py:7", "*calls find it in the class*"])


def test_cycle_of_the_project_next_to_a_mock_fails_the_test(check):
    source = """
from unittest import mock

def test_engine():
    engine = leaky.Engine(10)
    engine.backend = mock.MagicMock()
    engine.backend.engine = engine
"""
    result = check(source, failed=1)
    result.stdout.fnmatch_lines(["*closure:self of function*"])


def test_cut_in_the_project_comes_before_that_of_a_mock(check):
    source = """
from unittest import mock

class Trainer:
    def __init__(self, callback):
        self.buffer = leaky.Buffer(10)
        self.callback = callback
        self.hook = lambda: self.buffer
        callback.trainer = self

def test_trainer():
    Trainer(mock.MagicMock())
"""
    result = check(source, failed=1)
    result.stdout.fnmatch_lines(
        ["*1     closure:self of function*", "*2     .trainer of MagicMock*"]
    )
