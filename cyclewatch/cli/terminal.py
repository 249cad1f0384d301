# SPDX-License-Identifier: Apache-2.0
"""Prints to the terminal. Control characters in text from reports are replaced.

Color requires a terminal and the rich package (``pip install cyclewatch[cli]``).
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys

from cyclewatch import _native
from cyclewatch.cli.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TextIO

# The labels in the margin of a card (src/render/text/text_renderer.cpp).
_MARGIN_WORDS = frozenset(
    {"cut", "and", "or", "cycle", "holds", "seen", "id", "fix", "note", "why:"}
)
_MARGIN = 10
_CUT_MARK = "  <- cut"
_USUAL_WIDTH = 100  # the default of Report.to_text()


def width(requested: int | None) -> int:
    """The output width: `requested` if given, else COLUMNS, else the terminal's width, else 100."""
    if requested is not None:
        return requested
    if "COLUMNS" in os.environ or _is_terminal(sys.stdout):
        return shutil.get_terminal_size((_USUAL_WIDTH, 24)).columns
    return _USUAL_WIDTH


def show(text: str, color: str = "auto") -> None:
    """Print text to standard output, with cards in color."""
    console = _console(sys.stdout, color)
    if console is not None:
        for line in text.split("\n"):
            console.print(_styled(_native.clean_text(line)), soft_wrap=True)
    with _output():
        if console is not None:
            print(_encodable(sys.stdout, console.file.getvalue()), end="")
            return
        for line in text.split("\n"):
            _plain(sys.stdout, line)


def raw(contents: str | bytes) -> None:
    """Print a document (JSON, HTML ...) without replacing control characters."""
    if sys.stdout is None:
        raise Failure("cannot write to standard output: it is closed")
    data = contents.encode("utf-8") if isinstance(contents, str) else contents
    with _output():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def finish() -> None:
    """Flush standard output while an error can still be reported."""
    if sys.stdout is not None:
        with _output():
            sys.stdout.flush()


def note(text: str) -> None:
    """Print to standard error."""
    try:
        for line in text.split("\n"):
            _plain(sys.stderr, line)
    except OSError:  # an error on stderr cannot be reported
        _discard_buffered(sys.stderr)


def complain(sentence: str) -> None:
    """Print an error message."""
    note(f"cyclewatch: {sentence}")


@contextlib.contextmanager
def _output() -> Iterator[None]:
    """Handle write errors on standard output; a broken pipe is ignored."""
    try:
        yield
    except OSError as error:
        _discard_buffered(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise Failure(f"cannot write to standard output: {error.strerror}") from None


def _discard_buffered(stream: TextIO) -> None:
    """Make the flush at exit succeed after a write error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()  # None: closed at startup


def _plain(stream: TextIO | None, line: str) -> None:
    if stream is None:
        return
    print(_encodable(stream, _native.clean_text(line)), file=stream)


def _encodable(stream: TextIO, text: str) -> str:
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def _console(stream: TextIO | None, color: str) -> Any | None:
    wanted = color == "always" or (
        color == "auto" and _is_terminal(stream) and not os.environ.get("NO_COLOR")
    )
    if stream is None or not wanted:
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    # rich writes to a buffer, because it would exit if it wrote to a broken pipe.
    return Console(
        file=io.StringIO(),
        force_terminal=True,
        no_color=False,
        highlight=False,
        markup=False,
        emoji=False,
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
