# SPDX-License-Identifier: Apache-2.0
"""Determines which files are library code, which are the standard library's, and which the user's.

The files that an installer has recorded (``RECORD`` in a ``*.dist-info`` folder) are library code,
wherever the folder is: site-packages, a ``pip install --target`` folder or a zip archive on
sys.path. A distribution that was installed from a folder of source code, or whose package also
exists in the project's root, is the project's own, so it is user code.
"""

from __future__ import annotations

import os
import re
import sys

from cyclewatch import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

USER, LIBRARY, STANDARD_LIBRARY = "user", "library", "standard library"
_ROOT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_INFO = ".dist-info"

# The project's root, if a caller has named it, and the inputs of the last update.
_project: str | None = None
_applied: tuple[str | None, tuple[str, ...]] | None = None


def set_project(root: str | os.PathLike[str] | None) -> str | None:
    """Name the project's root; None: search for it above the current directory. Returns the
    previous setting."""
    global _project
    previous, _project = _project, None if root is None else os.path.abspath(root)
    return previous


def update_roots() -> None:
    """Pass the roots to the extension, unless sys.path and the project are the same as before."""
    global _applied
    project = _project or _find_project()
    inputs = (project, tuple(entry for entry in sys.path if isinstance(entry, str)))
    if inputs == _applied:
        return
    # Bytes, because a path may not be valid UTF-8.
    roots = code_roots(project, inputs[1])
    _native.set_code_roots({os.fsencode(path): origin for path, origin in roots.items()})
    _applied = inputs


def code_roots(project: str | None, search_path: Iterable[str]) -> dict[str, str]:
    """Map folders, packages and modules to the origin of their files. The innermost one counts.

    `project` is the folder of the user's project; None if unknown.
    """
    roots: dict[str, str] = {}
    if project is not None:
        _add(roots, project, USER)
    for folder in _standard_library():
        _add(roots, folder, STANDARD_LIBRARY)
    own_names = _importable_names(project)
    installed = _site_folders()
    for folder in installed:
        if folder != project:
            _add(roots, folder, LIBRARY)
        for name in own_names | _from_source_folders(folder):
            if os.path.exists(os.path.join(folder, name)):
                _add(roots, os.path.join(folder, name), USER)
    for folder in dict.fromkeys(map(os.path.abspath, filter(None, search_path))):
        if folder not in installed:
            is_project = folder in (project, os.path.join(project or folder, "src"))
            own = _from_source_folders(folder) | (set() if is_project else own_names)
            for name in _recorded_names(folder) - own:
                _add(roots, os.path.join(folder, name), LIBRARY)
    return roots


def _add(roots: dict[str, str], path: str, origin: str) -> None:
    # Code objects may contain either spelling.
    for spelling in (path, os.path.realpath(path)):
        if spelling != os.sep:
            roots[spelling] = origin


def _find_project() -> str | None:
    """The nearest folder, from the current directory up, that looks like a project's root."""
    try:
        start = folder = os.getcwd()
    except OSError:  # the current directory was removed
        return None
    while not any(os.path.exists(os.path.join(folder, mark)) for mark in _ROOT_MARKS):
        parent = os.path.dirname(folder)
        if parent == folder:
            return start
        folder = parent
    return folder


def _standard_library() -> list[str]:
    folder = os.path.dirname(os.path.abspath(os.__file__))
    archive = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    return [folder, os.path.join(os.path.dirname(folder), archive)]


def _site_folders() -> list[str]:
    try:
        import site

        folders = [*site.getsitepackages(), site.getusersitepackages()]
    except (ImportError, AttributeError):  # an embedded interpreter, or an old virtualenv
        return []
    return [os.path.abspath(folder) for folder in folders]


def _importable_names(project: str | None) -> set[str]:
    """The packages and modules in the project's root and its folder `src`."""
    names: set[str] = set()
    for folder in (project, os.path.join(project, "src")) if project is not None else ():
        for name in _listed(folder):
            if name.endswith(".py") or os.path.exists(os.path.join(folder, name, "__init__.py")):
                names.add(name)
    return names


def _from_source_folders(folder: str) -> set[str]:
    """The packages and modules in `folder` that were installed from a folder of source code."""
    names: set[str] = set()
    for info in _listed(folder, _INFO):
        if '"dir_info"' in _read(os.path.join(folder, info, "direct_url.json")):
            names |= _packages(_read(os.path.join(folder, info, "RECORD")))
    return names


def _recorded_names(folder: str) -> set[str]:
    """The packages and modules that an installer has recorded in `folder`, or in an archive."""
    if os.path.isfile(folder):
        return _names_in_archive(folder)
    names: set[str] = set()
    for info in _listed(folder, _INFO):
        names |= _packages(_read(os.path.join(folder, info, "RECORD")))
    return names


def _names_in_archive(path: str) -> set[str]:
    import zipfile

    names: set[str] = set()
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(f"{_INFO}/RECORD") and name.count("/") == 1:
                    names |= _packages(archive.read(name).decode(errors="replace"))
    except (OSError, zipfile.BadZipFile):
        pass
    return names


def _packages(record: str) -> set[str]:
    tops = set(re.findall(r"^[^/,\n]+", record, re.MULTILINE))
    return {top for top in tops if top not in ("..", "__pycache__") and not top.endswith(_INFO)}


def _listed(folder: str, suffix: str = "") -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith(suffix)]
    except OSError:
        return []


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
