# SPDX-License-Identifier: Apache-2.0
"""The one table of options. Each row is a flag on the command line and a key in the ini file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

MODES = ("fail", "warn", "off")
SCOPES = ("all", "call")
SWITCHES = ("on", "off")

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def parse_bytes(text: str | int) -> int:
    """``"1 MB"``, ``"64KiB"`` or ``4096`` as a number. Raises ValueError for anything else."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(text))
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(f"{text!r} is no size; write it as 4096, '64 KiB' or '1 MB'")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _one_of(*words: str) -> Callable[[str], str]:
    def convert(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is none of {', '.join(words)}")
        return text

    return convert


def _devices(text: str) -> tuple[str, ...]:
    return tuple(re.split(r"[,\s]+", text.strip()))


def _at_least_one(text: str) -> int:
    if not text.strip().isdigit() or int(text) < 1:
        raise ValueError(f"{text!r} is no number of runs; 1 runs each test once")
    return int(text)


@dataclass(frozen=True)
class Option:
    """One row. `default` and what the user wrote both go through `convert`."""

    flag: str
    help: str
    default: str | None = None
    convert: Callable[[str], Any] = str
    metavar: str | None = None
    # What the flag means without a value. None: it needs one.
    bare: str | None = None
    # A switch takes no value on the command line; in the ini file it is true or false.
    switch: bool = False
    # A path counts from the current directory on the command line, from the ini file's otherwise.
    path: bool = False

    @property
    def key(self) -> str:
        """The name in the ini file."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def field(self) -> str:
        """The name in :class:`Settings`."""
        return self.key.removeprefix("cyclewatch_") if self.key != "cyclewatch" else "mode"


OPTIONS = (
    Option(
        "--cyclewatch",
        "Check each test for reference loops that keep tensors alive, and fail or warn. Alone it "
        "means fail; write a value with '='.",
        default="off",
        convert=_one_of(*MODES),
        metavar="fail|warn|off",
        bare="fail",
    ),
    Option(
        "--cyclewatch-devices",
        "Devices to watch, such as 'cpu' or 'cuda:0,cpu'. auto: accelerators where one is usable, "
        "else the CPU.",
        default="auto",
        convert=_devices,
        metavar="NAMES",
    ),
    Option(
        "--cyclewatch-min-bytes",
        "Let loops pass that keep less, such as '64 KiB'.",
        default="0",
        convert=parse_bytes,
        metavar="SIZE",
    ),
    Option(
        "--cyclewatch-scope",
        "all: check setup, call and teardown, each apart. call: the test's own body only.",
        default="all",
        convert=_one_of(*SCOPES),
        metavar="all|call",
    ),
    Option(
        "--cyclewatch-repeat",
        "Run each test body N times and report only loops that recur.",
        default="1",
        convert=_at_least_one,
        metavar="N",
    ),
    Option(
        "--cyclewatch-report",
        "Write one report of the whole run, HTML and JSON, into DIR.",
        metavar="DIR",
        path=True,
    ),
    Option(
        "--cyclewatch-sarif",
        "Write the loops that are new as SARIF 2.1.0.",
        metavar="FILE",
        path=True,
    ),
    Option(
        "--cyclewatch-baseline",
        "Let the loops listed in FILE pass.",
        metavar="FILE",
        path=True,
    ),
    Option(
        "--cyclewatch-update-baseline",
        "Take vanished loops out of the baseline; write it if there is none yet.",
        switch=True,
    ),
    Option(
        "--cyclewatch-strict-baseline",
        "Fail the run if a loop of the baseline has vanished.",
        switch=True,
    ),
    Option(
        "--cyclewatch-clear-tracebacks",
        "Empty the frames of a failed test's exception when the test is over, so that its tensors "
        "are freed.",
        switch=True,
    ),
    Option(
        "--cyclewatch-github",
        "Print GitHub annotations. auto: where GITHUB_ACTIONS is set.",
        default="auto",
        convert=_one_of("auto", *SWITCHES),
        metavar="auto|on|off",
    ),
    Option(
        "--cyclewatch-freeze",
        "off: leave older objects to the collector during a test; each check then goes over the "
        "whole heap.",
        default="on",
        convert=_one_of(*SWITCHES),
        metavar="on|off",
    ),
)


@dataclass(frozen=True)
class Settings:
    """The options of one run: what was written on the command line, else in the ini file."""

    mode: str
    devices: tuple[str, ...]
    min_bytes: int
    scope: str
    repeat: int
    report: Path | None
    sarif: Path | None
    baseline: Path | None
    update_baseline: bool
    strict_baseline: bool
    clear_tracebacks: bool
    github: str
    freeze: str


def add_options(parser: pytest.Parser) -> None:
    """Declare every row, on the command line and in the ini file."""
    group = parser.getgroup("cyclewatch", "cyclewatch: loops that keep tensors alive")
    for option in OPTIONS:
        # Without a default: one here would hide what the ini file says.
        arguments: dict[str, Any] = {"dest": option.key, "default": None}
        if option.switch:
            arguments |= {"action": "store_true"}
        else:
            arguments |= {"metavar": option.metavar}
        if option.bare is not None:
            arguments |= {"nargs": "?", "const": option.bare}
        group.addoption(option.flag, help=option.help, **arguments)
        parser.addini(option.key, f"as {option.flag}", default=None)


def read_settings(config: pytest.Config) -> Settings:
    """The options of this run. Raises pytest.UsageError for a value that makes no sense."""
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
    folder = config.invocation_params.dir
    source = option.flag
    if given is None:
        given = config.getini(option.key)
        folder = config.inipath.parent if config.inipath else config.rootpath
        source = f"{option.key} in {config.inipath}"
    if option.switch:
        return _truth(given, source)
    if given is None:
        given = option.default
    if given is None:
        return None
    if option.path:
        return folder / given
    try:
        return option.convert(given)
    except ValueError as error:
        hint = f"; before a path, write {option.flag}={option.bare}" if option.bare else ""
        raise pytest.UsageError(f"{source}: {error}{hint}") from None


def _truth(given: Any, source: str) -> bool:
    if given is None or isinstance(given, bool):
        return bool(given)
    if str(given).lower() not in ("true", "false"):
        raise pytest.UsageError(f"{source}: {given!r} is neither true nor false")
    return str(given).lower() == "true"
