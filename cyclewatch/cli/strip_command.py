# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch strip``: a report that can be shown to others."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from typing import Any

from cyclewatch import _native
from cyclewatch.cli import convert_command, inputs, outputs
from cyclewatch.cli.failures import Failure, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

# Nothing but a place: a path, whose folders may be called anything, and a line.
_PLACES = frozenset({"location", "allocated_at", "script"})
_FOLDERS_OF_PLACE = re.compile(r"^.*[/\\]", re.DOTALL)
# In a sentence, a path is whatever ends in "/name"; the name, and the line after it, stay.
_FOLDERS = re.compile(
    r"(?<![\w/.~-])(?:[A-Za-z]:)?[~.\w@+-]*(?:[/\\][^\s/\\:,;()]+)*[/\\](?=[^\s/\\])"
)
# In a sentence: what is in backquotes, after a dot, or spelled as only programs spell.
_QUOTED = re.compile(r"`[^`]*`|\b[\w.]*\.\w+|\b\w*[^\W_]_\w*|\b_\w+|\b\w*[a-z][A-Z]\w*")
_NAME = re.compile(r"[^\W\d]\w*")
# Whose names tell nothing about the program.
_PUBLIC_PACKAGES = (
    *("torch.", "numpy.", "cupy.", "jax."),
    *("builtins.", "weakref.", "gc.", "traceback."),
)
_PUBLIC_NAMES = frozenset(
    {
        *keyword.kwlist,
        *dir(builtins),
        *("self", "cls", "function", "method", "module", "frame", "cell", "traceback", "closure"),
        *("default", "local", "stack", "slot", "args", "keywords", "key", "element", "callback"),
        *("generator", "coroutine", "lambda", "locals", "tb_frame", "tb_next", "f_back", "at"),
        *("f_locals", "cell_contents"),
        *("instance", "code", "globals", "x", "py", "weakref", "ref", "gc"),
        # Of the sentences of a report: its units, and what its advice tells to call.
        *("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"),
        *("namespace", "pop", "error", "with_traceback", "clear_frames"),
        *("close", "aclose", "cancel"),
    }
)
# Where names of the program stand; everything else is sentences of ours that quote them.
_NAMED = frozenset({"holder", "label", "target", "raw_path", "path", "detail", "text", "type"})
# What is never text of the program.
_KEPT = frozenset(
    {"signature", "pattern", "status", "device", "dtype", "schema", "strategy", "verdict"}
    | {"python_version", "cyclewatch_version", "started_at", "devices", "source"}
)


def main(arguments: argparse.Namespace) -> int:
    """Write the report without what was asked to be removed."""
    if not arguments.paths and not arguments.names:
        raise Failure("say what to remove: --paths, --names or both", Status.USAGE)
    to = convert_command.format_or_json(arguments.output)
    outputs.refuse_to_replace(arguments.output or "-", arguments.force)
    data = json.loads(inputs.merged(inputs.load(arguments.files)).to_json())
    # Names too are not left in the names of files: --names alone keeps no path either.
    data = _without_folders(data)
    if arguments.names:
        pseudonyms = _pseudonyms(data)
        data = _each_text(data, lambda text, _key: _renamed(text, pseudonyms))
    report = _native.load_report(json.dumps(data).encode(), "the stripped report")
    outputs.write(arguments.output or "-", convert_command.rendered(report, to), arguments.force)
    return Status.OK


def _each_text(value: Any, change: Any, key: str = "") -> Any:
    """`value` with every text in it changed, at any depth."""
    if isinstance(value, dict):
        return {name: _each_text(each, change, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_each_text(each, change, key) for each in value]
    return change(value, key) if isinstance(value, str) and key not in _KEPT else value


def _without_folders(data: Any) -> Any:
    """`data` with the names of files alone; a folder that a place names goes wherever it stands."""
    folders: set[str] = set()

    def remember(text: str, key: str) -> str:
        if key in _PLACES and (found := _FOLDERS_OF_PLACE.match(text)):
            folders.add(found[0])
        return text

    _each_text(data, remember)
    longest_first = "|".join(re.escape(each) for each in sorted(folders, key=len, reverse=True))
    known = re.compile(rf"(?<![\w.~-])(?:{longest_first})")

    def remove(text: str, key: str) -> str:
        if key in _PLACES:
            return _FOLDERS_OF_PLACE.sub("", text)
        return _FOLDERS.sub("", known.sub("", text))

    return _each_text(data, remove)


def _pseudonyms(data: dict[str, Any]) -> dict[str, str]:
    """Name -> what to call it, numbered in the order of the report, which names no folders."""
    found: dict[str, None] = {}

    def collect(value: Any, key: str = "") -> None:
        if isinstance(value, dict):
            for name, each in value.items():
                collect(each, name)
        elif isinstance(value, list):
            for each in value:
                collect(each, key)
        elif isinstance(value, str) and key in _NAMED:
            found.update(dict.fromkeys(_private_names(value)))
        elif isinstance(value, str) and key in _PLACES:
            found.update(dict.fromkeys(_private_names(value.split(".py")[0])))
        elif isinstance(value, str) and key not in _KEPT:
            quoted = " ".join(match[0] for match in _QUOTED.finditer(value))
            found.update(dict.fromkeys(_private_names(quoted)))

    collect(data)
    for finding in data.get("findings", ()):
        for owner in finding.get("owners", ()):
            found.pop(owner.get("dtype", ""), None)
    return {name: f"name{number}" for number, name in enumerate(found, 1)}


def _private_names(text: str) -> list[str]:
    words = []
    for word in re.findall(r"[\w.]+", text):
        if not f"{word}.".startswith(_PUBLIC_PACKAGES):
            words += _NAME.findall(word)
    return [
        word
        for word in words
        if word not in _PUBLIC_NAMES and not (word.startswith("__") and word.endswith("__"))
    ]


def _renamed(text: str, pseudonyms: dict[str, str]) -> str:
    return _NAME.sub(lambda match: pseudonyms.get(match[0], match[0]), text)
