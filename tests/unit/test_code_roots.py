# SPDX-License-Identifier: Apache-2.0
"""Library code is recognised by what an installer has recorded, and user code by its project."""

import os
import sys
import zipfile

import pytest

from cyclewatch import _native
from cyclewatch.code import code_roots

DIR_INFO = '{"dir_info": {}, "url": "file:///home/me/engine"}'


@pytest.fixture
def origin(tmp_path, monkeypatch):
    """Classify a path below `tmp_path`, with `project` as the project and `path` as sys.path."""
    monkeypatch.setattr(code_roots, "_site_folders", lambda: [str(tmp_path / "site")])

    def classify(name, project="project", path=()):
        folders = [str(tmp_path / each) for each in path]
        _native.set_code_roots(code_roots.code_roots(str(tmp_path / project), folders))
        return "user" if _native.is_user_code(str(tmp_path / name)) else "library"

    yield classify
    code_roots._applied = None
    code_roots.update_roots()


def install(folder, name, direct_url=None):
    """Install a distribution that contains a package and a module."""
    info = folder / f"{name}-1.0.dist-info"
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").touch()
    info.mkdir()
    files = f"../../bin/{name},,\n{name}/__init__.py,sha256=0,1\n{name}_tool.py,,\n"
    (info / "RECORD").write_text(f"{files}{info.name}/RECORD,,\n__pycache__/x.pyc,,\n")
    if direct_url is not None:
        (info / "direct_url.json").write_text(direct_url)


def test_site_folder_is_library_code(origin, tmp_path):
    assert origin("site/torch/nn.py") == "library"
    assert origin("elsewhere/train.py") == "user"


def test_target_folder_is_library_code_wherever_it_is(origin, tmp_path):
    install(tmp_path / "project" / "vendor", "lib")
    path = ["project/vendor", "project"]
    assert origin("project/vendor/lib/core.py", path=path) == "library"
    assert origin("project/vendor/lib_tool.py", path=path) == "library"
    assert origin("project/vendor/ours.py", path=path) == "user"
    assert origin("project/vendor/library/core.py", path=path) == "user"
    assert origin("project/vendor/lib/core.py", path=["project"]) == "user"


def test_packages_installed_next_to_the_program(origin, tmp_path):
    install(tmp_path / "project", "lib")
    assert origin("project/lib/core.py", path=["project"]) == "library"
    assert origin("project/handler.py", path=["project"]) == "user"


def test_archive(origin, tmp_path):
    with zipfile.ZipFile(tmp_path / "app.pyz", "w") as archive:
        archive.writestr("lib-1.0.dist-info/RECORD", "lib/__init__.py,,\n")
    assert origin("app.pyz/lib/core.py", path=["app.pyz"]) == "library"
    assert origin("app.pyz/__main__.py", path=["app.pyz"]) == "user"
    (tmp_path / "broken.pyz").write_text("no archive")
    assert origin("broken.pyz/lib.py", path=["broken.pyz"]) == "user"


@pytest.mark.parametrize("folder", ["project", "project/src"])
def test_installed_copy_of_the_project_is_user_code(origin, tmp_path, folder):
    install(tmp_path / "site", "engine")
    install(tmp_path / "target", "engine")
    for each in ("site", "target"):
        assert origin(f"{each}/engine/core.py", path=["target"]) == "library"
    (tmp_path / folder / "engine").mkdir(parents=True)
    (tmp_path / folder / "engine" / "__init__.py").touch()
    for each in ("site", "target"):
        assert origin(f"{each}/engine/core.py", path=["target"]) == "user"


def test_distribution_installed_from_a_folder_is_user_code(origin, tmp_path):
    install(tmp_path / "site", "ours", DIR_INFO)
    install(tmp_path / "site", "theirs", '{"archive_info": {}, "url": "file:///wheels/x.whl"}')
    assert origin("site/ours/core.py") == "user"
    assert origin("site/theirs/core.py") == "library"


def test_project_inside_a_site_folder_is_user_code(origin, tmp_path):
    assert origin("site/engine/core.py", project="site/engine") == "user"
    assert origin("site/torch/nn.py", project="site/engine") == "library"


def test_standard_library():
    roots = code_roots.code_roots(None, [])
    assert roots[os.path.dirname(os.__file__)] == "standard library"


def test_project_whose_path_is_not_utf8(monkeypatch, tmp_path):
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    monkeypatch.chdir(os.fsdecode(folder))
    code_roots.update_roots()
    assert code_roots._applied[0] == os.fsdecode(folder)
    monkeypatch.undo()
    code_roots.update_roots()


def test_roots_are_updated_if_the_search_path_changes(monkeypatch, tmp_path):
    install(tmp_path, "lib")
    core = str(tmp_path / "lib" / "core.py")
    code_roots.update_roots()
    assert _native.is_user_code(core)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    code_roots.update_roots()
    assert not _native.is_user_code(core)
    monkeypatch.undo()
    code_roots.update_roots()
