# SPDX-License-Identifier: Apache-2.0
"""From the command line's words to a command and its arguments."""

from __future__ import annotations

import argparse
import os
from typing import NoReturn

from cyclewatch import _native
from cyclewatch.cli import terminal
from cyclewatch.cli.failures import Failure, Status
from cyclewatch.cli.options import Argument, Command, Option
from cyclewatch.cli.table import COMMANDS, DESCRIPTION, PROGRAM, SUMMARY, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: object = None) -> None:
        terminal.show(message.rstrip("\n"))  # --help and --version; error() below prints nothing

    def error(self, message: str) -> NoReturn:
        raise Failure(f"{message}; see {self.prog} --help", Status.USAGE)


def parse(words: list[str]) -> tuple[Command, argparse.Namespace]:
    """Understand the command line. Raises Failure, or SystemExit for --help and --version."""
    parser = make_parser()
    if words[:1] == ["run"]:
        return command("run"), _parse_run(parser, words[1:])
    arguments = _understood(parser, words)
    if arguments.command is None:
        raise Failure(f"no command given\n{parser.format_help()}", Status.USAGE)
    return command(arguments.command), arguments


def _understood(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    try:
        arguments, unknown = parser.parse_known_args(words)
    except Failure:
        _name_file_like_an_option(words)
        raise
    if unknown:
        _name_file_like_an_option(unknown)
        of = f"{PROGRAM} {arguments.command}" if arguments.command else PROGRAM
        raise Failure(f"unknown arguments: {' '.join(unknown)}; see {of} --help", Status.USAGE)
    return arguments


def _name_file_like_an_option(words: list[str]) -> None:
    # "-x.json" is no option that anybody gave by mistake where there is such a file.
    for word in words:
        if word == "--":
            return
        if word.startswith("-") and word != "-" and os.path.lexists(word):
            raise Failure(f"{word} is taken for an option; that file is ./{word}", Status.USAGE)


def make_parser() -> argparse.ArgumentParser:
    """All commands."""
    parser = _Parser(
        prog=PROGRAM,
        description=f"{SUMMARY[0].upper()}{SUMMARY[1:]}. {DESCRIPTION}",
        epilog=f"{PROGRAM} COMMAND --help explains a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {_native.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for each in COMMANDS:
        _add_command(subparsers, each)
    return parser


def _add_command(
    subparsers: argparse._SubParsersAction[_Parser],
    each: Command,
) -> None:
    usage = "\n       ".join(f"{PROGRAM} {each.name} {form}" for form in each.synopsis)
    parser = subparsers.add_parser(
        each.name,
        help=each.summary,
        description=each.description,
        usage=usage or None,
        allow_abbrev=False,
    )
    for option in each.options:
        _add_option(parser, option)
    for argument in each.arguments:
        _add_argument(parser, argument)


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    if not option.metavar:
        parser.add_argument(
            *option.flags, dest=option.name, action="store_true", help=_escaped(option.help)
        )
        return
    parser.add_argument(
        *option.flags,
        dest=option.name,
        metavar=option.metavar,
        choices=option.choices or None,
        type=_checked(option),
        default=option.default,
        action="append" if option.repeated else "store",
        help=_escaped(option.help),
    )


def _escaped(text: str) -> str:
    return text.replace("%", "%%")  # argparse formats help with the % operator


def _checked(option: Option) -> Callable[[str], object]:
    def convert(word: str) -> object:
        try:
            return option.convert(word)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"expects {error}") from None

    return convert


def _add_argument(parser: argparse.ArgumentParser, argument: Argument) -> None:
    parser.add_argument(
        argument.name,
        metavar=argument.metavar,
        nargs=argument.nargs,
        default=[] if argument.nargs == "*" else None,  # without one it would be required
        choices=argument.choices or None,
        help=argument.help,
    )


def _parse_run(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    # As python itself: our options end where the program begins, and what is after it is never
    # looked at, however much it looks like an option of ours.
    at = _program_begins_at(words)
    ours, program = words[:at], words[at:]
    program = program[1:] if program[:1] == ["--"] else program
    asks_for_help = "-h" in ours or "--help" in ours
    if program in ([], ["-m"], ["-c"]) and not asks_for_help:
        _understood(parser, ["run", *ours, "--", "program"])  # complains of our options first
        raise Failure(
            "nothing to run: name a script, -m MODULE or -c COMMAND after the options; "
            f"see {PROGRAM} run --help",
            Status.USAGE,
        )
    # With -h this ends here.
    arguments = _understood(parser, ["run", *ours, *(["--", "program"] if program else [])])
    arguments.program = program
    return arguments


def _program_begins_at(words: list[str]) -> int:
    options = command("run").options
    takes_value = {flag for option in options if option.metavar for flag in option.flags}
    last = {flag for option in options if option.is_last for flag in option.flags}
    at = 0
    while at < len(words):
        word = words[at]
        if word[:2] in last or word == "-" or not word.startswith("-") or word == "--":
            break
        at += 2 if word in takes_value else 1
    return min(at, len(words))
