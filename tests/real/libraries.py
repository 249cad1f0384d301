# SPDX-License-Identifier: Apache-2.0
"""Installs the pinned libraries of a case, each case into its own folder of a cache."""

import hashlib
import shutil
import subprocess
import sys


class InstallError(Exception):
    """pip failed; the message is its last line."""


def pins_of(case, fixed=False):
    """Return the pinned requirements; with `fixed`, those in which upstream had fixed the leak."""
    replaced = {pin.split("==")[0]: pin for pin in case.get("fixed", "").split() if fixed}
    pins = [replaced.pop(pin.split("==")[0], pin) for pin in case.get("pip", "").split()]
    return [*pins, *replaced.values()]


def is_current(folder, pins):
    """Return whether `folder` has exactly `pins`."""
    marker = folder / ".installed"
    return marker.exists() and marker.read_text() == "\n".join(pins)


def folder_of(cache, name, pins):
    """Return where `pins` are or should be installed: a changed pin list gets another folder."""
    folder = cache / name
    if not (folder / ".installed").exists() or is_current(folder, pins):
        return folder
    return cache / f"{name}-{hashlib.sha256(' '.join(pins).encode()).hexdigest()[:8]}"


def install(cache, name, pins):
    """Return a folder that has `pins`, installed now if necessary. Raises InstallError."""
    folder = folder_of(cache, name, pins)
    if not pins:
        folder.mkdir(parents=True, exist_ok=True)
    if not pins or is_current(folder, pins):
        return folder
    shutil.rmtree(folder, ignore_errors=True)  # from an interrupted installation
    folder.mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "--no-deps", "--target", str(folder), *pins]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise InstallError((done.stderr.strip().splitlines() or ["pip failed"])[-1])
    (folder / ".installed").write_text("\n".join(pins))
    return folder
