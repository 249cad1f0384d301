# SPDX-License-Identifier: Apache-2.0
"""A configuration or baseline of arbitrary bytes is accepted, or rejected with a message.

tests/fuzz tests the same parsers with libFuzzer, and also tests the report reader.
"""

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cyclewatch import configuration

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ))

from parsers import check_baseline, check_configuration  # noqa: E402

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
    """A temporary current directory; afterwards, the previous configuration is restored."""
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
    with zipfile.ZipFile(FUZZ / "corpus" / "parsers.zip") as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{target}/")]
        inputs = [archive.read(name) for name in names]
    assert inputs
    for contents in inputs:
        if target == "baseline":
            check_baseline(folder, contents)
        else:
            check_configuration(folder, target, contents)
