# SPDX-License-Identifier: Apache-2.0
"""Every command and option, once. Parser, manual page, completion and docs are made of this."""

from __future__ import annotations

from cyclewatch.cli import options as kinds
from cyclewatch.cli.options import Argument, Command, Option

PROGRAM = "cyclewatch"
SUMMARY = "name the reference that keeps device memory alive in garbage cycles"
DESCRIPTION = (
    "Runs programs under a watch for reference loops that hold tensors, and reads the reports "
    "they leave. Wherever a report is read, FILE is a .json or .html report, a folder of them, a "
    "glob, or - for standard input."
)

# What a shell offers; each but the first two also takes an index.
DEVICES = ("auto", "all", "cpu", "cuda", "xpu", "mps", "mtia", "hpu", "npu", "xla")

WATCH_OPTIONS = (
    Option(
        ("--devices",),
        "what to watch: auto (accelerators where one is usable, else the CPU), all, or names "
        "with commas between them, such as cuda,cpu or cuda:1 (default: auto)",
        "NAMES",
        convert=kinds.names,
        default=["auto"],
        completes="device",
        environment="CYCLEWATCH_DEVICES",
    ),
    Option(
        ("-o", "--output"),
        "file or folder of the report; {script}, {pid} and {rank} stand for themselves, and "
        "RANK is added where the name does not have it (default: "
        "cyclewatch-<script>[-rank<RANK>]-<pid>.html in the current folder)",
        "PATH",
        completes="file",
        environment="CYCLEWATCH_OUTPUT",
    ),
    Option(
        ("--format",),
        "formats of the report, with commas between them; one file each (default: what the "
        "suffix of --output says, else html)",
        "FORMATS",
        convert=kinds.names,
        completes="format",
        environment="CYCLEWATCH_FORMAT",
    ),
    Option(
        ("--min-bytes",),
        "leave out findings that held less, such as 64K or 1.5M (default: 0)",
        "BYTES",
        convert=kinds.byte_count,
        default=0,
        environment="CYCLEWATCH_MIN_BYTES",
    ),
    Option(
        ("--budget",),
        "share of wall time the watch may use, such as 0.01 or 1%; beyond it equal findings are "
        "only counted (default: 0.01)",
        "SHARE",
        convert=kinds.share,
        default=0.01,
        environment="CYCLEWATCH_BUDGET",
    ),
    Option(
        ("--fail",),
        "exit with 1 if a finding remains and the program itself ended with 0; the cards go to "
        "standard error then",
        environment="CYCLEWATCH_FAIL",
    ),
    Option(
        ("--collect-every",),
        "call gc.collect() on the main thread every so many seconds, for programs that switched "
        "automatic collection off",
        "SECONDS",
        convert=kinds.seconds,
        environment="CYCLEWATCH_COLLECT_EVERY",
    ),
    Option(
        ("--collect-at-exit",),
        "call gc.collect() when the program has ended, after its own exit handlers: what it left "
        "to the collector is then found too",
        environment="CYCLEWATCH_COLLECT_AT_EXIT",
    ),
    Option(
        ("--follow-fork",),
        "go on watching in forked children; each writes a report of its own. Workers of "
        "multiprocessing and DataLoader are such children",
        environment="CYCLEWATCH_FOLLOW_FORK",
    ),
    Option(
        ("--warn",),
        "issue warnings and log cards while the program runs, as warn_tensor_cycles() does; "
        "otherwise nothing is printed before it ends",
        environment="CYCLEWATCH_WARN",
    ),
    Option(
        ("-f", "--force"),
        "let --output replace a file that is there already",
        environment="CYCLEWATCH_FORCE",
    ),
    Option(("-q", "--quiet"), "print nothing at the end either", environment="CYCLEWATCH_QUIET"),
)

_FORCE = Option(("-f", "--force"), "replace files that are there already")
_JSON = Option(("--json",), "print JSON, for machines")
_OUTPUT = Option(
    ("-o", "--output"), "where to write it; - is standard output", "PATH", completes="file"
)
_WIDTH = Option(
    ("--width",), "columns to fill (default: the terminal's)", "COLUMNS", convert=kinds.columns
)
_COLOR = Option(
    ("--color",),
    "colour the cards; auto: on a terminal, unless NO_COLOR is set (needs the extra "
    "cyclewatch[cli])",
    "WHEN",
    choices=("auto", "always", "never"),
    default="auto",
)
_FILES = Argument("files", "FILE", "reports to read", "+")
_BEFORE = Argument("before", "BEFORE", "reports of the run before")
_AFTER = Argument("after", "AFTER", "reports of the run after")

CONVERSIONS = ("text", "json", "dot", "svg", "png", "html", "heapsnapshot")

