# SPDX-License-Identifier: Apache-2.0
"""The command-line parser.

The manual page, docs/command_line.md and shell completion are generated from the parser.
"""

from __future__ import annotations

import argparse
import difflib
from typing import Any, NoReturn

from cyclewatch import _native
from cyclewatch.cli import options, terminal
from cyclewatch.cli.failures import Failure, Status
from cyclewatch.settings.kinds import COLUMNS, COUNT, SECONDS, TEXT, Kind
from cyclewatch.settings.table import ATTACH, RUN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = "cyclewatch"
CONVERSIONS = ("text", "json", "dot", "svg", "png", "pdf", "html")
SUMMARY = "find reference cycles that keep device memory alive, and the reference to cut"
ENVIRONMENT = (
    "CYCLEWATCH=1 watches every program of this Python installation in the same way as cyclewatch "
    "run; 0 or an empty value disables the watch. Each option of run has a corresponding "
    "variable, such as CYCLEWATCH_MIN_BYTES for --min-bytes and CYCLEWATCH_FAIL=1 for --fail."
)
EXIT_STATUS = (
    "0: success. 1: a negative answer (verify: the fix is not verified; diff --fail: a finding is "
    "new or has grown; show and explain: no finding has the signature, or the finding does "
    "not match a known pattern). "
    "2: usage error. 3: a file cannot be read or written, is not a report, or already exists, or "
    "verify or diff --fail cannot answer because a report was not examined to its end. run "
    "exits with the status of the program, or is terminated by the same signal as the program. "
    "With --fail, it exits with 1 instead of 0 if there are new findings."
)


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: object = None) -> None:
        terminal.show(message.rstrip("\n"))  # only --help and --version print through argparse

    def parse_known_args(self, *words: Any) -> Any:  # type: ignore[override]
        # By default, argparse reports a command's unknown options through the main parser.
        arguments, unknown = super().parse_known_args(*words)
        if unknown:
            near = difflib.get_close_matches(
                unknown[0], self._option_string_actions, n=1, cutoff=0.8
            )
            hint = f"; did you mean {near[0]}?" if near else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return arguments, unknown

    def error(self, message: str) -> NoReturn:
        raise Failure(f"{message}; see {self.prog} --help", Status.USAGE)

    def option(self, *flags: str, kind: Kind = TEXT, **more: Any) -> None:
        """Add an option with a value."""
        self.add_argument(*flags, type=options.value_of(kind), **more)

    def switch(self, *flags: str, help: str) -> None:
        """Add a boolean option."""
        self.add_argument(*flags, action="store_true", help=help)


def parse(words: list[str]) -> argparse.Namespace:
    """Parse the arguments. Raises Failure, or SystemExit for --help and --version."""
    parser = make_parser()
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if words and not words[0].startswith("-") and words[0] not in commands(parser):
        raise Failure(_unknown_command(words[0], list(commands(parser))), Status.USAGE)
    if words[:1] == ["run"]:
        return _parse_run(parser, words[1:])
    arguments = parser.parse_args(words)
    if arguments.command is None:
        raise Failure(f"no command given\n{parser.format_help()}", Status.USAGE)
    return arguments


