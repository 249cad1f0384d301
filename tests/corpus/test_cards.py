# SPDX-License-Identifier: Apache-2.0
"""The cards of the corpus: complete, of limited size, and current in docs/cards.md."""

import functools
import json
import os
import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
PAGE = ROOT / "docs" / "cards.md"
SWITCH = "CYCLEWATCH_UPDATE_CARDS"
TIME = re.compile(r"unreachable for up to [0-9.]+ m?s")

HEAD = f"""\
# How to read a card

Written by `{SWITCH}=1 pytest tests/corpus/test_cards.py`; do not edit.
These cards are from five cases of the [corpus](accuracy.md), which reproduce cycles of public
projects in a few lines. `Tensor` stands for a tensor.

From top to bottom, a card has the retained size and the number of cycles, a one-line form of the
cycle, **cut** (the reference to change, with its location), *why*, **fix** (what to write instead)
and **or** (alternatives). Below are the complete **cycle**, the memory that it **holds**, when it
was **seen**, and the **id**, which is the same on every run.
"""

LIBRARIES = """
# Five cards of published libraries

Written by `tests/real/run.py --write`. In each of these, many children refer back to one parent:
*cut* lists the most important of these references, and *why* has the total number.

"""

SHOWN = {
    "r1_recursive_inner_function": (
        "The function captures itself. It also captures the state, so the alternative is to keep "
        "the cycle and free the tensor."
    ),
    "c1_callback_in_own_list": (
        "The object stores the lambda in a list. *cut* names the reference of the lambda and the "
        "line that defines it."
    ),
    "w1_wrapped_method": (
        "The optimizer is part of the cycle, but the code to change is the function that wraps its "
        "method."
    ),
    "b1_back_pointer": (
        "Cutting either reference breaks the cycle. *why* identifies the child, whose reference is "
        "the better one to cut."
    ),
    "e4_failed_future": (
        "No code creates this cycle explicitly: the traceback of the exception refers to the "
        "frame. Your own code only creates the variable named in *cut*."
    ),
}


@functools.cache
def cards(interpreter):
    return json.loads(interpreter.run(FOLDER / "print_cards.py", cwd=ROOT).stdout)


def test_cards_are_complete_and_of_limited_size(interpreter):
    for name, card in cards(interpreter).items():
        lines = card.splitlines()
        assert len(lines) <= 25, name
        assert max(map(len, lines)) <= 100, name
        for word in ("cut", "fix", "cycle", "holds", "seen", "id"):
            assert any(line.startswith(f"    {word} ") for line in lines), f"{name}: no {word}"
        assert "{" not in card, f"{name}: a placeholder was not replaced"


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="classes record their line since 3.13; the page is of 3.11"
)
def test_page_of_cards_is_current(main_interpreter):
    current = cards(main_interpreter)
    text = HEAD
    for name, remark in SHOWN.items():
        card = TIME.sub("unreachable for up to 0.1 ms", current[name])
        text += f"\n## {name}\n\n{remark}\n\n```\n{card}\n```\n"
    text += LIBRARIES + (ROOT / "tests" / "real" / "cards.md").read_text()
    if os.environ.get(SWITCH):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, f"run this test again with {SWITCH}=1"
