# SPDX-License-Identifier: Apache-2.0
"""The options of the plugin, on the command line and in the ini file."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

import pytest

from cyclewatch.settings.kinds import PATH
from cyclewatch.settings.table import PYTEST, settings_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclewatch.settings.table import Setting


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


class Settings:
    """The options of one run: an attribute for each setting that applies in pytest.

    The command line overrides the ini file. Paths are absolute.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        """`values`: by the name of the setting."""
        self.__dict__.update(values)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @property
    def can_be_wrong(self) -> bool:
        """Whether any option that is validated only in set_up() is set."""
        return self.devices != ["auto"] or bool(
            self.report or self.sarif or self.gitlab or self.baseline
        )


def add_options(parser: pytest.Parser) -> None:
    """Declare all options, on the command line and in the ini file."""
    group = parser.getgroup("cyclewatch", "cyclewatch: reference cycles that keep tensors alive")
    for setting in settings_of(PYTEST):
        flag = setting.option(PYTEST)
        spellings = [flag]
        # A default other than None would override the ini file.
        arguments: dict[str, Any] = {"dest": setting.key, "default": None}
        if setting.name == "mode":
            modes = setting.unit(PYTEST).split("|")
            spellings += [f"{flag}={mode}" for mode in modes]
            arguments |= {"action": _StoreWord, "const": modes[0]}
        elif setting.unit(PYTEST):
            arguments |= {"metavar": setting.unit(PYTEST)}
        else:
            arguments |= {"action": "store_const", "const": "true"}
        group.addoption(*spellings, help=setting.help.replace("%", "%%"), **arguments)
        parser.addini(setting.key, f"default of {flag}", default=None)


def read_settings(config: pytest.Config) -> Settings:
    """The options of this run. Raises pytest.UsageError for an invalid value."""
    values = {each.name: _value(config, each) for each in settings_of(PYTEST)}
    # The ini key only says how to check: a project may enable the checks in some runs only.
    is_given = config.getoption("cyclewatch_never_freed", None) is not None
    if (
        is_given
        and config.getoption("cyclewatch", None) is None
        and not config.getini("cyclewatch")
    ):
        values["mode"] = "fail"
    settings = Settings(values)
    needs_baseline = settings.update_baseline or settings.strict_baseline
    if needs_baseline and settings.baseline is None:
        raise pytest.UsageError(
            "--cyclewatch-update-baseline and --cyclewatch-strict-baseline need "
            "--cyclewatch-baseline=FILE"
        )
    return settings


def _value(config: pytest.Config, setting: Setting) -> Any:
    given = config.getoption(setting.key, None)
    folder, source = config.invocation_params.dir, setting.option(PYTEST)
    if given is None:
        given = config.getini(setting.key)
        folder = config.inipath.parent if config.inipath else config.rootpath
        source = f"{setting.key} in {config.inipath}" if config.inipath else f"-o {setting.key}"
    if given is None and setting.name == "libraries":
        given, source = os.environ.get(setting.variable), setting.variable
    if given is None:
        return setting.default
    kind = setting.kind(PYTEST)
    try:
        value = kind.read(str(given))
    except ValueError as error:
        raise pytest.UsageError(f"{source}: {error}") from None
    return folder / str(value) if kind is PATH else value
