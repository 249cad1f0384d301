# SPDX-License-Identifier: Apache-2.0
"""What a reader sees of each case: short enough, and in docs/cards.md as it is now."""

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
projects had. `Tensor` stands for a tensor there.

Read a card from the top: how much in how many cycles; the cycle in short; **cut**, the one
reference to change, with its place; *why*; **fix**, what to write instead; **or**, what would do as
well. Below stand the cycle in full, what it kept alive, and the signature by which the finding is
known on every run.
"""

LIBRARIES = """
# Five cards of published libraries

Written by `tests/real/run.py --write`. In each of these, many parts refer back to one owner:
*cut* lists the most telling of these references, and *why* counts all.

"""

SHOWN = {
    "r1_recursive_inner_function": (
        "Look at *cut*: the function captures itself. The state hangs off the same function, so "
        "the alternative, to keep the cycle and drop the tensor, would do as well."
    ),
    "c1_callback_in_own_list": (
        "The object is not next to the lambda: a list stands between. *cut* names the lambda all "
        "the same, at the line where it is written."
    ),
    "w1_wrapped_method": (
        "The optimizer is only where the cycle passes; what to change is the function that wraps "
        "its method."
    ),
    "b1_back_pointer": (
        "Either of the two references would end the cycle. *why* says which of the objects is the "
        "part, and so which reference is the one to go."
    ),
    "e4_failed_future": (
        "Nobody wrote this cycle down: the traceback of the exception leads back into the frame. "
        "The part of the cycle that your own code makes is the variable named in *cut*."
    ),
}


@functools.cache
def cards(interpreter):
    return json.loads(interpreter.run(FOLDER / "print_cards.py", cwd=ROOT).stdout)


def test_every_card_is_short_and_says_what_to_do(interpreter):
    for name, card in cards(interpreter).items():
        lines = card.splitlines()
        assert len(lines) <= 25, name
        assert max(map(len, lines)) <= 100, name
        for word in ("cut", "fix", "cycle", "holds", "seen", "id"):
            assert any(line.startswith(f"    {word} ") for line in lines), f"{name}: no {word}"
        assert "{" not in card, f"{name}: a slot was not filled"


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="classes say their own line; the page is of 3.11, without"
)
def test_page_of_cards_is_current(main_interpreter):
    said = cards(main_interpreter)
    text = HEAD
    for name, remark in SHOWN.items():
        card = TIME.sub("dead for up to 0.1 ms", said[name])
        text += f"\n## {name}\n\n{remark}\n\n```\n{card}\n```\n"
    text += LIBRARIES + (ROOT / "tests" / "real" / "cards.md").read_text()
    if os.environ.get(SWITCH):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, f"run this test again with {SWITCH}=1"
