# SPDX-License-Identifier: Apache-2.0
"""The table of options: each row defines a command-line flag and an ini key."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MODES = ("fail", "warn", "off")

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def parse_bytes(text: str | int) -> int:
    """Convert a size such as ``"1 MB"``, ``"64KiB"`` or ``4096`` to bytes. Raises ValueError."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(text))
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(f"{text!r} is not a size; write it as 4096, '64 KiB' or '1 MB'")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _one_of(*words: str) -> Callable[[str], str]:
    def convert(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is not one of {', '.join(words)}")
        return text

    return convert


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is not true or false")
    return text.lower() == "true"


def _devices(text: str) -> tuple[str, ...]:
    return tuple(re.split(r"[,\s]+", text.strip()))


def _at_least_one(text: str) -> int:
    if not text.strip().isdigit() or int(text) < 1:
        raise ValueError(f"{text!r} is not a positive integer")
    return int(text)


def _path(text: str) -> Path:
    if not text:
        raise ValueError("expects a path")
    return Path(text)


class _StoreWord(argparse.Action):
    """Stores the value of a flag such as ``--flag=value``, or `const` if no value is given.

    ``nargs="?"`` would consume a path that follows the flag.
    """

    def __init__(self, **keywords: Any) -> None:
        super().__init__(nargs=0, **keywords)

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        _values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        word = (option_string or "").partition("=")[2]
        setattr(namespace, self.dest, word or self.const)


@dataclass(frozen=True)
class Option:
    """One row of the table. `convert` is applied to `default` and to the user's value."""

    flag: str
    help: str
    default: str | None = None
    convert: Callable[[str], Any] = str
    metavar: str | None = None
    variable: str | None = None  # the environment variable that overrides `default`

    @property
    def key(self) -> str:
        """The name of the option in the ini file."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def field(self) -> str:
        """The name of the attribute in :class:`Settings`."""
        return self.key.removeprefix("cyclewatch_") if self.key != "cyclewatch" else "mode"


OPTIONS = (
    Option(
        "--cyclewatch",
        "Fail tests whose reference cycles keep tensors alive, or only warn. --cyclewatch alone "
        "means --cyclewatch=fail.",
        "off",
        _one_of(*MODES),
    ),
    Option(
        "--cyclewatch-devices",
        "Devices to watch, such as 'cpu' or 'cuda:0,cpu'. auto: accelerators if any is usable, "
        "else the CPU.",
        "auto",
        _devices,
        "NAMES",
    ),
    Option(
        "--cyclewatch-min-bytes",
        "Ignore cycles that retain fewer bytes than SIZE, such as '64 KiB'.",
        "0",
        parse_bytes,
        "SIZE",
    ),
    Option(
        "--cyclewatch-libraries",
        "warn: list cycles that only a change of library code can fix. fail: fail the test. The "
        "default is the environment variable CYCLEWATCH_LIBRARIES, if it is set.",
        "warn",
        _one_of("warn", "fail"),
        "warn|fail",
        "CYCLEWATCH_LIBRARIES",
    ),
    Option(
        "--cyclewatch-scope",
        "all: check setup, call and teardown separately. call: check only the test's body.",
        "all",
        _one_of("all", "call"),
        "all|call",
    ),
    Option(
        "--cyclewatch-repeat",
        "Run each test body N times and report only cycles that recur.",
        "1",
        _at_least_one,
        "N",
    ),
    Option(
        "--cyclewatch-report",
        "Write one report of the whole run to DIR, as HTML and JSON.",
        None,
        _path,
        "DIR",
    ),
    Option("--cyclewatch-sarif", "Write the new cycles as SARIF 2.1.0.", None, _path, "FILE"),
    Option(
        "--cyclewatch-gitlab",
        "Write the new cycles as a code quality report of GitLab.",
        None,
        _path,
        "FILE",
    ),
    Option("--cyclewatch-baseline", "Accept the cycles listed in FILE.", None, _path, "FILE"),
    Option(
        "--cyclewatch-update-baseline",
        "Remove vanished cycles from the baseline, or create the baseline if it does not exist.",
        "false",
        _boolean,
    ),
    Option(
        "--cyclewatch-strict-baseline",
        "Fail the run if a cycle in the baseline has vanished.",
        "false",
        _boolean,
    ),
    Option(
        "--cyclewatch-no-source",
        "Omit lines of source code from cards and reports.",
        "false",
        _boolean,
    ),
    Option(
        "--cyclewatch-clear-tracebacks",
        "Clear the frames of a failed test's exception after the test, to free its tensors.",
        "false",
        _boolean,
    ),
    Option(
        "--cyclewatch-github",
        "Print GitHub annotations, and add a job summary. auto: if GITHUB_ACTIONS is 'true'.",
        "auto",
        _one_of("auto", "on", "off"),
        "auto|on|off",
    ),
    Option(
        "--cyclewatch-live",
        "Fail tests that leave more tensor memory reachable than before, and show what keeps it "
        "alive. Scans the heap twice per test.",
        "false",
        _boolean,
    ),
    Option(
        "--cyclewatch-freeze",
        "off: do not freeze older objects during a test; each check then examines the whole heap.",
        "on",
        _one_of("on", "off"),
        "on|off",
    ),
)


@dataclass(frozen=True)
class Settings:
    """The options of one run; the command line overrides the ini file."""

    mode: str
    devices: tuple[str, ...]
    min_bytes: int
    libraries: str
    scope: str
    repeat: int
    report: Path | None
    sarif: Path | None
    gitlab: Path | None
    baseline: Path | None
    update_baseline: bool
    strict_baseline: bool
    no_source: bool
    clear_tracebacks: bool
    github: str
    live: bool
    freeze: str

    @property
    def can_be_wrong(self) -> bool:
        """Whether any option that is validated only in set_up() is set."""
        return self.devices != ("auto",) or bool(
            self.report or self.sarif or self.gitlab or self.baseline
        )


def add_options(parser: pytest.Parser) -> None:
    """Declare all options, on the command line and in the ini file."""
    group = parser.getgroup("cyclewatch", "cyclewatch: reference cycles that keep tensors alive")
    for option in OPTIONS:
        spellings = [option.flag]
        # A default other than None would override the ini file.
        arguments: dict[str, Any] = {"dest": option.key, "default": None}
        if option.field == "mode":
            spellings += [f"{option.flag}={mode}" for mode in MODES]
            arguments |= {"action": _StoreWord, "const": "fail"}
        elif option.convert is _boolean:
            arguments |= {"action": "store_const", "const": "true"}
        else:
            arguments |= {"metavar": option.metavar}
        group.addoption(*spellings, help=option.help, **arguments)
        parser.addini(option.key, f"default of {option.flag}", default=None)


def read_settings(config: pytest.Config) -> Settings:
    """The options of this run. Raises pytest.UsageError for an invalid value."""
    settings = Settings(**{option.field: _value(config, option) for option in OPTIONS})
    needs_baseline = settings.update_baseline or settings.strict_baseline
    if needs_baseline and settings.baseline is None:
        raise pytest.UsageError(
            "--cyclewatch-update-baseline and --cyclewatch-strict-baseline need "
            "--cyclewatch-baseline=FILE"
        )
    return settings


def _value(config: pytest.Config, option: Option) -> Any:
    given = config.getoption(option.key, None)
    folder, source = config.invocation_params.dir, option.flag
    if given is None:
        given = config.getini(option.key)
        folder = config.inipath.parent if config.inipath else config.rootpath
        source = f"{option.key} in {config.inipath}" if config.inipath else f"-o {option.key}"
    if given is None and option.variable is not None:
        given, source = os.environ.get(option.variable), option.variable
    if given is None:
        given = option.default
    if given is None:
        return None
    try:
        value = option.convert(str(given))
    except ValueError as error:
        raise pytest.UsageError(f"{source}: {error}") from None
    return folder / value if isinstance(value, Path) else value
