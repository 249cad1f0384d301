# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch strip``: removes paths, names and source code from a report."""

from __future__ import annotations

import builtins
import json
import keyword
import re
import types
from typing import Any

from cyclewatch import _native
from cyclewatch.cli import convert_command, inputs, outputs
from cyclewatch.cli.failures import Failure, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

# Fields that contain only a path and a line.
_LOCATIONS = frozenset({"location", "allocated_at", "allocation_stack", "script"})
_FOLDERS_OF_LOCATION = re.compile(r"^.*[/\\]", re.DOTALL)
# The folders of a path that is embedded in message text: everything up to the last "/".
_FOLDERS = re.compile(
    r"(?<![\w/.~-])(?:[A-Za-z]:)?[~.\w@+-]*(?:[/\\][^\s/\\:,;()]+)*[/\\](?=[^\s/\\])"
)
# A name that is embedded in message text: in backquotes, after a dot, in snake_case or camelCase.
_QUOTED = re.compile(r"`[^`]*`|\b[\w.]*\.\w+|\b\w*[^\W_]_\w*|\b_\w+|\b\w*[a-z][A-Z]\w*")
_NAME = re.compile(r"[^\W\d]\w*")
# Names that say nothing about the program: packages, and the classes of owners.
_LIBRARY_NAMES = (
    *("torch", "Tensor", "nn", "parameter", "Parameter", "modules", "optim", "autograd", "storage"),
    *("UntypedStorage", "numpy", "ndarray", "cupy", "core", "jax", "Array", "numba", "cuda"),
    *("builtins", "weakref", "gc", "traceback", "functools", "partial", "collections"),
)
_DEVICE = re.compile(r"(cpu|cuda|mps|xpu|hpu|xla|meta|hip|mtia|privateuseone|auto|all)(:\d+)?")
_DTYPE = re.compile(r"u?int\d+|q[u]?int\d+|b?float\w{1,9}|complex\d+|bool|")
_BUILT_IN_PATTERNS = {each.id: each for each in _native.patterns()}
_REMOVED = "removed by strip"


def _names_in_advice() -> list[str]:
    """The names that our own texts mention, such as weakref.WeakMethod."""
    texts = [f"{each.explanation} {each.advice}" for each in _BUILT_IN_PATTERNS.values()]
    return _NAME.findall(" ".join(match[0] for match in _QUOTED.finditer(" ".join(texts))))


def _special_names() -> set[str]:
    """The names with two leading and trailing underscores that Python itself defines."""
    known = [*vars(builtins).values(), *vars(types).values()]
    names = {name for each in known if isinstance(each, type) for name in dir(each)}
    names |= {"__main__", "__wrapped__", "__module__", "__notes__", "__spec__", "__loader__"}
    return {name for name in names if name.startswith("__")}


_PUBLIC_NAMES = frozenset(
    {
        *keyword.kwlist,
        *dir(builtins),
        *("self", "cls", "function", "method", "module", "frame", "cell", "traceback", "closure"),
        *("default", "local", "stack", "slot", "args", "keywords", "key", "element", "callback"),
        *("generator", "coroutine", "lambda", "locals", "tb_frame", "tb_next", "f_back", "at"),
        *("f_locals", "cell_contents"),
        *("instance", "code", "globals", "x", "py", "weakref", "ref", "gc"),
        # Units, and functions that the advice texts mention.
        *("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"),
        *("namespace", "pop", "error", "with_traceback", "clear_frames"),
        *("close", "aclose", "cancel"),
        *_LIBRARY_NAMES,
        *_special_names(),
        *_names_in_advice(),
    }
)
# Fields that contain names from the program; other fields are texts that may quote names.
_NAMED = frozenset(
    {
        *("holder", "holder_path", "base_class", "label", "target", "raw_path"),
        *("path", "held_by", "detail", "text", "type", "allocation_stack"),
    }
)
# Fields that do not contain text from the program.
_KEPT = frozenset(
    {
        "signature",
        "status",
        "collected",
        "schema",
        "strategy",
        "verdict",
        "unit",
        "error",
        "category",
        "kind",
        *("signatures", "occasion", "use"),
    }
    | {"python_version", "cyclewatch_version", "started_at", "source"}
)


