# SPDX-License-Identifier: Apache-2.0
"""The interpreters of the test matrix, and how to install them into .build/matrix.

There are three sources: interpreters on this machine, packages from another Debian release, and
Debian source packages. An interpreter packaged for another release is unpacked into a directory and
runs with that release's C library. One row adds torch's CUDA build to an interpreter; it imports
and runs on machines without a GPU.
"""

import dataclasses
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MATRIX = ROOT / ".build" / "matrix"
MIRROR = "http://deb.debian.org/debian"
TRIPLET = "x86_64-linux-gnu"


class UnavailableError(Exception):
    """Raised if an interpreter is not available; the message is one line."""


@dataclasses.dataclass(frozen=True)
class Provided:
    """An available interpreter."""

    executable: Path
    root: Path | None = None  # the Debian release it was unpacked from
    packages: Path | None = None  # the folder of its own test tools

    def started(self, program):
        """The command that starts `program`, which is linked with this interpreter's library."""
        if self.root is None:
            return [str(program)]
        loader = self.root / "lib64" / "ld-linux-x86-64.so.2"
        return [str(loader), "--library-path", libraries(self.root), str(program)]

    def home(self):
        """PYTHONHOME for programs that embed the interpreter."""
        return {} if self.root is None else {"PYTHONHOME": str(self.root / "usr")}


@dataclasses.dataclass(frozen=True)
class Entry:
    """One row of the matrix."""

    name: str  # version and ABI flags, as cmake/describe_python.py prints them
    provide: Callable[[], Provided]
    note: str = ""
    module_of: str = ""  # the row whose extension module it uses


def run(*command, log, **options):
    """Run a command and append its output to `log`; raise UnavailableError if the command fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as out:
        status = subprocess.run(
            list(map(str, command)), stdout=out, stderr=out, stdin=subprocess.DEVNULL, **options
        ).returncode
    if status != 0:
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise UnavailableError(f"{Path(command[0]).name} ended with {status}: {''.join(last)}")


def on_this_machine(version):
    """An interpreter installed by pyenv or found on PATH."""

    def provide():
        name = f"python{version}"
        pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
        found = sorted(pyenv.glob(f"versions/{version}.*/bin/{name}"), reverse=True)
        path = found[0] if found else shutil.which(name)
        if path is None:
            raise UnavailableError(f"no {name} in {pyenv} or on PATH")
        return Provided(Path(path))

    return provide


def debian_packages(release, version, *packages, folder=""):
    """The packaged interpreter of another Debian release; `version` may end in d (debug)."""

    def provide():
        root = MATRIX / "roots" / (folder or release)
        unpack(release, root, packages)
        return Provided(launcher(root, version), root)

    return provide


def unpack(release, root, packages):
    """Create the directory for a release and install missing packages."""
    log = MATRIX / "logs" / f"{release}.log"
    if not (root / "made").exists():
        needed("debootstrap")
        shutil.rmtree(root, ignore_errors=True)
        run("debootstrap", "--variant=minbase", release, root, MIRROR, log=log)
        settings = 'Acquire::Check-Valid-Until "false";\nAPT::Install-Recommends "false";\n'
        (root / "etc/apt/apt.conf.d/99matrix").write_text(settings)
        sources = f"deb {MIRROR} {release} main\ndeb-src {MIRROR} {release} main\n"
        (root / "etc/apt/sources.list").write_text(sources)
        run("chroot", root, "apt-get", "update", "-q", log=log)
        (root / "made").touch()
    missing = [name for name in packages if not (root / f"var/lib/dpkg/info/{name}.list").exists()]
    if missing:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        run("chroot", root, "apt-get", "install", "-q", "-y", *missing, log=log, env=environment)
        keep_links_inside(root)


def keep_links_inside(root):
    """Replace symlinks to /etc/alternatives; they would resolve to this machine's libraries."""
    library = root / "usr/lib" / TRIPLET
    for link in filter(Path.is_symlink, list(library.iterdir())):
        target = link.readlink()
        if target.is_relative_to("/etc/alternatives"):
            chosen = (root / target.relative_to("/")).readlink()
            link.unlink()
            link.symlink_to(root / chosen.relative_to("/"))


