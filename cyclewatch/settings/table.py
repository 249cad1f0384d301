# SPDX-License-Identifier: Apache-2.0
"""The table of settings: what can be set on the command line, in the environment and in pytest.

A setting is declared here only. Its options, its environment variable, its key in pytest's ini
file, its error messages, and its entries in the manual page and in docs/settings.md come from its
row. To add a setting, add a row and run ``scripts/manual.py``. Code that uses the setting finds
its value under the row's name.
"""

from __future__ import annotations

import cyclewatch.settings.kinds as kinds
from cyclewatch.settings.arguments import REPEATS
from cyclewatch.settings.kinds import Kind, one_of

# Where a setting applies. Each setting of RUN is also an environment variable.
RUN = "cyclewatch run"
ATTACH = "cyclewatch attach"
NOTEBOOK = "%%cyclewatch"
PYTEST = "pytest"


class Setting:
    """A row of the table.

    Attributes:
        name: The name in Python code, after which the options and the variable are named.
        default: The value if the setting is not given.
        sentence: What the setting does; begins in lower case and has no full stop.
        places: Where the setting applies.
        short: The short option of ``cyclewatch run``; "" if there is none.
        unset: Describes what happens if the setting is not given, if `default` does not.
    """

    __slots__ = (
        *("_kind", "_pytest_kind", "_unit", "default", "name", "places", "sentence"),
        *("short", "unset"),
    )

    def __init__(
        self,
        name: str,
        kind: Kind,
        default: object,
        sentence: str,
        *places: str,
        short: str = "",
        unit: str = "",
        unset: str = "",
        pytest_kind: Kind | None = None,
    ) -> None:
        """`unit` replaces the unit of `kind`; `pytest_kind` replaces `kind` in pytest."""
        self.name = name
        self.default = default
        self.sentence = sentence
        self.places = places
        self.short = short
        self.unset = unset
        self._kind = kind
        self._unit = unit
        self._pytest_kind = pytest_kind or kind

    def kind(self, place: str) -> Kind:
        """How the value is written."""
        return self._pytest_kind if place == PYTEST else self._kind

    def unit(self, place: str) -> str:
        """Stands for the value in help texts; "" for a switch."""
        return self._unit or self.kind(place).unit

    def option(self, place: str) -> str:
        """The option, such as --min-bytes; in pytest, --cyclewatch-min-bytes."""
        return f"--{self.key if place == PYTEST else self.name}".replace("_", "-")

    @property
    def key(self) -> str:
        """The key in pytest's ini file."""
        return "cyclewatch" if self.name == "mode" else f"cyclewatch_{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable, such as CYCLEWATCH_MIN_BYTES."""
        return f"CYCLEWATCH_{self.name.upper()}"

    @property
    def default_text(self) -> str:
        """The default, as in help texts; "" for a switch."""
        if self.unset or self.default is None or self._kind is kinds.SWITCH:
            return self.unset
        return ",".join(self.default) if isinstance(self.default, list) else str(self.default)

    @property
    def help(self) -> str:
        """The sentence, with the default."""
        default = self.default_text
        return f"{self.sentence} (default: {default})" if default else self.sentence


def settings_of(place: str) -> list[Setting]:
    """The rows that apply in `place`."""
    return [setting for setting in SETTINGS if place in setting.places]


def setting_of(name: str, place: str) -> Setting:
    """The row of a setting."""
    return next(each for each in settings_of(place) if each.name == name)


