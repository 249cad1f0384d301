# SPDX-License-Identifier: Apache-2.0
"""The one table of options. Each row is a flag on the command line and a key in the ini file."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


class _StoreWord(argparse.Action):
    """Keeps the word behind the '=' of a spelling of the flag, or `const` if it has none.

    An optional value in the parser's own sense would swallow a path that follows the flag.
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
    """One row. `default` and what the user wrote both go through `convert`."""

    flag: str
    help: str
    default: str | None = None
    convert: Callable[[str], Any] = str
    metavar: str | None = None
    # The values of a flag that also stands alone, the one it then means first; empty: it needs one.
    words: tuple[str, ...] = ()
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
        "means fail.",
        default="off",
        convert=_one_of(*MODES),
        words=MODES,
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
        elif option.words:
            arguments |= {"action": _StoreWord, "const": option.words[0]}
        else:
            arguments |= {"metavar": option.metavar}
        spellings = [option.flag, *(f"{option.flag}={word}" for word in option.words)]
        group.addoption(*spellings, help=option.help, **arguments)
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
        source = f"{option.key} in {config.inipath}" if config.inipath else f"-o {option.key}"
    if option.switch:
        return _truth(given, source)
    if given is None:
        given = option.default
    if given is None:
        return None
    if option.path:
        if not given:
            raise pytest.UsageError(f"{source}: needs a path")
        return folder / given
    try:
        return option.convert(given)
    except ValueError as error:
        raise pytest.UsageError(f"{source}: {error}") from None


def _truth(given: Any, source: str) -> bool:
    if given is None or isinstance(given, bool):
        return bool(given)
    if str(given).lower() not in ("true", "false"):
        raise pytest.UsageError(f"{source}: {given!r} is neither true nor false")
    return str(given).lower() == "true"