def needed(package):
    """Install a Debian package on this machine if it is missing."""
    if shutil.which(package) is None:
        if os.geteuid() != 0:
            raise UnavailableError(f"{package} is missing, and only root can install and use it")
        run("apt-get", "install", "-q", "-y", package, log=MATRIX / "logs" / "debian.log")


def libraries(root):
    """The library path of an unpacked release."""
    return f"{root}/usr/lib/{TRIPLET}:{root}/usr/lib"


def launcher(root, version):
    """A script that starts an unpacked interpreter; sys.executable is the path of the script."""
    path = root / "usr/local/bin" / f"python{version}"
    text = (
        "#!/bin/sh\n"
        f'exec "{root}/lib64/ld-linux-x86-64.so.2" --library-path "{libraries(root)}" --argv0 "$0" '
        f'"{root}/usr/bin/python{version}" "$@"\n'
    )
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        path.chmod(0o755)
    prepare_headers(root / "usr/include", version)
    return path


def prepare_headers(include, version):
    """Make the headers of an unpacked interpreter usable without the headers of its C library."""
    headers = include / f"python{version}"
    # The headers of a debug build are links to the release build's headers. The compiler would
    # then use the release build's pyconfig.h.
    for link in filter(Path.is_symlink, list(headers.iterdir())):
        target = link.resolve(strict=True)
        link.unlink()
        (shutil.copytree if target.is_dir() else shutil.copy)(target, link)
    # Debian's pyconfig.h includes an architecture-specific file from /usr/include, which
    # belongs to this machine. Copy the release's own file next to the other headers.
    own = headers / TRIPLET / f"python{version}"
    if not own.exists():
        shutil.copytree(include / TRIPLET / f"python{version}", own)


def built_from_source(release, package, version, *options, folder=""):
    """An interpreter built from a Debian release's source package, configured with `options`."""

    def provide():
        prefix = MATRIX / "interpreters" / (folder or version)
        executable = prefix / "bin" / f"python{version}"
        if not executable.exists():
            build(source_of(release, package), prefix, options)
        return Provided(executable)

    return provide


def source_of(release, package):
    """The upstream source archive of a package."""
    root = MATRIX / "roots" / release
    log = MATRIX / "logs" / f"{release}.log"
    unpack(release, root, ())
    folder = root / "src"
    if not any(folder.glob(f"{package}_*.orig.tar.*z")):
        folder.mkdir(exist_ok=True)
        script = f"cd /src && apt-get source -q --download-only {package}"
        try:
            run("chroot", root, "sh", "-c", script, log=log)
        except UnavailableError:
            download_earlier_source(package, root, folder)
    return next(folder.glob(f"{package}_*.orig.tar.*z"))


def download_earlier_source(package, root, folder):
    """Download the newest source archive that the mirror still has.

    A mirror may list a new release before it has the files.
    """
    command = ["chroot", root, "apt-cache", "showsrc", "--only-source", package]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    versions = re.findall(rf"\b{re.escape(package)}_([\d.]+)\.(\d+)\.orig\.tar\.xz", listed)
    for minor, patch in sorted(set(versions), reverse=True):
        for earlier in range(int(patch), -1, -1):
            name = f"{package}_{minor}.{earlier}.orig.tar.xz"
            try:
                urllib.request.urlretrieve(f"{MIRROR}/pool/main/p/{package}/{name}", folder / name)
            except urllib.error.HTTPError:
                continue
            return
    raise UnavailableError(f"the mirror has no source of {package}")


