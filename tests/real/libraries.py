# SPDX-License-Identifier: Apache-2.0
"""Installs the pinned libraries of each case into a separate cache directory."""

import hashlib
import shutil
import subprocess
import sys


class InstallError(Exception):
    """pip failed; the message is the last line of its output."""


def pins_of(case, fixed=False):
    """Return the pinned requirements; if `fixed` is true, use versions with the upstream fix."""
    replaced = {pin.split("==")[0]: pin for pin in case.get("fixed", "").split() if fixed}
    pins = [replaced.pop(pin.split("==")[0], pin) for pin in case.get("pip", "").split()]
    return [*pins, *replaced.values()]


def is_current(folder, pins):
    """Return whether exactly `pins` are installed in `folder`."""
    marker = folder / ".installed"
    return marker.exists() and marker.read_text() == "\n".join(pins)


def folder_of(cache, name, pins):
    """Return the install directory for `pins`. Each list of pins has a separate directory."""
    folder = cache / name / "site-packages"  # so that cyclewatch recognizes library code
    if not (folder / ".installed").exists() or is_current(folder, pins):
        return folder
    digest = hashlib.sha256(" ".join(pins).encode()).hexdigest()[:8]
    return cache / f"{name}-{digest}" / "site-packages"


def install(cache, name, pins):
    """Install `pins` if needed and return their directory. Raises InstallError."""
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
