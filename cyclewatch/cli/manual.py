# SPDX-License-Identifier: Apache-2.0
"""The manual page and the reference in docs/, made from the table of commands.

``python -m cyclewatch.cli.manual`` writes both into the source tree; a test checks that they are
as this makes them.
"""

from __future__ import annotations

from pathlib import Path

from cyclewatch.cli.failures import Status
from cyclewatch.cli.table import (
    COMMANDS,
    COMMON_OPTIONS,
    DESCRIPTION,
    PROGRAM,
    SUMMARY,
    WATCH_OPTIONS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cyclewatch.cli.options import Argument, Command, Option

MANUAL_PAGE = Path("docs/man/cyclewatch.1")
REFERENCE = Path("docs/command_line.md")
_BEGIN = "<!-- made by `python -m cyclewatch.cli.manual`; do not edit below -->\n"


def forms(command: Command) -> list[str]:
    """The ways to write a command, without its name."""
    if command.synopsis:
        return list(command.synopsis)
    arguments = "".join(f" {_argument(each)}" for each in command.arguments)
    return [("[OPTION...]" if command.options else "") + arguments]


def manual_page() -> str:
    """The page in troff."""
    parts = [
        '.\\" Made by `python -m cyclewatch.cli.manual`.',
        f'.TH {PROGRAM.upper()} 1 "" "{PROGRAM}" "User Commands"',
        ".SH NAME",
        f"{PROGRAM} \\- {_troff(SUMMARY)}",
        ".SH SYNOPSIS",
        f".B {PROGRAM}",
        ".I COMMAND",
        "[OPTION...] [ARGUMENT...]",
        ".SH DESCRIPTION",
        _troff(DESCRIPTION),
        *_troff_options(COMMON_OPTIONS),
    ]
    for command in COMMANDS:
        parts.append(f'.SH "{PROGRAM.upper()} {command.name.upper()}"')
        for form in forms(command):
            parts += [".PP", f"\\fB{PROGRAM} {command.name}\\fR {_troff(form)}"]
        parts += [".PP", _troff(command.description)]
        for argument in command.arguments:
            parts += [".TP", f"\\fI{_troff(argument.metavar)}\\fR", _troff(argument.help)]
        parts += _troff_options(command.options)
    parts += [".SH ENVIRONMENT", ".TP", "\\fBCYCLEWATCH\\fR", _troff(_SWITCH)]
    for option in WATCH_OPTIONS:
        parts += [".TP", f"\\fB{option.environment}\\fR", f"as {_troff(option.flags[-1])}"]
    parts.append('.SH "EXIT STATUS"')
    for status in Status:
        parts += [".TP", f"\\fB{int(status)}\\fR", _troff(status.meaning)]
    parts += [".PP", _troff(_RUN_STATUS)]
    return "\n".join(parts) + "\n"


_SWITCH = (
    "1 starts the watch in every Python program of this installation, as run does; 0, or nothing, "
    "does not."
)
_RUN_STATUS = (
    "run ends as the program ended, or by the signal that ended it; with --fail it ends with 1 "
    "where that would have been 0 and a finding remains. Where the command line makes no sense, or "
    "no file can be written where --output says, it ends with 2 or 3 before the program begins."
)


def reference() -> str:
    """All commands and options in Markdown."""
    parts = ["## Reference\n"]
    for command in COMMANDS:
        parts.append(f"### {PROGRAM} {command.name}\n")
        lines = [f"{PROGRAM} {command.name} {form}".rstrip() for form in forms(command)]
        parts.append("\n".join(["```", *lines, "```", ""]))
        parts.append(f"{command.description}\n")
        rows = [(_flags(each), each.help) for each in command.options]
        rows += [(each.metavar, each.help) for each in command.arguments]
        parts.append(_table("option or argument", rows))
    parts.append("### Environment\n")
    rows = [("CYCLEWATCH", _SWITCH)]
    rows += [(each.environment, f"as `{each.flags[-1]}`") for each in WATCH_OPTIONS]
    parts.append(_table("variable", rows))
    parts.append("### Exit status\n")
    parts.append(_table("status", [(str(int(each)), each.meaning) for each in Status]))
    parts.append(f"{_RUN_STATUS[0].upper()}{_RUN_STATUS[1:]}\n")
    return "\n".join(parts)


def with_reference(page: str) -> str:
    """The Markdown page with its reference made anew."""
    return page.partition(_BEGIN)[0] + _BEGIN + "\n" + reference()


def _table(heading: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"| {heading} | meaning |", "|---|---|"]
    for name, meaning in rows:
        lines.append(f"| `{name}` | {meaning} |".replace("|PATTERN", "\\|PATTERN"))
    return "\n".join(lines) + "\n"


def _argument(argument: Argument) -> str:
    return {
        None: argument.metavar,
        "+": f"{argument.metavar}...",
        "*": f"[{argument.metavar}...]",
    }[argument.nargs]


def _flags(option: Option) -> str:
    return ", ".join(option.flags) + (f" {option.metavar}" if option.metavar else "")


def _troff_options(options: tuple[Option, ...]) -> list[str]:
    lines = []
    for option in options:
        flags = ", ".join(f"\\fB{_troff(flag)}\\fR" for flag in option.flags)
        value = f" \\fI{option.metavar}\\fR" if option.metavar else ""
        lines += [".TP", flags + value, _troff(option.help)]
    return lines


def _troff(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")


if __name__ == "__main__":
    MANUAL_PAGE.parent.mkdir(parents=True, exist_ok=True)
    MANUAL_PAGE.write_text(manual_page(), encoding="utf-8")
    REFERENCE.write_text(with_reference(REFERENCE.read_text(encoding="utf-8")), encoding="utf-8")
