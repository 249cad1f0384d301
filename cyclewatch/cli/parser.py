# SPDX-License-Identifier: Apache-2.0
"""The command line. The manual page, the reference in docs/ and completion are made from this."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from cyclewatch import _native
from cyclewatch.cli import options, terminal
from cyclewatch.cli.failures import Failure, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = "cyclewatch"
SUMMARY = "name the reference that keeps device memory alive in garbage cycles"
ENVIRONMENT = (
    "CYCLEWATCH=1 starts the watch in every Python program of this installation, as run does; 0, "
    "or nothing, does not. Each option of run has a variable, such as CYCLEWATCH_MIN_BYTES for "
    "--min-bytes and CYCLEWATCH_FAIL=1 for --fail."
)
EXIT_STATUS = (
    "0 if what was asked for was done, and the answer, if there is one, is yes; 1 if the answer is "
    "no: the fix is not verified, something new was found with --fail, or nothing has the "
    "signature asked for; 2 for a usage error; 3 if a file could not be read or written, is not a "
    "report, or exists already. run ends as the program ended, or by the signal that ended it; "
    "with --fail it ends with 1 if that would have been 0 and a finding remains."
)


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: object = None) -> None:
        terminal.show(message.rstrip("\n"))  # --help and --version; error() below prints nothing

    def error(self, message: str) -> NoReturn:
        raise Failure(f"{message}; see {self.prog} --help", Status.USAGE)

    def option(
        self, *flags: str, convert: Callable[[str], object] | None = None, **more: Any
    ) -> None:
        """Add an option with a value; a ValueError of `convert` says what is wrong with it."""

        def checked(word: str) -> object:
            try:
                return convert(word) if convert is not None else word
            except ValueError as error:
                raise argparse.ArgumentTypeError(f"expects {error}") from None

        self.add_argument(*flags, type=checked, **more)

    def switch(self, *flags: str, help: str) -> None:
        """Add an option without a value."""
        self.add_argument(*flags, action="store_true", help=help)

    def setting(self, *flags: str, help: str, metavar: str | None = None) -> None:
        """Add an option for one of WATCH_SETTINGS."""
        convert, default = options.WATCH_SETTINGS[flags[-1].lstrip("-").replace("-", "_")]
        if convert is None:
            self.switch(*flags, help=help)
        else:
            self.option(*flags, convert=convert, default=default, metavar=metavar, help=help)


def parse(words: list[str]) -> argparse.Namespace:
    """Understand the command line. Raises Failure, or SystemExit for --help and --version."""
    parser = make_parser()
    if words[:1] == ["run"]:
        return _parse_run(parser, words[1:])
    arguments = parser.parse_args(words)
    if arguments.command is None:
        raise Failure(f"no command given\n{parser.format_help()}", Status.USAGE)
    return arguments


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    (found,) = (each.choices for each in parser._actions if each.dest == "command")
    assert isinstance(found, dict)
    return found


def _parse_run(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    # Our options end where the program begins, as those of python do.
    takes_value = {
        flag
        for action in commands(parser)["run"]._actions
        if action.nargs != 0
        for flag in action.option_strings
    }
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        if words[at][:2] in ("-m", "-c"):
            break
        at += 2 if words[at] in takes_value else 1
    arguments = parser.parse_args(["run", *words[:at]])  # ends here for --help
    program = words[at + 1 :] if words[at : at + 1] == ["--"] else words[at:]
    if program in ([], ["-m"], ["-c"]):
        raise Failure(
            "nothing to run: name a script, -m MODULE or -c COMMAND after the options; "
            f"see {PROGRAM} run --help",
            Status.USAGE,
        )
    arguments.program = program
    return arguments


def make_parser() -> argparse.ArgumentParser:
    """All commands."""
    parser = _Parser(
        prog=PROGRAM,
        description=f"{SUMMARY[0].upper()}{SUMMARY[1:]}. Runs programs under a watch for reference "
        "cycles that hold tensors, and reads the reports they leave. Wherever a report is read, "
        "FILE is a .json or .html report, a folder of them, a glob, or - for standard input.",
        epilog=f"Exit status: {EXIT_STATUS} {PROGRAM} COMMAND --help explains a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {_native.__version__}")
    subparsers = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", parser_class=_Parser
    )

    def command(name: str, help: str, description: str, **more: Any) -> _Parser:
        return subparsers.add_parser(
            name, help=help, description=description, allow_abbrev=False, **more
        )

    _add_run(command)
    _add_readers(command)
    _add_comparisons(command)
    _add_writers(command)
    return parser


def _add_run(command: Callable[..., _Parser]) -> None:
    run = command(
        "run",
        "run a program under the watch",
        "Replaces this process by python with an unmodified program. Nothing is printed while it "
        "runs; at the end, one sentence on standard error says what was found and where the "
        "report is. A report file is written as soon as there is a finding. Options come before "
        "the program; everything after it is the program's.",
        usage=f"{PROGRAM} run [OPTION...] SCRIPT [ARGUMENT...]\n"
        f"       {PROGRAM} run [OPTION...] -m MODULE [ARGUMENT...]\n"
        f"       {PROGRAM} run [OPTION...] -c COMMAND [ARGUMENT...]",
        epilog=ENVIRONMENT,
    )
    run.setting(
        "--devices",
        metavar="NAMES",
        help="what to watch: auto (accelerators if one is usable, else the CPU), all, or names "
        "with commas between them, such as cuda,cpu or cuda:1 (default: auto)",
    )
    run.setting(
        *("-o", "--output"),
        metavar="PATH",
        help="file or folder of the report; {script}, {pid} and {rank} stand for themselves, and "
        "RANK is added if the name does not have it (default: "
        "cyclewatch-<script>[-rank<RANK>]-<pid>.html in the current folder)",
    )
    run.setting(
        "--format",
        metavar="FORMATS",
        help="formats of the report, with commas between them; one file each (default: what the "
        "suffix of --output says, else html)",
    )
    run.setting(
        "--min-bytes",
        metavar="BYTES",
        help="leave out findings that held less, such as 64K or 1.5M (default: 0)",
    )
    run.setting(
        "--budget",
        metavar="SHARE",
        help="share of wall time the watch may use, such as 0.01 or 1%%; beyond it equal findings "
        "are only counted (default: 0.01)",
    )
    run.setting(
        "--fail",
        help="exit with 1 if a finding remains and the program itself ended with 0; the cards go "
        "to standard error then",
    )
    run.setting(
        "--collect-every",
        metavar="SECONDS",
        help="call gc.collect() on the main thread every so many seconds, for programs that "
        "switched automatic collection off",
    )
    run.setting(
        "--collect-at-exit",
        help="call gc.collect() when the program has ended, after its own exit handlers: what it "
        "left to the collector is then found too",
    )
    run.setting(
        "--follow-fork",
        help="go on watching in forked children; each writes a report of its own. Workers of "
        "multiprocessing and DataLoader are such children",
    )
    run.setting(
        "--warn",
        help="issue warnings and log cards while the program runs, as warn_tensor_cycles() does; "
        "otherwise nothing is printed before it ends",
    )
    run.setting("-f", "--force", help="let --output replace a file that is there already")
    run.setting("-q", "--quiet", help="print nothing at the end either")
    run.option("-m", metavar="MODULE", help="run a module, as python -m does")
    run.option("-c", metavar="COMMAND", help="run this code, as python -c does")
    run.add_argument(
        "program",
        metavar="PROGRAM",
        nargs=argparse.REMAINDER,
        help="a script, a folder or archive with a __main__.py, or - for standard input; and what "
        "the program finds in sys.argv",
    )


def _add_readers(command: Callable[..., _Parser]) -> None:
    show = command(
        "show",
        "print the cards of reports",
        "Prints what was found, largest first, with the reference to cut.",
    )
    show.option("-n", "--top", metavar="N", convert=options.count, help="only the largest so many")
    show.option(
        *("-s", "--signature"),
        metavar="SIGNATURE",
        action="append",
        help="only the finding of this signature; may be given several times",
    )
    _add_layout(show)
    _add_files(show)

    view = command(
        "view",
        "look at reports in a browser",
        "Makes one self-contained page of all the reports and opens it in a browser. A single "
        ".html report is opened as it is.",
    )
    _add_output(
        view,
        "where to write the page (default: the report's name with .html, or "
        "cyclewatch-merged.html)",
    )
    view.switch("--no-open", help="only write the page and print its path")
    _add_json(view)
    _add_files(view)

    explain = command(
        "explain",
        "explain a kind of cycle and how to end it",
        "Prints the explanation of a pattern, with code before and after the fix. For a "
        "signature, the pattern is looked up in the reports given.",
    )
    _add_layout(explain)
    explain.add_argument(
        "subject", metavar="SIGNATURE|PATTERN", help="such as closure-captures-self"
    )
    explain.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        default=[],  # without one argparse would require a FILE
        help="reports that have the signature (default: this folder's)",
    )


def _add_comparisons(command: Callable[..., _Parser]) -> None:
    diff = command(
        "diff",
        "compare two runs by signature",
        "Says which findings are new, gone, grown and shrunk.",
    )
    diff.switch("--fail", help="exit with 1 if a finding is new or has grown")
    verify = command(
        "verify",
        "check that a fix worked",
        "Exits with 0 only if every expected signature was found before and is gone now, and the "
        "bytes retained by cycles fell.",
    )
    verify.option(
        *("-e", "--expect"),
        metavar="SIGNATURE",
        action="append",
        help="the signature that has to be gone; may be given several times",
    )
    for each in (diff, verify):
        _add_json(each)
        each.add_argument("before", metavar="BEFORE", help="reports of the run before")
        each.add_argument("after", metavar="AFTER", help="reports of the run after")


def _add_writers(command: Callable[..., _Parser]) -> None:
    convert = command(
        "convert",
        "write reports in another format",
        "The format is that of --to, or of the suffix of --output. Without --output each report "
        "is written beside its file, with the suffix of the format. heapsnapshot is what the "
        "memory panel of Chrome's DevTools loads; png needs rsvg-convert, resvg or inkscape.",
    )
    convert.option(
        *("-t", "--to"), metavar="FORMAT", choices=options.CONVERSIONS, help="the format"
    )
    _add_output(convert, "file, or folder for several reports; - is standard output")
    _add_json(convert)
    _add_files(convert)

    merge = command(
        "merge",
        "make one report of many",
        "Joins the reports of many processes, ranks or runs. Equal findings become one, which "
        "still knows which process saw it.",
    )
    _add_output(merge, "where to write the report (default: standard output, as JSON)")
    _add_files(merge)

    strip = command(
        "strip",
        "remove what a report should not tell others",
        "Writes a report without the paths, or without the names, of the program it came from. "
        "Signatures stay, so that the finding can be recognised; they are hashes of the names, "
        "and whoever guesses all names of a cycle can confirm the guess.",
    )
    strip.switch("--paths", help="remove folders: /home/me/train.py:30 becomes train.py:30")
    strip.switch(
        "--names",
        help="replace the program's own names by name1, name2 ...; those of Python, torch and "
        "numpy stay",
    )
    _add_output(strip, "where to write the report (default: standard output, as JSON)")
    _add_files(strip, "the report")

    completion = command(
        "completion",
        "print a completion script for a shell",
        'Needs shtab (pip install cyclewatch[cli]). For bash, put eval "$(cyclewatch completion '
        'bash)" into ~/.bashrc. For zsh, write the output to a file named _cyclewatch in a folder '
        "of $fpath.",
    )
    completion.add_argument("shell", metavar="SHELL", help="bash, zsh or tcsh")


def _add_output(parser: _Parser, help: str) -> None:
    parser.option("-o", "--output", metavar="PATH", help=help)
    parser.switch("-f", "--force", help="replace files that are there already")


def _add_files(parser: _Parser, help: str = "reports to read") -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help=help)


def _add_json(parser: _Parser) -> None:
    parser.switch("--json", help="print JSON, for machines")


def _add_layout(parser: _Parser) -> None:
    parser.option(
        "--width",
        metavar="COLUMNS",
        convert=options.columns,
        help="columns to fill (default: the terminal's)",
    )
    parser.option(
        "--color",
        metavar="WHEN",
        choices=("auto", "always", "never"),
        default="auto",
        help="colour the cards; auto: on a terminal, unless NO_COLOR is set (needs the extra "
        "cyclewatch[cli])",
    )
    _add_json(parser)
