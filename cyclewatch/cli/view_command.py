# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch view``: opens reports in a browser."""

from __future__ import annotations

import json
import os
import tempfile
import webbrowser
from pathlib import Path

import cyclewatch
from cyclewatch.cli import following, inputs, outputs, terminal
from cyclewatch.cli.failures import Failure, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_PAGES = (".html", ".htm")


def main(arguments: argparse.Namespace) -> int:
    """Write the page, print its path and open it."""
    output = arguments.output
    if output and output != "-" and not output.lower().endswith(_PAGES):
        raise Failure(
            f"{output} does not end in .html; use cyclewatch convert for other formats",
            Status.USAGE,
        )
    if arguments.follow:
        return _follow(arguments)
    report, names = inputs.load_merged(arguments.files)
    page = names[0]
    is_page = len(names) == 1 and page.endswith(_PAGES)
    if is_page and not _has_our_policy(page, report):
        terminal.note(f"{page} was not written by this version; showing a new page of its report")
        arguments.output = arguments.output or _temporary_page(page)
    if arguments.output or not is_page:
        page = arguments.output or _page_beside(names)
        outputs.refuse_to_replace(page, arguments.force)
        outputs.write(page, report.to_html(), arguments.force)
    if page == "-":
        return Status.OK
    opened = not arguments.no_open and _open(page)
    if arguments.json:
        terminal.raw(json.dumps({"page": page, "opened": opened}) + "\n")
    else:
        terminal.show(page)
    return Status.OK


def _follow(arguments: argparse.Namespace) -> int:
    if arguments.json or "-" in (arguments.output, *arguments.files):
        raise Failure("--follow needs files, and cannot be combined with --json", Status.USAGE)
    # Not beside the report: the program may be about to write a page of that name.
    page = arguments.output or _temporary_page("cyclewatch.html")
    outputs.refuse_to_replace(page, arguments.force)

    def opened() -> None:
        terminal.show(page)
        if not arguments.no_open:
            _open(page)

    following.follow(arguments.files, page, opened)
    return Status.OK


def _has_our_policy(page: str, report: cyclewatch.Report) -> bool:
    """Whether the page begins with the policy that lets browsers run only the page's own script."""
    before, _, _ = report.to_html().partition('<meta name="viewport"')
    with open(page, "rb") as file:
        return file.read(len(before.encode())) == before.encode()


def _temporary_page(page: str) -> str:
    folder = tempfile.mkdtemp(prefix="cyclewatch-")
    return os.path.join(folder, os.path.basename(page))


def _page_beside(names: list[str]) -> str:
    if len(names) == 1 and names[0] != "-":
        return os.path.splitext(names[0])[0] + ".html"
    return "cyclewatch.html" if names == ["-"] else "cyclewatch-merged.html"


def _open(page: str) -> bool:
    # Without a display, webbrowser may start a text browser in this terminal.
    has_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if not has_screen or not webbrowser.open(Path(page).resolve().as_uri()):
        terminal.note("no browser found; open the file manually")
        return False
    return True
