# SPDX-License-Identifier: Apache-2.0
"""The documentation: examples in docstrings, the API reference, and pictures."""

import inspect
import operator
import re
from pathlib import Path

import pytest

import cyclewatch

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guide" / "api.md").read_text("utf-8")
# The program that the examples continue.
PROGRAM = re.search(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]

# Names whose examples show paths from a root.
SHOW_PATHS = {
    "Census",
    "LiveOwner",
    "Path",
    "PathRoot",
    "assert_released",
    "MemoryAccount",
    "live_owners",
    "memory",
    "why_alive",
}

RUNNER = """
import doctest, operator, sys

documented = operator.attrgetter(sys.argv[1])(cyclewatch)
examples = doctest.DocTestParser().get_doctest(
    documented.__doc__, dict(globals()), sys.argv[1], None, None
)
sys.exit(doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples).failed)
"""


def names_with_docstring():
    """All public functions, classes and methods, and those properties that have an example."""
    for name in cyclewatch.__all__:
        public = getattr(cyclewatch, name)
        if inspect.ismodule(public):
            yield from (f"{name}.{function}" for function in public.__all__)
        if callable(public):
            yield name
        if inspect.isclass(public):
            # Omits inherited members, such as BaseException.add_note().
            for member in vars(public):
                value = getattr(public, member)
                if member[0] != "_" and (callable(value) or ">>>" in (value.__doc__ or "")):
                    yield f"{name}.{member}"


@pytest.mark.parametrize("name", sorted(names_with_docstring()))
def test_examples_of_the_docstring_work(tmp_path, main_interpreter, name):
    docstring = operator.attrgetter(name)(cyclewatch).__doc__
    assert ">>>" in docstring, f"{name} has no example"
    if main_interpreter.free_threaded and name.split(".")[0] in SHOW_PATHS:
        pytest.skip("free-threaded builds cannot search for what keeps an object alive")
    if main_interpreter.free_threaded and name == "never_freed":
        pytest.skip("never_freed() does not support free-threaded builds")
    if name.startswith("distributed.") and not main_interpreter.has_torch:
        pytest.skip("torch is not installed for this interpreter")
    program = tmp_path / "train.py"
    program.write_text(PROGRAM + RUNNER)
    outcome = main_interpreter.run(program, name, cwd=tmp_path, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_reference_page_contains_every_public_name():
    listed = set(re.findall(r"\w+", " ".join(re.findall(r"members: \[(.*)\]", PAGE))))
    # Modules without a list of members are shown completely.
    whole = re.findall(r"^::: (\S+)\n    options:\n(?!      members)", PAGE, re.MULTILINE)
    for name in cyclewatch.__all__:
        public = getattr(cyclewatch, name)
        if inspect.ismodule(public):
            assert listed.issuperset(public.__all__), name
        elif name != "__version__" and public.__module__ not in whole:
            assert name in listed, name


def test_every_picture_is_shown_by_a_page():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    for picture in (ROOT / "docs" / "images").iterdir():
        assert f"images/{picture.name}" in text, picture