def main(arguments: argparse.Namespace) -> int:
    """Write the report without source code and addresses and, if requested, paths or names."""
    if not arguments.paths and not arguments.names and not arguments.source:
        raise Failure("nothing to remove: use --source, --paths or --names", Status.USAGE)
    to = convert_command.format_or_json(arguments.output)
    outputs.refuse_to_replace(arguments.output or "-", arguments.force)
    data = json.loads(inputs.load_merged(arguments.files)[0].to_json())
    data.pop("addresses", None)
    # Source code contains paths and names, so it is always removed.
    for finding in data["findings"]:
        for reference in [*finding["cut"], *finding["alternatives"], *finding["cycle"]]:
            reference.pop("source", None)
    if arguments.paths or arguments.names:
        # --names also removes folders, because the names of folders are private.
        data = _without_folders(data)
    if arguments.names:
        data = _each_text(data, _without_words)
        # These identify the machine.
        for process in data["processes"]:
            process.pop("host", None)
        for record in data.get("device_records", ()):
            record["uuid"] = record["pci_id"] = ""
        pseudonyms = _pseudonyms(data)
        data = _each_text(data, lambda text, _key: _renamed(text, pseudonyms))
    report = _native.load_report(json.dumps(data).encode(), "the stripped report")
    outputs.write(arguments.output or "-", convert_command.rendered(report, to), arguments.force)
    return Status.OK


def _each_text(value: Any, change: Any, key: str = "") -> Any:
    """Apply `change` to every string in `value`, at any depth."""
    if isinstance(value, dict):
        return {name: _each_text(each, change, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_each_text(each, change, key) for each in value]
    return change(value, key) if isinstance(value, str) and key not in _KEPT else value


def _without_folders(data: Any) -> Any:
    """Remove the folders from all paths, including file locations embedded in message text."""
    folders: set[str] = set()

    def remember(text: str, key: str) -> str:
        if key in _LOCATIONS and (found := _FOLDERS_OF_LOCATION.match(text)):
            folders.add(found[0])
        return text

    _each_text(data, remember)
    longest_first = "|".join(re.escape(each) for each in sorted(folders, key=len, reverse=True))
    known = re.compile(rf"(?<![\w.~-])(?:{longest_first})")

    def remove(text: str, key: str) -> str:
        if key in _LOCATIONS:
            return _FOLDERS_OF_LOCATION.sub("", text)
        return _FOLDERS.sub("", known.sub("", text))

    return _each_text(data, remove)


def _without_words(text: str, key: str) -> str:
    """Remove texts that the user wrote: reasons, pattern ids, dtypes and devices of a reader."""
    if key == "status_reason" and text:
        return _REMOVED
    if key == "pattern":
        return text if text in _BUILT_IN_PATTERNS else ""
    if key in ("device", "devices"):
        return text if _DEVICE.fullmatch(text) else "device"
    if key == "dtype":
        return text if _DTYPE.fullmatch(text) else ""
    return text


def _pseudonyms(data: dict[str, Any]) -> dict[str, str]:
    """Map each private name to a pseudonym, numbered in order of appearance."""
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
        elif isinstance(value, str) and key in _LOCATIONS:
            found.update(dict.fromkeys(_private_names(value.split(".py")[0])))
        elif isinstance(value, str) and key not in _KEPT:
            quoted = " ".join(match[0] for match in _QUOTED.finditer(value))
            found.update(dict.fromkeys(_private_names(quoted)))

    collect(data)
    return {name: f"name{number}" for number, name in enumerate(found, 1)}


def _private_names(text: str) -> list[str]:
    return [
        word
        for word in _NAME.findall(text)
        if word not in _PUBLIC_NAMES and not _DTYPE.fullmatch(word)
    ]


def _renamed(text: str, pseudonyms: dict[str, str]) -> str:
    return _NAME.sub(lambda match: pseudonyms.get(match[0], match[0]), text)
