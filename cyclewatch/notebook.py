# SPDX-License-Identifier: Apache-2.0
"""Displays reports in Jupyter notebooks, and defines the ``%%cyclewatch`` cell magic.

This module is imported only if a notebook displays a report or loads the extension.
"""

from __future__ import annotations

import argparse
import base64
import functools
import html
import importlib
import os
import re
import shlex
import sys
import tokenize

from cyclewatch._native import Finding, Report
from cyclewatch.cli.options import add_settings
from cyclewatch.heap.collecting import collect
from cyclewatch.settings.table import NOTEBOOK
from cyclewatch.watching.watches import watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_MAX_CARDS = 10
_MAX_PICTURE_BYTES = 110_000  # the whole display stays below 200 KB
_LOCATION = re.compile(r"([^\s:()<>]+\.py):(\d+)")
_PRE = "font:12px/1.35 monospace;white-space:pre-wrap;margin:.3em 0 1em;color:inherit"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


_PARSER = _Parser(prog="%%cyclewatch", add_help=False, allow_abbrev=False)
add_settings(_PARSER, NOTEBOOK)


def load_ipython_extension(shell: Any) -> None:
    """Register ``%%cyclewatch``: watch a cell, collect garbage, and show the findings.

    ``%%cyclewatch [--devices NAMES] [--min-bytes N]``
    """
    show_cells()
    shell.register_magic_function(_run_cell, "cell", "cyclewatch")


def show_cells() -> None:
    """Show cell numbers instead of temporary file names in reports and headlines. Idempotent."""
    for shown in (Report, Finding):
        if not hasattr(shown.to_text, "__wrapped__"):
            shown.to_text = _naming_cells(shown.to_text)  # type: ignore[method-assign]
    headline: Any = vars(Finding)["headline"]
    if not hasattr(headline.fget, "__wrapped__"):
        Finding.headline = property(_naming_cells(headline.fget))  # type: ignore[assignment]


def _naming_cells(render: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(render)
    def shown(*arguments: Any, **options: Any) -> str:
        return with_cells(render(*arguments, **options))

    return shown


def report_html(report: Report) -> str:
    """`report` as HTML without scripts: the first sentence of its text, and up to ten cards."""
    sentence = report.to_text().partition("\n\n")[0]
    parts = [f"<p><b>{html.escape(with_cells(sentence))}</b></p>"]
    findings = report.findings
    parts += [
        finding_html(finding, rank, _MAX_PICTURE_BYTES // _MAX_CARDS)
        for rank, finding in enumerate(findings[:_MAX_CARDS], 1)
    ]
    if len(findings) > _MAX_CARDS:
        parts.append(f"<p>and {len(findings) - _MAX_CARDS} more findings</p>")
    return f"<div>{''.join(parts)}</div>"


def finding_html(
    finding: Finding, rank: int = 1, max_picture_bytes: int = _MAX_PICTURE_BYTES
) -> str:
    """The picture and the card of `finding` as HTML."""
    card = html.escape(with_cells(finding.to_text(rank)))
    picture = with_cells(finding.to_svg()).encode()
    shown = ""
    if len(picture) <= max_picture_bytes:
        # In an <img> the picture's styles do not affect the notebook.
        shown = (
            f'<img alt="The reference cycle" style="max-width:100%" '
            f'src="data:image/svg+xml;base64,{base64.b64encode(picture).decode()}">'
        )
    return f'{shown}<pre style="{_PRE}">{card}</pre>'


def display_finding(finding: Finding) -> bool:
    """Display `finding` below the running cell. Return False outside a notebook."""
    shell = _shell()
    if shell is None or not hasattr(shell, "kernel"):
        return False
    _display(finding)
    return True


def _run_cell(line: str, cell: str) -> None:
    __tracebackhide__ = True  # IPython omits this frame
    shell = _shell()
    usage_error = importlib.import_module("IPython.core.error").UsageError
    try:
        options = _PARSER.parse_args(shlex.split(line))
        running = watch(devices=options.devices, min_bytes=options.min_bytes, budget=1.0)
    except ValueError as wrong:
        raise usage_error(f"%%cyclewatch: {wrong}") from None
    if shell.should_run_async(cell, transformed_cell=shell.transform_cell(cell)):
        raise usage_error("%%cyclewatch does not support await outside of a function")
    with running:
        error = _execute(shell, cell)
        collect()
    report = running.report()
    if error is None or report.findings:
        _display(report)
    try:
        if error is not None:
            raise error
    finally:
        del error  # its traceback refers to this frame


def _execute(shell: Any, cell: str) -> BaseException | None:
    """Run the body of a ``%%cyclewatch`` cell. Returns the cell's exception without printing it."""
    if not cell.lstrip().startswith("%%"):
        cell = f"# %%cyclewatch\n{cell}"  # lines are numbered as in the notebook
    cache, number = shell.compile.cache, _number_of_running_cell()
    if number is not None:
        shell.compile.cache = lambda code, _=0, raw_code=None: cache(code, number, raw_code)
    shell.showtraceback = shell.showsyntaxerror = lambda *_args, **_kwargs: None
    silenced = _ends_with_semicolon(shell, cell)
    shell.displayhook.quiet = lambda: silenced  # IPython would check the outer cell
    try:
        outcome = shell.run_cell(cell, store_history=False)
    finally:
        del shell.showtraceback, shell.showsyntaxerror
        shell.compile.__dict__.pop("cache", None)
        shell.displayhook.__dict__.pop("quiet", None)
    error: BaseException | None = outcome.error_before_exec or outcome.error_in_exec
    return error


def _ends_with_semicolon(shell: Any, cell: str) -> bool:
    """Whether a trailing semicolon suppresses the cell's output and its entry in ``Out``."""
    try:
        return bool(shell.displayhook.semicolon_at_end_of_expression(cell))
    except (SyntaxError, tokenize.TokenError):
        return False


def _number_of_running_cell() -> int | None:
    """The number of the innermost cell on the call stack."""
    frame = sys._getframe()
    while frame is not None:
        cell = _cell_of(frame.f_code.co_filename)
        if cell is not None:
            return int(cell[len("cell [") : -1])
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _display(value: object) -> None:
    importlib.import_module("IPython.display").display(value)


def _shell() -> Any:
    module = sys.modules.get("IPython.core.getipython")
    return module.get_ipython() if module is not None else None


def _cell_of(path: str) -> str | None:
    """ "cell [12]" if `path` is the temporary file name of a cell."""
    kernel = sys.modules.get("ipykernel.compiler")
    if kernel is not None:  # pictures contain file names without a folder
        path = os.path.join(kernel.get_tmp_directory(), path)
    compiler: Any = getattr(_shell(), "compile", None)
    name = compiler.format_code_name(path) if hasattr(compiler, "format_code_name") else None
    return None if name is None else f"cell {name[1].removeprefix('In')}"


def with_cells(text: str) -> str:
    """`text` with "cell [12], line 3" instead of the temporary file names of cells."""

    def replace(match: re.Match[str]) -> str:
        cell = _cell_of(match[1])
        return match[0] if cell is None else f"{cell}, line {match[2]}"

    return _LOCATION.sub(replace, text)
