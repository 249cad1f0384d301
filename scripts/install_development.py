# SPDX-License-Identifier: Apache-2.0
"""Makes this tree importable from the .venv that runs this, entry points included.

What ``pip install`` would do, without building anything: a .pth file for imports and for
CYCLEWATCH=1, a dist-info folder for the entry points of pyproject.toml, and the console scripts.
"""

import os
import stat
import sys
import sysconfig
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SCRIPT = """#!{python}
import sys

from {module} import {function}

sys.exit({function}())
"""


def main():
    """Install, over an earlier installation if there is one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = Path(sysconfig.get_path("platlib"))
    autostart = (ROOT / "cyclewatch" / "cyclewatch-autostart.pth").read_text()
    (site / "cyclewatch-development.pth").write_text(f"{ROOT}\n{autostart}")
    folder = site / "cyclewatch-development.dist-info"
    folder.mkdir(exist_ok=True)
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (folder / "METADATA").write_text(metadata)
    groups = {"console_scripts": project.get("scripts", {}), **project.get("entry-points", {})}
    lines = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in entries.items()), ""]
    (folder / "entry_points.txt").write_text("\n".join(lines))
    scripts = Path(sysconfig.get_path("scripts"))
    for name, target in groups["console_scripts"].items():
        write_script(scripts / name, target)
    # So that pip can take it away again, as it must to install the package itself.
    owned = [site / "cyclewatch-development.pth", folder / "METADATA"]
    owned += [folder / "entry_points.txt", folder / "RECORD"]
    owned += [scripts / name for name in groups["console_scripts"]]
    record = "".join(f"{os.path.relpath(path, site)},,\n" for path in owned)
    (folder / "RECORD").write_text(record)


def write_script(path, target):
    """Write the program that calls `target`, "module:function"."""
    module, function = target.split(":")
    path.write_text(SCRIPT.format(python=sys.executable, module=module, function=function))
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


if __name__ == "__main__":
    main()
