# SPDX-License-Identifier: Apache-2.0
"""Any bytes as a configuration or a baseline: read, or refused in one sentence that says where.

tests/fuzz has the same under libFuzzer, and reports, which are read in C++.
"""

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import cyclewatch
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
def test_any_bytes_are_a_baseline_or_an_error_that_names_the_file(tmp_path, contents):
    check_baseline(tmp_path, contents)


@pytest.mark.parametrize(
    "contents",
    [b"[" * 100_000, b'{"a": ' * 100_000, b'{"a": {"reason": "r", "count": ' + b"9" * 5000 + b"}}"],
    ids=["lists", "objects", "digits"],
)
def test_endless_baselines_are_errors(tmp_path, contents):
    check_baseline(tmp_path, contents)


toml_values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    "signature pattern reason id title explanation advice steps versions".split()
)
lists = st.lists(st.dictionaries(keys, toml_values, max_size=5) | toml_values, max_size=3)
tables = st.dictionaries(
    st.sampled_from(["ignore", "pattern", "other"]), lists | toml_values, max_size=3
)


def as_toml(value):
    """`value` in TOML's inline notation."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {as_toml(inner)}" for key, inner in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return text.encode(errors="replace").decode().replace("\x7f", "")
    return text.replace("NaN", "nan").replace("Infinity", "inf")


def as_document(table):
    return "\n".join(f"{key} = {as_toml(value)}" for key, value in table.items()).encode()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current directory; the configuration of before is put back."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for path in tmp_path.iterdir():
        path.unlink()
    configuration.read_configuration()


@FEW
@given(
    st.sampled_from(["cyclewatch.toml", "pyproject.toml"]),
    st.binary(max_size=200)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | tables.map(as_document),
)
@example("pyproject.toml", b"tool = 3 # tool.cyclewatch")
@example("pyproject.toml", b"[tool]\ncyclewatch = 1 # tool.cyclewatch")
@example("pyproject.toml", b"# tool.cyclewatch\n[[tool]]\na = 1")
@example("cyclewatch.toml", b"pattern = [1979-05-27T07:32:00Z, nan, -0.0]")
def test_any_bytes_are_a_configuration_or_are_told_of_in_the_log(folder, name, contents):
    check_configuration(folder, name, contents)


@pytest.mark.parametrize(
    "contents",
    [
        b"ignore = " + b"[" * 100_000,
        b"ignore = [{" + b"a." * 5000 + b"b = 1}]",
        b"ignore = 1" + b"0" * 5000,
    ],
    ids=["lists", "dots", "digits"],
)
def test_endless_configurations_are_told_of_in_the_log(folder, contents):
    assert check_configuration(folder, "cyclewatch.toml", contents)


@pytest.mark.parametrize("target", ["baseline", "cyclewatch.toml", "pyproject.toml"])
def test_what_libfuzzer_found_is_read_or_refused(folder, target):
    with zipfile.ZipFile(FUZZ / "corpus" / f"{target}.zip") as archive:
        inputs = [archive.read(name) for name in archive.namelist()]
    assert inputs
    for contents in inputs:
        if target == "baseline":
            check_baseline(folder, contents)
        else:
            check_configuration(folder, target, contents)


def test_a_number_is_no_file(tmp_path):
    # open() would take it for a descriptor, and close it.
    with (tmp_path / "mine").open("w") as mine:
        with pytest.raises(TypeError):
            cyclewatch.Report.load(mine.fileno())
        mine.write("still open")
        mine.flush()