def _unknown_command(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    if word.endswith(".py"):
        near = [f"run {word}"]
    hint = f"; did you mean {PROGRAM} {near[0]}?" if near else ""
    return f"{word!r} is not a command{hint}; see {PROGRAM} --help"


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parser of each command, by name."""
    (found,) = (each.choices for each in parser._actions if each.dest == "command")
    assert isinstance(found, dict)
    return found


def _parse_run(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    # As with python, options end at the name of the program.
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
    arguments = parser.parse_args(["run", *words[:at]])  # exits for --help
    program = words[at + 1 :] if words[at : at + 1] == ["--"] else words[at:]
    if program in ([], ["-m"], ["-c"]):
        raise Failure(
            "nothing to run: expected a script, -m MODULE or -c COMMAND after the options; "
            f"see {PROGRAM} run --help",
            Status.USAGE,
        )
    arguments.program = program
    return arguments


def make_parser() -> argparse.ArgumentParser:
    """Build the parser with all commands."""
    parser = _Parser(
        prog=PROGRAM,
        description="Find reference cycles that keep device memory alive, and the reference to "
        "cut: run a program with cyclewatch run, then read its reports. FILE is a .json or .html "
        "report, a folder of reports, a glob, or - for standard input.",
        epilog=f"Exit status: {EXIT_STATUS} See {PROGRAM} COMMAND --help for a command.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "-V", "--version", action="version", version=f"{PROGRAM} {_native.__version__}"
    )
    subparsers = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", parser_class=_Parser
    )

    def command(name: str, help: str, description: str, **more: Any) -> _Parser:
        return subparsers.add_parser(
            name, help=help, description=description, allow_abbrev=False, **more
        )

    _add_run(command)
    _add_attach(command)
    _add_readers(command)
    _add_snapshot(command)
    _add_comparisons(command)
    _add_writers(command)
    return parser


def _add_run(command: Callable[..., _Parser]) -> None:
    run = command(
        "run",
        "run a program and report its reference cycles",
        "Run an unmodified Python program and report the reference cycles that keep device memory "
        "alive. The cyclewatch process is replaced by python. Nothing is printed "
        "while the program runs. At exit, the whole heap is scanned for cycles that no collection "
        "has examined, and one line on standard error summarizes the run. The report is written "
        "at the first finding. Without findings, it is written at exit if --output names a file "
        "or the environment variable RANK is set. Arguments after the program are passed to it.",
        usage=f"{PROGRAM} run [OPTION...] SCRIPT [ARGUMENT...]\n"
        f"       {PROGRAM} run [OPTION...] -m MODULE [ARGUMENT...]\n"
        f"       {PROGRAM} run [OPTION...] -c COMMAND [ARGUMENT...]",
        epilog=ENVIRONMENT,
    )
    options.add_settings(run, RUN)
    run.option("-m", metavar="MODULE", help="run a module, as python -m does")
    run.option("-c", metavar="COMMAND", help="run code, as python -c does")
    run.add_argument(
        "program",
        metavar="PROGRAM",
        nargs=argparse.REMAINDER,
        help="a script, a folder or archive with a __main__.py, or - for standard input, followed "
        "by its arguments",
    )


def _add_attach(command: Callable[..., _Parser]) -> None:
    attach = command(
        "attach",
        "examine a running process",
        "Scan the heap of a Python process that does not use cyclewatch, list its reachable "
        "tensors, and write a report. cyclewatch and the process must run as the same user, on the "
        "same version of CPython (3.14 or later). The main thread of the process pauses for about "
        "as long as three collections take.",
    )
    options.add_settings(attach, ATTACH)
    _add_process(attach)
    _add_output(attach, "output file (default: cyclewatch-attach-<PID>.html)")

    memory = command(
        "memory",
        "account for the memory of a running process",
        "Print what a Python process that need not use cyclewatch has in use on one device: first "
        "what most of it is and what to do next, then lines that add up, the reference cycles and "
        "the largest groups of reachable tensors. The requirements of cyclewatch attach apply. The "
        "main thread of the process pauses for about as long as six collections take.",
    )
    memory.option(
        "--device",
        metavar="NAME",
        default="",
        help="cpu, cuda or cuda:1 (default: the current CUDA device if the process has initialized "
        "CUDA with torch, else the CPU)",
    )
    _add_process(memory)
    _add_json(memory)


def _add_process(parser: _Parser) -> None:
    parser.option(
        "--timeout",
        metavar="SECONDS",
        kind=SECONDS,
        default=10.0,
        help="fail if the main thread of the process does not run Python code within this time "
        "(default: 10)",
    )
    parser.option("pid", metavar="PID", kind=COUNT, help="process id")


def _add_readers(command: Callable[..., _Parser]) -> None:
    show = command(
        "show",
        "print the cards of reports",
        "Print the card of each finding, largest first, with the reference to cut.",
    )
    show.option("-n", "--top", metavar="N", kind=COUNT, help="show only the N largest findings")
    show.option(
        *("-s", "--signature"),
        metavar="SIGNATURE",
        action="append",
        help="show only the finding with this signature; repeatable",
    )
    _add_layout(show)
    _add_files(show)

    view = command(
        "view",
        "open reports in a browser",
        "Merge the reports into one self-contained HTML page and open it in a browser. A single "
        ".html report is opened directly.",
    )
    _add_output(
        view,
        "output file (default: the name of the report with the suffix .html, or "
        "cyclewatch-merged.html)",
    )
    view.switch(
        "--follow",
        help="while the program runs, write the page again whenever it has written its report, "
        "which it does from the first finding on, or from the start with run --output; the page "
        "reloads itself. Ends with the program, or with Ctrl-C",
    )
    view.switch("--no-open", help="write the page and print its path, but do not open it")
    _add_json(view)
    _add_files(view)

    explain = command(
        "explain",
        "explain a pattern and how to fix it",
        "Print the explanation of a pattern, with example code before and after the fix. Given a "
        "signature, search the reports for the finding, and also print its card and all code "
        "locations to change.",
    )
    _add_layout(explain)
    explain.add_argument(
        "subject",
        metavar="SIGNATURE|PATTERN",
        help="the signature of a finding, or a pattern such as closure-captures-self",
    )
    explain.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        default=[],  # otherwise argparse requires a FILE
        help="reports to search for the signature (default: the current directory)",
    )


def _add_snapshot(command: Callable[..., _Parser]) -> None:
    snapshot = command(
        "snapshot",
        "read snapshots of torch's allocator",
        "Print what the device memory in a snapshot is used for, which calls allocated it, and why "
        "an allocation did not fit. Given two snapshots, first print what grew between them, by "
        "call stack. Given more, or with --ranks, print the rank that differs most from the "
        "median. FILE is a file that torch.cuda.memory._dump_snapshot() wrote (torch 2.1 to 2.15), "
        "or cyclewatch.dump_snapshot(), whose files also show what keeps each allocation alive, "
        "or - for standard input. Only data is read: a pickle that imports a name or calls a "
        "function is refused, so that snapshots of other people can be read safely.",
    )
    snapshot.switch("--ranks", help="the files are snapshots of different ranks")
    snapshot.option(
        "--owners",
        metavar="FILE",
        help="for snapshots that torch wrote: take the owners of the blocks from a report of the "
        "same process, or from a file that cyclewatch.dump_snapshot() wrote in it",
    )
    snapshot.option(
        *("-n", "--top"),
        metavar="N",
        kind=COUNT,
        default=10,
        help="show only the N largest groups of allocations (default: 10)",
    )
    _add_output(snapshot, "write an HTML page instead, which needs no network")
    _add_json(snapshot)
    _add_files(snapshot, "snapshots to read")


def _add_comparisons(command: Callable[..., _Parser]) -> None:
    diff = command(
        "diff",
        "compare two runs by signature",
        "List the findings that are new, have grown, have shrunk or are gone. If both reports list "
        "live tensors (attach, or run with --census-every), also list the groups of live tensors "
        "that have grown. If both reports say what the memory is used for at the same occasion, "
        "such as the end of the run, also list the uses that changed by at least 1 % of the memory "
        "in use.",
    )
    diff.switch("--fail", help="exit with 1 if a finding is new or has grown")
    verify = command(
        "verify",
        "check that a fix worked",
        "Exit with 0 only if every expected signature is in BEFORE but not in AFTER, and cycles "
        "retain fewer bytes in AFTER. AFTER must have been examined to its end: by the scan at "
        "exit, or by a full collection as its last collection.",
    )
    verify.option(
        *("-e", "--expect"),
        metavar="SIGNATURE",
        action="append",
        required=True,
        help="a signature that must be gone; repeatable",
    )
    for each in (diff, verify):
        _add_json(each)
        each.add_argument("before", metavar="BEFORE", help="reports of the first run")
        each.add_argument("after", metavar="AFTER", help="reports of the second run")


def _add_writers(command: Callable[..., _Parser]) -> None:
    convert = command(
        "convert",
        "convert reports to another format",
        "Convert reports to the format given by --to or by the suffix of --output. Without "
        "--output, each result is written next to its report. png needs rsvg-convert, resvg or "
        "inkscape; pdf needs rsvg-convert or inkscape. With --to parquet, which needs pyarrow, the "
        "reports are merged and appended to the dataset in the folder --output.",
    )
    convert.option(
        *("-t", "--to"),
        metavar="FORMAT",
        choices=(*CONVERSIONS, "parquet"),
        help="output format",
    )
    convert.option(
        "--into",
        metavar="TRACE",
        help="add the collections of the reports to a trace that torch.profiler exported (.json or "
        ".json.gz); without --output, write TRACE.cyclewatch.json",
    )
    convert.option(
        "--job",
        metavar="NAME",
        help="with --to parquet: the name of the job, such as the id that the scheduler assigned "
        "(default: the script and the start time)",
    )
    _add_output(convert, "output file, a folder for several reports, or - for standard output")
    _add_json(convert)
    _add_files(convert)

    merge = command(
        "merge",
        "merge reports",
        "Merge the reports of several processes, ranks or runs. Findings with "
        "the same signature become one finding that lists the occurrences in each process.",
    )
    _add_output(merge, "output file (default: standard output, as JSON)")
    _add_files(merge)

    strip = command(
        "strip",
        "remove private information from a report",
        "Remove the program's source code, paths (--paths) or names (--names) from a report. The "
        "source code is always removed, because it contains paths and names, and so are addresses "
        "in device memory. Signatures are kept, "
        "so that findings can be identified. Signatures are hashes of the names in a cycle, so "
        "anyone who guesses all of these names can use the signature to check the guess.",
    )
    strip.switch("--source", help="remove the lines of source code")
    strip.switch("--paths", help="remove folders: /home/me/train.py:30 becomes train.py:30")
    strip.switch(
        "--names",
        help="replace the program's names with name1, name2 ...; names of Python, torch and numpy "
        "are kept; the UUIDs and PCI ids of CUDA devices are removed",
    )
    _add_output(strip, "output file (default: standard output, as JSON)")
    _add_files(strip, "the report")

    completion = command(
        "completion",
        "print a shell completion script",
        "Print a completion script (needs shtab: pip install cyclewatch[cli]). For bash, add eval "
        '"$(cyclewatch completion bash)" to ~/.bashrc. For zsh, save the output as _cyclewatch in '
        "a directory on $fpath.",
    )
    completion.add_argument("shell", metavar="SHELL", help="bash, zsh, tcsh or fish")


def _add_output(parser: _Parser, help: str) -> None:
    parser.option("-o", "--output", metavar="PATH", help=help)
    parser.switch("-f", "--force", help="replace existing files")


def _add_files(parser: _Parser, help: str = "reports to read") -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help=help)


def _add_json(parser: _Parser) -> None:
    parser.switch("--json", help="print JSON")


def _add_layout(parser: _Parser) -> None:
    parser.option(
        "--width",
        metavar="COLUMNS",
        kind=COLUMNS,
        help="maximum line length (default: the width of the terminal)",
    )
    parser.option(
        "--color",
        metavar="WHEN",
        choices=("auto", "always", "never"),
        default="auto",
        help="color the cards; auto: if stdout is a terminal and NO_COLOR is not set",
    )
    _add_json(parser)
