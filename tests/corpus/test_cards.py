# SPDX-License-Identifier: Apache-2.0
"""The card of each case: its length, and that docs/cards.md is current."""

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

Read a card from the top: how many bytes in how many cycles; the cycle in short; **cut**, the
reference to change, with its location; *why*; **fix**, what to write instead; **or**, alternatives
and what each costs. The complete cycle, the tensors it retained and the signature of the finding,
which is the same on every run, follow.
"""

LIBRARIES = """
# Five cards of published libraries

Written by `tests/real/run.py --write`. In each of these, many children refer back to one
parent: *cut* lists the most important of these references, and *why* counts all.

"""

SHOWN = {
    "r1_recursive_inner_function": (
        "*cut*: the function captures itself. The function also captures the state, so the "
        "alternative is to keep the cycle and drop the tensor."
    ),
    "c1_callback_in_own_list": (
        "The object does not refer to the lambda directly, but through a list. *cut* names the "
        "lambda, at the line that defines it."
    ),
    "w1_wrapped_method": (
        "The optimizer is on the cycle, but the function that wraps its method is what to change."
    ),
    "b1_back_pointer": (
        "Either of the two references would end the cycle. *why* says which object is the child "
        "and so which reference to cut."
    ),
    "e4_failed_future": (
        "This cycle is not visible in the code: the traceback of the exception leads back to the "
        "frame. The variable in *cut* is the only reference that your own code creates."
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
