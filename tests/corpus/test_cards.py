# SPDX-License-Identifier: Apache-2.0
"""The card of each case is short, and docs/cards.md is current."""

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
TIME = re.compile(r"dead for up to [0-9.]+ m?s")

HEAD = f"""\
# Five cards, and where to look first

Written by `{SWITCH}=1 pytest tests/corpus/test_cards.py`; do not edit.
These are the cards of five cases of the [corpus](accuracy.md), miniatures of cycles that public
projects had. `Tensor` stands for a tensor.

Read a card from the top: the retained size and the number of cycles; the cycle in short; **cut**,
the one reference to change, with its location; *why*; **fix**, how to change it; **or**, the
alternatives. Below follow the full cycle, the memory that it retained, and the signature that
identifies the finding in every run.
"""

LIBRARIES = """
# Five cards of published libraries

Written by `tests/real/run.py --write`. In each of these, many parts refer back to one parent:
*cut* lists the most characteristic of these references, and *why* counts all.

"""

SHOWN = {
    "r1_recursive_inner_function": (
        "Look at *cut*: the function captures itself. It also captures the state, so the "
        "alternative keeps the cycle and drops the tensor."
    ),
    "c1_callback_in_own_list": (
        "A list is between the object and the lambda. *cut* still names the lambda, at the line "
        "where it is written."
    ),
    "w1_wrapped_method": (
        "The cycle passes through the optimizer, but the function that wraps its method is what to "
        "change."
    ),
    "b1_back_pointer": (
        "Cutting either reference would end the cycle. *why* explains which object is the child, "
        "and therefore which reference to cut."
    ),
    "e4_failed_future": (
        "No line of code creates this cycle: the traceback of the exception refers to the frame. "
        "The only reference that your own code creates is the variable named in *cut*."
    ),
}


@functools.cache
def cards(interpreter):
    return json.loads(interpreter.run(FOLDER / "run_cases.py", "--cards", cwd=ROOT).stdout)


def test_every_card_is_short_and_complete(interpreter):
    for name, card in cards(interpreter).items():
        lines = card.splitlines()
        assert len(lines) <= 25, name
        assert max(map(len, lines)) <= 100, name
        for word in ("cut", "fix", "cycle", "holds", "seen", "id"):
            assert any(line.startswith(f"    {word} ") for line in lines), f"{name}: no {word}"
        assert "{" not in card, f"{name}: a slot was not filled"


@pytest.mark.skipif(
    sys.version_info >= (3, 13),
    reason="the page was written on 3.11: from 3.13 on cards also locate classes",
)
def test_page_of_cards_is_current(main_interpreter):
    shown = cards(main_interpreter)
    text = HEAD
    for name, remark in SHOWN.items():
        card = TIME.sub("dead for up to 0.1 ms", shown[name])
        text += f"\n## {name}\n\n{remark}\n\n```\n{card}\n```\n"
    text += LIBRARIES + (ROOT / "tests" / "real" / "cards.md").read_text()
    if os.environ.get(SWITCH):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, f"run this test again with {SWITCH}=1"