def build(archive, prefix, options):
    """configure, make, make install."""
    log = MATRIX / "logs" / f"{prefix.name}.log"
    folder = MATRIX / "source" / prefix.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run("tar", "-xf", archive, "-C", folder, "--strip-components=1", log=log)
    # Shared, because the static library and our code define the same tables.
    settings = [f"--prefix={prefix}", "--enable-shared", f"LDFLAGS=-Wl,-rpath={prefix}/lib"]
    settings += ["--without-ensurepip", "--disable-test-modules", *options]
    run("./configure", "-q", *settings, cwd=folder, log=log)
    run("make", "-s", f"-j{os.environ.get('JOBS', '2')}", cwd=folder, log=log)
    run("make", "-s", "install", cwd=folder, log=log)
    shutil.rmtree(folder)


def packaged(version):
    """An interpreter from Debian unstable."""
    release = version.rstrip("d")
    packages = [f"python{release}-dev"]
    if version != release:
        packages.append(f"python{release}-dbg")
    return debian_packages("sid", version, *packages)


def with_torch(release, version):
    """A Debian release's interpreter and torch packages, in a separate directory."""
    packages = [f"python{version}-dev", "python3-torch"]
    return debian_packages(release, version, *packages, folder=f"{release}-torch")


def with_cuda_build(version):
    """An interpreter on this machine with the package index's torch, a CUDA build of 5 GB."""

    def provide():
        base = on_this_machine(version)().executable
        folder = MATRIX / "environments" / f"{version}-cuda"
        if not (folder / "made").exists():
            log = MATRIX / "logs" / f"{folder.name}.log"
            shutil.rmtree(folder, ignore_errors=True)
            run(base, "-m", "venv", folder, log=log)
            run(folder / "bin" / "pip", "install", "--quiet", "torch", "numpy", log=log)
            (folder / "made").touch()
        return Provided(folder / "bin" / f"python{version}")

    return provide


def running_interpreter():
    """The interpreter of .venv, with the pinned torch."""
    return Provided(Path(sys.executable))


def with_newest_packages():
    """A virtual environment with the newest release of every requirement of `make test`.

    pip installs torch with CUDA, several gigabytes, unless PIP_EXTRA_INDEX_URL or another option of
    pip names an index of smaller builds.
    """
    folder, log = MATRIX / "newest", MATRIX / "logs" / "newest.log"
    python = folder / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", folder, log=log)
    files = ("requirements-dev.txt", "requirements-trainers.txt")
    pins = [pin for name in files for pin in (ROOT / name).read_text().splitlines()]
    names = [pin.partition("==")[0] for pin in pins if "==" in pin]
    run(python, "-m", "pip", "install", "--quiet", "--upgrade", *names, log=log)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    # The entry point of the pytest plugin.
    for info in Path(sysconfig.get_path("purelib")).glob("cyclewatch-*.dist-info"):
        shutil.copytree(info, packages / info.name, dirs_exist_ok=True)
    return Provided(python, packages=packages)


ENTRIES = [
    Entry("3.11", running_interpreter),
    Entry("3.12", on_this_machine("3.12")),
    Entry("3.13", on_this_machine("3.13")),
    # Bug fix releases may change layouts, too.
    Entry("3.13+", packaged("3.13"), module_of="3.13"),
    Entry("3.14", packaged("3.14")),
    Entry("3.15", packaged("3.15")),
    Entry("3.13t", built_from_source("trixie", "python3.13", "3.13t", "--disable-gil")),
    Entry("3.14t", built_from_source("sid", "python3.14", "3.14t", "--disable-gil")),
    Entry("3.13d", packaged("3.13d"), note="assertions on"),
    Entry("3.14d", packaged("3.14d"), note="assertions on"),
    Entry("3.15d", packaged("3.15d"), note="assertions on"),
    # The oldest and the newest torch in Debian.
    Entry("3.13-torch", with_torch("trixie", "3.13"), module_of="3.13"),
    Entry("3.14-torch", with_torch("sid", "3.14"), module_of="3.14"),
    Entry("3.12-cuda", with_cuda_build("3.12"), module_of="3.12"),
    Entry("newest", with_newest_packages, note="newest packages", module_of="3.11"),
]
