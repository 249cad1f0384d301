# SPDX-License-Identifier: Apache-2.0
"""The only place that prints. Nothing that comes from a report can command the terminal.

Every line goes through the cleaning that the text format uses. Colour and the progress bar need
rich, which ``pip install cyclewatch[cli]`` brings, and a terminal; without either the same text
comes out plain.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys

from cyclewatch import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TextIO

# Words in the margin of a card, as src/render/text_renderer.cpp writes them.
_MARGIN_WORDS = frozenset(
    {"cut", "and", "or", "loop", "holds", "seen", "id", "fix", "note", "why:"}
)
_MARGIN = 10
_CUT_MARK = "  <- cut"
# Where it is not known how wide the reader's window is: what the text format takes.
_USUAL_WIDTH = 100
_PATIENCE = 1.0  # seconds without a progress bar


def width(asked: int | None) -> int:
    """Columns to fill: what was asked for, COLUMNS, the terminal's, or 100 where there is none."""
    if asked is not None:
        return asked
    if "COLUMNS" in os.environ or sys.stdout.isatty():
        return shutil.get_terminal_size((_USUAL_WIDTH, 24)).columns
    return _USUAL_WIDTH


def clean(text: str) -> str:
    """`text` on its lines, without anything that a terminal would obey."""
    return "\n".join(_native.clean_text(line) for line in text.split("\n"))


def show(text: str, color: str = "auto") -> None:
    """Print cards, or anything else, on standard output."""
    console = _console(sys.stdout, color)
    for line in text.split("\n"):
        if console is None:
            _plain(sys.stdout, line)
        else:
            console.print(_styled(_native.clean_text(line)), soft_wrap=True)


def raw(contents: str | bytes) -> None:
    """Print a document whose format takes care of itself: JSON, HTML and so on."""
    sys.stdout.flush()
    data = contents.encode("utf-8") if isinstance(contents, str) else contents
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def note(text: str) -> None:
    """Say something beside the output, on standard error."""
    for line in text.split("\n"):
        _plain(sys.stderr, line)


def complain(sentence: str) -> None:
    """Say what went wrong."""
    note(f"cyclewatch: {sentence}")


@contextlib.contextmanager
def working(label: str, total: int | None = None) -> Iterator[Any]:
    """Show a progress bar on standard error while the body takes longer than a second.

    Yields a function to call after each of the `total` steps. There is no bar where standard
    error is no terminal or rich is not installed.
    """
    bar = _progress_bar()
    if bar is None:
        yield lambda: None
        return
    import threading

    task = bar.add_task(clean(label), total=total)
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        timer.cancel()
        timer.join()  # it may be starting the bar at this very moment
        bar.stop()


def _plain(stream: TextIO, line: str) -> None:
    encoding = stream.encoding or "utf-8"
    line = _native.clean_text(line).encode(encoding, "replace").decode(encoding)
    print(line, file=stream)


def _progress_bar() -> Any | None:
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    return Progress(console=Console(file=sys.stderr), transient=True)


def _console(stream: TextIO, color: str) -> Any | None:
    wanted = color == "always" or (
        color == "auto" and stream.isatty() and not os.environ.get("NO_COLOR")
    )
    if not wanted:
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(
        file=stream, force_terminal=True, no_color=False, highlight=False, markup=False, emoji=False
    )


def _styled(line: str) -> Any:
    from rich.text import Text

    text = Text(line)
    word = line[:_MARGIN].strip()
    if line.startswith("#"):
        text.stylize("bold")
    elif word in _MARGIN_WORDS and line[: len(line) - len(line.lstrip())]:
        start = line.index(word)
        text.stylize("bold red" if word in ("cut", "and") else "dim", start, start + len(word))
        if word in ("cut", "and"):
            text.stylize("red", _MARGIN)
    if line.endswith(_CUT_MARK):
        text.stylize("bold red", len(line) - len(_CUT_MARK))
    return text
