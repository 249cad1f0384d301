# SPDX-License-Identifier: Apache-2.0
"""A configuration or baseline with arbitrary contents is accepted, or rejected with a message.

`make fuzz` runs more examples; the report reader is tested by libFuzzer (tests/fuzz).
"""

import json
import logging
import os
import tomllib
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cyclewatch import _native
from cyclewatch.pytest_plugin.baseline import Baseline, BaselineError
from cyclewatch.settings import configuration

CORPUS = Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "parsers.zip"
FEW = settings(
    max_examples=int(os.environ.get("CYCLEWATCH_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
words = st.sampled_from(
    ["version", "count", "test", "title", "reason", "cw1-0123456789abcdef", "a b", ""]
) | st.text(max_size=5)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)
entry = st.fixed_dictionaries(
    {}, optional={"count": scalars, "test": scalars, "title": scalars, "reason": scalars}
)
baselines = st.dictionaries(words, entry | scalars, max_size=4).map(
    lambda entries: {**entries, "version": 1}
)


class Kept(logging.Handler):
    """Records the messages that cyclewatch logs inside the `with` block."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())

    def __enter__(self):
        logging.getLogger("cyclewatch").addHandler(self)
        return self.messages

    def __exit__(self, *error):
        logging.getLogger("cyclewatch").removeHandler(self)


def check_baseline(folder, contents):
    """Write `contents` to a file in `folder`; return whether the file is a valid baseline."""
    path = folder / "known.json"
    path.write_bytes(contents)
    try:
        baseline = Baseline.read(path)
    except BaselineError as error:
        assert str(path) in str(error)
        assert "\n" not in str(error)
        return False
    # Writing and rereading the baseline does not change it.
    assert all(entry.count > 0 and entry.reason.strip() for entry in baseline.entries.values())
    again = folder / "again.json"
    baseline.write(again)
    assert Baseline.read(again).entries == baseline.entries
    return True


def check_configuration(folder, name, contents):
    """Write and read the file `name` in `folder` (the current directory), and return the log."""
    for path in folder.iterdir():
        path.unlink()
    (folder / name).write_bytes(contents)
    configuration._active = None  # log messages for the same bytes again
    with Kept() as messages:
        configuration.read_configuration()
    assert all(str(folder / name) in message for message in messages)
    # The file cannot remove built-in patterns.
    assert len(_native.patterns()) >= 10
    if name == "cyclewatch.toml" and not messages:
        document = tomllib.loads(contents.decode())
        assert document.keys() <= {"ignore", "pattern"}
    return messages


@FEW
@given(
    st.binary(max_size=200)
    | json_values.map(lambda value: json.dumps(value).encode())
    | baselines.map(lambda value: json.dumps(value).encode())
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
@example(b'{"a": {"reason": "r", "count": 1e999}, "version": 1}')
@example(b'{"a": {"reason": "r", "count": NaN}, "version": 1}')
@example(b'{"a": {"reason": "\\ud800"}, "version": 1}')
@example(b'{"\\ud800": {"reason": "r"}, "version": 1}')
@example(b'{"a": {"reason": "r", "count": -1}, "version": 1}')
@example(b'\xef\xbb\xbf{"version": 1}')
def test_any_bytes_are_a_baseline_or_an_error(tmp_path, contents):
    check_baseline(tmp_path, contents)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A temporary current directory; afterwards, the configuration is reset."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for path in tmp_path.iterdir():
        path.unlink()
    configuration.read_configuration()


@FEW
@given(
    st.sampled_from(["cyclewatch.toml", "pyproject.toml"]),
    st.binary(max_size=200)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")),
)
@example("pyproject.toml", b"tool = 3 # tool.cyclewatch")
@example("pyproject.toml", b"[tool]\ncyclewatch = 1 # tool.cyclewatch")
@example("pyproject.toml", b"# tool.cyclewatch\n[[tool]]\na = 1")
@example("cyclewatch.toml", b"pattern = [1979-05-27T07:32:00Z, nan, -0.0]")
def test_any_bytes_are_a_configuration_or_logged(folder, name, contents):
    check_configuration(folder, name, contents)


@pytest.mark.parametrize("target", ["baseline", "cyclewatch.toml", "pyproject.toml"])
def test_inputs_of_the_fuzzing_corpus(folder, target):
    with zipfile.ZipFile(CORPUS) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{target}/")]
        inputs = [archive.read(name) for name in names]
    assert inputs
    for contents in inputs:
        if target == "baseline":
            check_baseline(folder, contents)
        else:
            check_configuration(folder, target, contents)
