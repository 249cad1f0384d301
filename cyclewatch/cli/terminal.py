# SPDX-License-Identifier: Apache-2.0
"""Prints to the terminal. Control characters in text from reports are replaced.

Color requires a terminal, or ``--color always``.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys

from cyclewatch import _native
from cyclewatch.cli.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO

# The labels in the margin of a card (src/render/text/text_renderer.cpp).
_MARGIN_WORDS = frozenset(
    {"cut", "and", "or", "cycle", "holds", "seen", "id", "fix", "note", "why:"}
)
_MARGIN = 10
_CUT_MARK = "  <- cut"
# SGR parameters of ECMA-48.
_BOLD = "1"
_DIM = "2"
_RED = "31"
_BOLD_RED = "1;31"
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
    style = _styled if _is_colored(sys.stdout, color) else str
    with _output():
        for line in text.split("\n"):
            _plain(sys.stdout, line, style)


def written(paths: Sequence[str], as_json: bool) -> None:
    """Print the paths of the files that a command has written; nothing if there are none."""
    if as_json and paths:
        raw(json.dumps({"written": list(paths)}, indent=1) + "\n")
    elif paths:
        show("\n".join(paths))


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


def _plain(stream: TextIO | None, line: str, style: Callable[[str], str] = str) -> None:
    if stream is None:
        return
    print(_encodable(stream, style(_native.clean_text(line))), file=stream)


def _encodable(stream: TextIO, text: str) -> str:
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def _is_colored(stream: TextIO | None, color: str) -> bool:
    return color == "always" or (
        color == "auto" and _is_terminal(stream) and not os.environ.get("NO_COLOR")
    )


def _styled(line: str) -> str:
    word = line[:_MARGIN].strip()
    mark = _CUT_MARK if line.endswith(_CUT_MARK) else ""
    rest = line.removesuffix(mark)
    if line.startswith("#"):
        rest = _escape(_BOLD, rest)
    elif word in _MARGIN_WORDS and line.startswith(" "):
        start = line.index(word)
        end = start + len(word)
        is_cut = word in ("cut", "and")
        label = _escape(_BOLD_RED if is_cut else _DIM, word)
        rest = rest[:start] + label + (_escape(_RED, rest[end:]) if is_cut else rest[end:])
    return rest + _escape(_BOLD_RED, mark)


def _escape(style: str, text: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if text else ""