SETTINGS = (
    Setting(
        "mode",
        one_of("fail", "warn", "off"),
        "off",
        "fail tests whose reference cycles keep tensors alive, or only warn; --cyclewatch alone "
        "means --cyclewatch=fail",
        PYTEST,
    ),
    Setting(
        "devices",
        kinds.NAMES,
        ["auto"],
        "devices to watch: auto (accelerators if any is usable, else the CPU), all, or a "
        "comma-separated list such as cuda,cpu or cuda:1",
        *(RUN, ATTACH, NOTEBOOK, PYTEST),
    ),
    Setting(
        "output",
        kinds.TEXT,
        None,
        "file or folder for the report. {script}, {pid} and {rank} are replaced by their "
        "values. If the environment variable RANK is set, its value is appended to a name that "
        "does not contain {rank}",
        RUN,
        short="-o",
        unit="PATH",
        unset="cyclewatch-<script>[-rank<RANK>]-<pid>.html in the current directory",
    ),
    Setting(
        "format",
        kinds.NAMES,
        None,
        "comma-separated formats of the report, one file each",
        RUN,
        unit="FORMATS",
        unset="from the suffix of --output, else html",
    ),
    Setting(
        "min_bytes",
        kinds.BYTES,
        0,
        "ignore findings that retain fewer bytes than this size, such as 64KiB or 1.5MiB",
        *(RUN, NOTEBOOK, PYTEST),
        pytest_kind=kinds.DECIMAL_BYTES,
    ),
    Setting(
        "budget",
        kinds.SHARE,
        0.01,
        "share of wall time that the watch may use, such as 0.01 or 1%; if this share is "
        "exceeded, only some collections are searched",
        RUN,
    ),
    Setting(
        "no_source",
        kinds.SWITCH,
        False,
        "omit lines of the program's source code from the report and the cards",
        *(RUN, PYTEST),
    ),
    Setting(
        "fail",
        kinds.SWITCH,
        False,
        "print the cards to standard error, and exit with 1 instead of 0, if there are new "
        "findings",
        RUN,
    ),
    Setting(
        "collect_every",
        kinds.SECONDS,
        None,
        "call gc.collect() on the main thread, with this interval between two calls, for "
        "programs that disable automatic collection. Intervals are extended if the calls take "
        "more than --budget or, by default, 10% of the run time; this also applies to "
        "--scan-every and --census-every",
        RUN,
    ),
    Setting(
        "scan_every",
        kinds.SECONDS_OR_NEVER,
        None,
        "scan for unreachable tensors at this interval, while automatic collection is off or "
        "objects are frozen; scans run on the main thread, and 0 disables them",
        RUN,
        unset="0",
    ),
    Setting(
        "census_every",
        kinds.SECONDS,
        None,
        "list the reachable tensors and account for the memory in use at this interval, within "
        "the budget, and report groups of tensors whose memory use grows; runs on the main thread",
        RUN,
    ),
    Setting(
        "steps",
        kinds.STEPS,
        None,
        "observe only these training steps, such as 10:15; both are included. The step is the "
        "number that the program passes to Watch.step() or collect_at.run(), or else the number of "
        "completed steps of its first torch optimizer",
        RUN,
        unset="observe the whole run",
    ),
    Setting(
        "record_history",
        kinds.COUNT,
        0,
        "record the call stack of each allocation, and show it with the tensors: N events in "
        "torch's memory history, from the time the program initializes CUDA, or, if no GPU is "
        "usable, N frames per object with tracemalloc, at most 100, which slows down the program",
        RUN,
        unset="record nothing",
    ),
    Setting(
        "snapshot",
        kinds.SWITCH,
        False,
        "let torch record its memory history, in --steps or from the time the program "
        "initializes CUDA, and write a memory snapshot next to the report, for cyclewatch snapshot",
        RUN,
    ),
    Setting(
        "collect_at_exit",
        kinds.SWITCH,
        False,
        "call gc.collect() at exit, after the program's exit handlers, to find cycles that "
        "have not been collected yet",
        RUN,
    ),
    Setting(
        "no_exit_scan",
        kinds.SWITCH,
        False,
        "do not scan the heap at exit or when the last of --steps ends, and do not record at exit "
        "what the memory is used for; a scan takes about as long as one full collection, the "
        "record as long as eight (omitted if there are more than a million objects), and they free "
        "nothing",
        RUN,
    ),
    Setting(
        "gather",
        kinds.SECONDS_OR_NEVER,
        None,
        "with torchrun: seconds for which rank 0 waits at exit for the reports of the other "
        "ranks, to write a merged report; 0 disables this",
        RUN,
        unset="10 for up to 64 ranks, else 0",
    ),
    Setting(
        "never_freed",
        kinds.SWITCH,
        False,
        "at exit, also search for tensors in cycles that no collection frees, because they lead "
        "through torch's C++ objects or NumPy arrays; the search takes about as long as two "
        "full collections, plus up to 20 microseconds per autograd node",
        RUN,
    ),
    Setting(
        "follow_fork",
        kinds.SWITCH,
        False,
        "also watch forked children, and all workers of multiprocessing and DataLoader; "
        "each writes its own report",
        RUN,
    ),
    Setting(
        "no_oom",
        kinds.SWITCH,
        False,
        "do not write an -oom.txt report and page if the program ends with an out-of-memory error",
        RUN,
    ),
    Setting(
        "warn",
        kinds.SWITCH,
        False,
        "issue warnings and log cards while the program runs, as warn_tensor_cycles() does",
        RUN,
    ),
    Setting(
        "repeat",
        one_of(*REPEATS),
        "new",
        "with --warn: new (warn about new findings, and about known findings whose size has "
        "doubled) or each (also warn about known findings in each collection)",
        RUN,
        unit="WHICH",
    ),
    Setting(
        "force",
        kinds.SWITCH,
        False,
        "replace an existing file named by --output",
        RUN,
        short="-f",
    ),
    Setting("quiet", kinds.SWITCH, False, "print nothing at exit", RUN, short="-q"),
    Setting(
        "libraries",
        one_of("warn", "fail"),
        "warn",
        "warn: list cycles that only a change of library code can fix. fail: fail the test. The "
        "environment variable CYCLEWATCH_LIBRARIES sets the default, also for run --fail",
        PYTEST,
    ),
    Setting(
        "scope",
        one_of("all", "call"),
        "all",
        "all: check setup, call and teardown separately. call: check only the body of the test",
        PYTEST,
    ),
    Setting(
        "repeat",
        kinds.COUNT,
        1,
        "run the body of each test N times, and report only cycles that at least two of the runs "
        "created",
        PYTEST,
    ),
    Setting(
        "report",
        kinds.PATH,
        None,
        "write one report of the whole run, cyclewatch.html and cyclewatch.json",
        PYTEST,
        unit="DIR",
    ),
    Setting(
        "sarif",
        kinds.PATH,
        None,
        "write the new cycles as SARIF 2.1.0, with the level error if they fail a test, otherwise "
        "warning",
        PYTEST,
        unit="FILE",
    ),
    Setting(
        "gitlab",
        kinds.PATH,
        None,
        "write the new cycles as a code quality report of GitLab, with the severity major if they "
        "fail a test, otherwise minor",
        PYTEST,
        unit="FILE",
    ),
    Setting(
        "baseline",
        kinds.PATH,
        None,
        "let the cycles that are listed in FILE pass",
        PYTEST,
        unit="FILE",
    ),
    Setting(
        "update_baseline",
        kinds.SWITCH,
        False,
        "remove vanished cycles from the baseline, or create the baseline if it does not exist",
        PYTEST,
    ),
    Setting(
        "strict_baseline",
        kinds.SWITCH,
        False,
        "fail the run if a cycle in the baseline has vanished",
        PYTEST,
    ),
    Setting(
        "clear_tracebacks",
        kinds.SWITCH,
        False,
        "clear the frames of a failed test's exception after the test, to free its tensors",
        PYTEST,
    ),
    Setting(
        "github",
        one_of("auto", "on", "off"),
        "auto",
        "print GitHub annotations (error or warning, as in SARIF), and add the cards of the new "
        "cycles to the job's summary page; auto: if GITHUB_ACTIONS is true",
        PYTEST,
    ),
    Setting(
        "live",
        kinds.SWITCH,
        False,
        "fail tests that leave more tensor memory reachable than before, and show the paths that "
        "keep it alive; scans the heap twice per test",
        PYTEST,
    ),
    Setting(
        "never_freed",
        kinds.SWITCH,
        False,
        "also find the tensors in cycles that no collection frees, because they lead through "
        "torch's C++ objects or NumPy arrays; examines the whole heap twice per test; on the "
        "command line, implies --cyclewatch unless the ini file sets another mode",
        PYTEST,
    ),
    Setting(
        "freeze",
        one_of("on", "off"),
        "on",
        "off: do not freeze older objects during a test; each check then examines the whole heap",
        PYTEST,
    ),
)