COMMANDS = (
    Command(
        "run",
        "run a program under the watch",
        "Replaces this process by python with an unmodified program. Nothing is printed while it "
        "runs; at the end, one sentence on standard error says what was found and where the "
        "report is. A report file is written as soon as there is a finding. Options stand before "
        "the program; everything after it is the program's. Setting CYCLEWATCH=1 does the same for "
        "every Python program of this installation, without a change to its command line.",
        (
            *WATCH_OPTIONS,
            Option(("-m",), "run a module, as python -m does", "MODULE", is_last=True),
            Option(("-c",), "run this code, as python -c does", "COMMAND", is_last=True),
        ),
        (
            Argument(
                "program",
                "PROGRAM",
                "a script, a folder or archive with a __main__.py, or - for standard input",
            ),
            Argument("words", "ARGUMENT", "what the program finds in sys.argv", "*"),
        ),
        (
            "[OPTION...] SCRIPT [ARGUMENT...]",
            "[OPTION...] -m MODULE [ARGUMENT...]",
            "[OPTION...] -c COMMAND [ARGUMENT...]",
        ),
    ),
    Command(
        "show",
        "print the cards of reports",
        "Prints what was found, heaviest first, with the reference to cut.",
        (
            Option(("-n", "--top"), "only the heaviest so many", "N", convert=kinds.count),
            Option(
                ("-s", "--signature"),
                "only the finding of this signature; may be given several times",
                "SIGNATURE",
                repeated=True,
            ),
            _WIDTH,
            _COLOR,
            _JSON,
        ),
        (_FILES,),
    ),
    Command(
        "view",
        "look at reports in a browser",
        "Makes one self-contained page of all the reports and opens it in a browser. A single "
        ".html report is opened as it is.",
        (
            Option(
                ("-o", "--output"),
                "where to write the page (default: the report's name with .html, or "
                "cyclewatch-merged.html)",
                "PATH",
                completes="file",
            ),
            Option(("--no-open",), "only write the page and print its path"),
            _FORCE,
            _JSON,
        ),
        (_FILES,),
    ),
    Command(
        "convert",
        "write reports in another format",
        "The format is that of --to, or of the suffix of --output. Without --output each report "
        "is written beside its file, with the suffix of the format. heapsnapshot is what the "
        "memory panel of Chrome's DevTools loads; png needs rsvg-convert, resvg or inkscape.",
        (
            Option(("-t", "--to"), "the format", "FORMAT", choices=CONVERSIONS),
            Option(
                ("-o", "--output"),
                "file, or folder for several reports; - is standard output",
                "PATH",
                completes="file",
            ),
            _FORCE,
            _JSON,
        ),
        (_FILES,),
    ),
    Command(
        "diff",
        "compare two runs by signature",
        "Says which findings are new, gone, grown and shrunk.",
        (Option(("--fail",), "exit with 1 if a finding is new or has grown"), _JSON),
        (_BEFORE, _AFTER),
    ),
    Command(
        "verify",
        "check that a fix worked",
        "Exits with 0 only if every expected signature was found before and is gone now, and the "
        "bytes held in loops fell.",
        (
            Option(
                ("-e", "--expect"),
                "the signature that has to be gone; may be given several times",
                "SIGNATURE",
                repeated=True,
            ),
            _JSON,
        ),
        (_BEFORE, _AFTER),
    ),
    Command(
        "merge",
        "make one report of many",
        "Joins the reports of many processes, ranks or runs. Equal findings become one, which "
        "still knows which process saw it.",
        (
            _OUTPUT._replace(help="where to write the report (default: standard output, as JSON)"),
            _FORCE,
        ),
        (_FILES,),
    ),
    Command(
        "strip",
        "remove what a report should not tell others",
        "Writes a report without the paths, or without the names, of the program it came from. "
        "Signatures stay, so that the finding can be recognised; they are hashes of the names, "
        "and whoever guesses all names of a loop can confirm the guess.",
        (
            Option(("--paths",), "remove folders: /home/me/train.py:30 becomes train.py:30"),
            Option(
                ("--names",),
                "replace the program's own names by name1, name2 ...; those of Python, torch "
                "and numpy stay",
            ),
            _OUTPUT._replace(help="where to write the report (default: standard output, as JSON)"),
            _FORCE,
        ),
        (Argument("files", "FILE", "the report", "+"),),
    ),
    Command(
        "explain",
        "explain a kind of loop and how to end it",
        "Prints the explanation of a pattern, with code before and after the fix. For a "
        "signature, the pattern is looked up in the reports given.",
        (_WIDTH, _COLOR, _JSON),
        (
            Argument(
                "subject",
                "SIGNATURE|PATTERN",
                "such as closure-captures-self",
                completes="pattern",
            ),
            Argument(
                "files", "FILE", "reports that have the signature (default: this folder's)", "*"
            ),
        ),
    ),
    Command(
        "completion",
        "print a completion script for a shell",
        'For bash, put  eval "$(cyclewatch completion bash)"  into ~/.bashrc. For zsh, write '
        "the output to a file named _cyclewatch in a folder of $fpath; or evaluate it in ~/.zshrc, "
        "after compinit.",
        (),
        (Argument("shell", "SHELL", "bash or zsh", choices=("bash", "zsh"), completes=""),),
    ),
)

COMMON_OPTIONS = (
    Option(("-h", "--help"), "explain the command and exit"),
    Option(("--version",), "print the version and exit"),
)


def command(name: str) -> Command:
    """The command of that name."""
    return next(each for each in COMMANDS if each.name == name)
