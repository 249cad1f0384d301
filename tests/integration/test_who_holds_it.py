# SPDX-License-Identifier: Apache-2.0
"""why_alive() on every interpreter."""

from pathlib import Path

PROGRAM = Path(__file__).parent / "programs" / "who_holds_it.py"


def test_roots_have_the_same_names_on_every_interpreter(interpreter):
    outcome = interpreter.run(PROGRAM)
    assert outcome.stdout.splitlines() == [
        "local() local thing -> thing.part",
        "module global __main__.uses -> uses[0] -> use() closure thing",
        "module global __main__.uses -> uses[0] -> generate() local thing",
        "class attribute __main__.Thing.cached -> cached call[0]",
        "context variable variable",
        "module global __main__.storage -> storage.thing",
        "handled exception ValueError -> ValueError.__traceback__ -> fail() local argument",
        "[] []",
    ]
