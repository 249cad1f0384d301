# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch convert``: converts reports to another format."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from cyclewatch.cli import inputs, outputs, terminal, trace_merging
from cyclewatch.cli.failures import Failure, Status
from cyclewatch.cli.parser import CONVERSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    import cyclewatch

_SUFFIXES = {"text": "txt"} | {name: name for name in CONVERSIONS if name != "text"}
_OTHER_SUFFIXES = {"gv": "dot", "htm": "html"}
# Programs that convert SVG; {svg} and {out} are replaced by file names. PNG has twice the nominal
# size of the SVG, for high-density screens.
_CONVERTERS = {
    "png": (
        ("rsvg-convert", "--format=png", "--zoom=2", "--output={out}", "{svg}"),
        ("resvg", "--zoom", "2", "{svg}", "{out}"),
        ("inkscape", "--export-dpi=192", "--export-filename={out}", "{svg}"),
    ),
    "pdf": (
        ("rsvg-convert", "--format=pdf", "--output={out}", "{svg}"),
        ("inkscape", "--export-filename={out}", "{svg}"),
    ),
}


def main(arguments: argparse.Namespace) -> int:
    """Write each report and print the paths."""
    if arguments.into is not None:
        return trace_merging.main(arguments)
    if arguments.to == "parquet":
        return _append(arguments)
    to = arguments.to or _format_of(arguments.output, "use --to, or end")
    loaded = inputs.load(arguments.files)
    targets = [_target(each.name, arguments.output, to) for each in loaded]
    if len(set(targets)) < len(targets):
        raise Failure(
            f"cannot write {len(targets)} reports to {targets[0]}: use a folder as --output, or "
            "merge the reports first",
            Status.USAGE,
        )
    for target in targets:
        outputs.refuse_to_replace(target, arguments.force)
    for each, target in zip(loaded, targets, strict=True):
        outputs.write(target, rendered(each.report, to), arguments.force)
    terminal.written([target for target in targets if target != "-"], arguments.json)
    return Status.OK


def _append(arguments: argparse.Namespace) -> int:
    """Append the reports, as one job, to the dataset --output."""
    folder = arguments.output
    if not folder or folder == "-":
        raise Failure("--to parquet needs the folder of the dataset as --output", Status.USAGE)
    if importlib.util.find_spec("pyarrow") is None:
        raise Failure("parquet needs pyarrow: pip install 'cyclewatch[parquet]'")
    from cyclewatch.export.dataset import files_of, other_dates

    files = files_of(inputs.load_job(arguments.files)[0], arguments.job)
    targets = {os.path.join(folder, name): data for name, data in files.items()}
    replaced = other_dates(folder, files)
    for target in [*targets, *replaced]:
        outputs.refuse_to_replace(target, arguments.force)
    for target, data in targets.items():
        outputs.make_folder(os.path.dirname(target))
        outputs.write(target, data, arguments.force)
    for path in replaced:
        _remove(path)
    terminal.written(list(targets), arguments.json)
    return Status.OK


def _remove(path: str) -> None:
    try:
        os.remove(path)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(path))  # if it is empty
    except FileNotFoundError:
        return
    except OSError as error:
        raise Failure(f"cannot remove {path}: {error.strerror}") from None


def rendered(report: cyclewatch.Report, to: str) -> str | bytes:
    """`report` in the format `to`."""
    if to in _CONVERTERS:
        return _converted(report, to)
    text: str = getattr(report, f"to_{to}")()
    return text


def _converted(report: cyclewatch.Report, to: str) -> bytes:
    """Convert the SVG of `report` with the first installed program."""
    converters = _CONVERTERS[to]
    converter = next((each for each in converters if shutil.which(each[0])), None)
    if converter is None:
        names = " or ".join(", ".join(each[0] for each in converters).rsplit(", ", 1))
        raise Failure(f"{to} needs {names} (on Debian: apt install librsvg2-bin)")
    with tempfile.TemporaryDirectory(prefix="cyclewatch-") as folder:
        files = {"svg": f"{folder}/report.svg", "out": f"{folder}/report.{to}"}
        Path(files["svg"]).write_text(report.to_svg(), encoding="utf-8")
        command = [word.format(**files) for word in converter]
        outcome = subprocess.run(command, capture_output=True, check=False)
        if outcome.returncode != 0:
            message = outcome.stderr.decode("utf-8", "replace").strip()
            raise Failure(f"{converter[0]} failed: {message}")
        return Path(files["out"]).read_bytes()


def format_or_json(output: str | None) -> str:
    """The format given by the suffix of `output`; JSON for standard output."""
    return "json" if output in (None, "-") else _format_of(output, "end")


def _format_of(output: str | None, remedy: str) -> str:
    suffix = (output or "").rpartition(".")[2].lower()
    for name, known in _SUFFIXES.items():
        if suffix in (known, *(other for other, to in _OTHER_SUFFIXES.items() if to == name)):
            return name
    raise Failure(
        f"unknown output format; {remedy} the name of --output with one of "
        f"{', '.join('.' + suffix for suffix in _SUFFIXES.values())}",
        Status.USAGE,
    )


def _target(name: str, output: str | None, to: str) -> str:
    if output is not None and not os.path.isdir(output) and not output.endswith("/"):
        return output
    if output is None and name == "-":
        return "-"
    stem = "cyclewatch" if name == "-" else os.path.splitext(name)[0]
    beside = f"{stem}.{_SUFFIXES[to]}"
    if output is None:
        return beside
    outputs.make_folder(output)
    return os.path.join(output, os.path.basename(beside))
