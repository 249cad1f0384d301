# SPDX-License-Identifier: Apache-2.0
"""Source code in reports: when source lines are read, and when they are omitted."""

import dataclasses
import gc
import importlib
import linecache
import math
import os
import sys
import types
import weakref
import zipfile

import pytest

import cyclewatch
from cyclewatch.code import source_lines

# The cut is line 5.
MODULE = """\
class Child:
    size = 40
    def __init__(self, parent):
        # A comment.
        self.parent = parent  # é
        self.name = ""

class Parent:
    def __init__(self):
        self.child = Child(self)
"""
CUT = "        self.parent = parent  # é"


@pytest.fixture(autouse=True)
def started_now(monkeypatch):
    """Pretend that the files written by the tests are older than this process."""
    monkeypatch.setattr(source_lines, "_process_start", math.inf)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a module to a directory on sys.path."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text=MODULE, encoding="utf-8"):
        path = tmp_path / "child_of_parent.py"
        path.write_bytes(text.encode(encoding))
        return path

    yield write
    sys.modules.pop("child_of_parent", None)


def cut_of(module, change=lambda: None, **options):
    """Leak one Parent; return the report and the reference to cut."""
    owner = module.Child
    cyclewatch.register_owner(owner, lambda child: {"device": "cpu", "nbytes": child.size})
    gc.collect()
    try:
        with cyclewatch.watch(devices="cpu", budget=1, **options) as watch:
            module.Parent()
            change()
            gc.collect()
    finally:
        cyclewatch.unregister_owner(owner)
    [finding] = watch.report().findings
    return watch.report(), finding.cut


def imported():
    return importlib.import_module("child_of_parent")


def test_the_cut_has_its_line_with_one_line_around_it(written):
    path = written()
    report, cut = cut_of(imported())
    assert cut.location == f"{path}:5"
    assert [cut.source.first_line, cut.source.line] == [4, 5]
    assert cut.source.lines == ["        # A comment.", CUT, '        self.name = ""']
    start, end = cut.source.columns
    assert CUT[start - 1 : end - 1] == "self.parent"
    assert repr(cut.source) == "<SourceExcerpt of line 5>"
    assert "  > 5 | self.parent = parent  # é\n" in report.to_text()
    line = '"expression":"self.parent","after":" = parent  # \\u00e9","here":true'
    assert line in report.to_html()
    assert all(step.source is None for step in report.findings[0].cycle)


INTERCEPTING = MODULE.replace(
    "    size = 40\n",
    """\
    size = 40

    def __getattribute__(self, name):
        return object.__getattribute__(self, "parent") and object.__getattribute__(self, name)

""",
)


def test_no_property_is_suggested_if_the_class_intercepts_every_access(written):
    written(INTERCEPTING)
    report, cut = cut_of(imported())
    assert cut.label == ".parent"
    # The getter of a property would call __getattribute__(), which would call the getter.
    assert "property" not in report.findings[0].advice


FIELDS = """\
import dataclasses

@dataclasses.dataclass
class Child:
    \"\"\"Refers to its parent.

    parent: the Parent
    \"\"\"
    name: str
    parent: object
    size = 40

class Parent:
    def __init__(self):
        self.child = Child("", self)
"""


def test_a_field_of_a_dataclass_has_its_line(written, tmp_path):
    path = written(FIELDS)
    report, cut = cut_of(imported())
    assert cut.location == f"{path}:10"
    assert [cut.source.line, cut.source.lines] == [10, ["    parent: object"]]
    assert f"{path.name}:10\n" in report.to_text()
    report.save(tmp_path / "report.json")
    assert cyclewatch.Report.load(tmp_path / "report.json").findings[0].cut.location == cut.location


FIXED = """\
@dataclasses.dataclass(slots=True)
class Child:
    name: str
    parent: object
    _parent_ref: object = dataclasses.field(init=False)

def get(self): return self._parent_ref and self._parent_ref()
def set(self, value): self._parent_ref = None if value is None else weakref.ref(value)
Child.parent = property(get, set)
"""


def test_the_advice_for_a_dataclass_with_slots(written):
    written(FIELDS.replace("dataclass\n", "dataclass(slots=True)\n"))
    report, cut = cut_of(imported())
    assert cut.label == "slot:parent"
    advice = report.findings[0].advice
    assert (
        "In code: a field `_parent_ref` with `init=False`, and a property `parent`, assigned after "
        "the class body, that returns `self._parent_ref and self._parent_ref()`, with the setter "
        "`self._parent_ref = None if value is None else weakref.ref(value)`" in advice
    )
    names = {"dataclasses": dataclasses, "weakref": weakref}
    exec(FIXED, names)
    parent = type("Parent", (), {})()
    parent.child = names["Child"]("", parent)
    assert parent.child.parent is parent
    dead = weakref.ref(parent)
    del parent
    assert dead() is None


def test_a_field_has_the_location_of_its_class_without_source(written):
    path = written(FIELDS)
    _, cut = cut_of(imported(), source_lines=False)
    assert cut.location in (str(path), f"{path}:3")  # classes know their line since 3.13


@pytest.mark.parametrize(
    ("name", "line"),
    [("m.A.x", 2), ("m.A.y", 3), ("m.A.z", 1), ("m.Twice.x", 0), ("m.Missing.x", 0), ("x", 0)],
)
def test_fields_are_found_in_the_class_body(tmp_path, name, line):
    path = tmp_path / "fields.py"
    path.write_text(
        "class A:\n  x: int\n  y = attrib()\nclass Twice:\n  x: int\nclass Twice:\n  x: int\n"
    )
    [(first, lines)] = source_lines.excerpts([f"{path}:{name}"])
    assert [first, len(lines)] == [max(line, 1), 1 if line else 0]
    path.write_text("class A:\n  x: int\n  (\n")
    assert source_lines.excerpts([f"{path}:m.A.x"]) == [(1, [])]


def test_the_load_of_a_bound_method_is_underlined(written):
    written(
        MODULE.replace("self.parent = parent", "self.calls = [self.call]").replace(
            "class Parent", "    def call(self):\n        pass\n\nclass Parent"
        )
    )
    _, cut = cut_of(imported())
    start, end = cut.source.columns
    assert cut.source.lines[1][start - 1 : end - 1] == "self.call"


def test_observers_and_warnings_receive_the_source(written, tmp_path, caplog):
    caplog.set_level("INFO", "cyclewatch")
    written()
    module = imported()
    cyclewatch.register_owner(module.Child, lambda child: {"device": "cpu", "nbytes": child.size})
    sources = []
    with (
        cyclewatch.observe_tensor_cycles(
            lambda report: sources.extend(each.cut.source for each in report.findings),
            devices="cpu",
        ),
        cyclewatch.warn_tensor_cycles(devices="cpu", report_dir=tmp_path, formats="json") as watch,
        pytest.warns(cyclewatch.TensorCycleWarning),
    ):
        module.Parent()
        gc.collect()
        watch.report()
    cyclewatch.unregister_owner(module.Child)
    assert sources[0].lines[1] == CUT
    assert "> 5 | self.parent = parent" in caplog.text
    [path] = watch.report_paths
    assert cyclewatch.Report.load(path).findings[0].cut.source.lines[1] == CUT


def rewrite(path):
    """Rewrite a file until its ctime has advanced, then restore its modification time."""
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        path.write_text(f"# changed\n{MODULE}")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [rewrite, os.unlink])
def test_source_that_changed_is_left_out(written, monkeypatch, change):
    path = written()
    module = imported()
    # As if the process had begun right after the file was written.
    changed = path.stat().st_ctime
    monkeypatch.setattr(source_lines, "_process_start", math.nextafter(changed, math.inf))
    _, cut = cut_of(module)
    assert cut.source is not None
    _, cut = cut_of(module, lambda: change(path))
    assert cut.location == f"{path}:5"
    assert cut.source is None


def test_a_file_written_after_the_process_began_is_left_out(written, monkeypatch):
    written()
    monkeypatch.setattr(source_lines, "_process_start", 0.0)
    assert cut_of(imported())[1].source is None


def link_to(folder, target):
    (folder / "next").symlink_to(target)
    (folder / "next").rename(folder / "current")


def rename_folder(folder, target):
    (folder / "current").unlink()
    (folder / target).rename(folder / "current")


@pytest.mark.parametrize("change", [link_to, rename_folder])
def test_an_older_file_that_takes_the_place_of_the_loaded_one_is_left_out(
    tmp_path, monkeypatch, change
):
    for name in ("r1", "r2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "child_of_parent.py").write_text(f"# {name}\n")
    link_to(tmp_path, "r1")
    clock = tmp_path / "clock"
    clock.touch()
    last = clock.stat().st_ctime_ns
    while clock.stat().st_ctime_ns == last:
        clock.touch()
    monkeypatch.setattr(source_lines, "_process_start", clock.stat().st_ctime)
    path = str(tmp_path / "current/child_of_parent.py")
    assert source_lines.read_source(path) == ["# r1"]
    (tmp_path / "r1" / "output.txt").touch()  # adding a file does not matter
    assert source_lines.read_source(path) == ["# r1"]
    change(tmp_path, "r2")
    assert source_lines.read_source(path) is None


def test_process_start_is_in_the_past(tmp_path):
    start = source_lines._time_of_process_start()
    (tmp_path / "new.py").touch()
    assert os.stat(sys.executable).st_ctime < start <= (tmp_path / "new.py").stat().st_ctime


def test_encodings_and_line_ends(written):
    path = written("# -*- coding: latin-1 -*-\r\nname = 'é'\x0c\r\n", "latin-1")
    assert source_lines.read_source(str(path)) == ["# -*- coding: latin-1 -*-", "name = 'é'\x0c"]


UNREADABLE = {
    "binary": b"\x7fELF\x02\x01\x01\x00\xff\xfe",
    "null characters": b"a = 1\n\x00\n",
    "wrong encoding": "é".encode("latin-1"),
    "unknown encoding": b"# coding: nonsense\n",
    "too large": b"a = 1\n" * 1_000_000,
    "too many lines": b"\n" * 200_001,
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_file_that_is_not_source_is_left_out(tmp_path, kind):
    path = tmp_path / "file.py"
    path.write_bytes(UNREADABLE[kind])
    assert source_lines.read_source(str(path)) is None
    assert source_lines.excerpts([f"{path}:1"]) == [(1, [])]


def test_a_path_that_is_not_a_file_is_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.py")
    (tmp_path / "relative.py").write_text("a\n")  # the current directory has changed
    paths = [f"{tmp_path}/pipe.py", str(tmp_path), "/dev/zero", "relative.py", "", "<string>"]
    for path in [*paths, "/no/such.py", "a\0b", "/\udc80.py", "/" + "a" * 10_000]:
        assert source_lines.read_source(path) is None
        assert source_lines.excerpts([f"{path}:1"]) == [(1, [])]


def test_relative_paths_use_the_folder_of_the_start(tmp_path, monkeypatch):
    (tmp_path / "relative.py").write_text("a\n")
    monkeypatch.setattr(source_lines, "_folder", str(tmp_path))
    assert source_lines.read_source("relative.py") == ["a"]


@pytest.mark.parametrize("number", ["0", "3", "9" * 20, "", "-1", "x"])
def test_a_line_that_does_not_exist_is_left_out(tmp_path, number):
    path = tmp_path / "two.py"
    path.write_text("one\ntwo\n")
    [(_, lines)] = source_lines.excerpts([f"{path}:{number}"])
    assert lines == []


def test_long_lines_are_truncated(written):
    path = written(MODULE.replace("# é", "#" + "é" * 500))
    _, cut = cut_of(imported())
    assert [len(line) for line in cut.source.lines] == [20, 200, 22]
    assert cut.source.lines[1].endswith("éé...")
    assert cut.source.columns == (9, 20)
    late = " " * 300 + "self.parent = parent"
    path.write_text(late)
    assert source_lines.excerpts([f"{path}:1"]) == [(1, [" " * 197 + "..."])]


def test_columns_in_the_omitted_part_of_a_line_are_left_out(written):
    written(MODULE.replace("self.parent", f"text = '{'a' * 200}'; self.parent"))
    _, cut = cut_of(imported())
    assert cut.source.lines[1].endswith("aa...")
    assert cut.source.columns is None


def test_cells_are_read_from_linecache(monkeypatch):
    name = "/tmp/ipykernel_1/2.py"  # a name, not a file
    lines = [f"{line}\n" for line in MODULE.splitlines()]
    monkeypatch.setitem(linecache.cache, name, (len(MODULE), None, lines, name))
    cell = type(sys)("cell")
    exec(compile(MODULE, name, "exec"), cell.__dict__)
    _, cut = cut_of(cell)
    assert cut.location == f"{name}:5"
    assert cut.source.lines[1] == CUT


def test_a_copy_of_a_file_in_linecache_is_not_used(written):
    path = written()
    linecache.getlines(str(path))
    rewrite(path)
    assert source_lines.read_source(str(path))[0] == "# changed"


def test_zip_files_are_read_by_their_loader(tmp_path, monkeypatch):
    archive = tmp_path / "library.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("child_of_parent.py", MODULE)
    monkeypatch.syspath_prepend(archive)
    module = imported()
    try:
        _, cut = cut_of(module)
        assert cut.location == f"{archive}/child_of_parent.py:5"
        assert cut.source.lines[1] == CUT
        monkeypatch.setattr(source_lines, "_process_start", 0.0)
        assert cut_of(module)[1].source is None
    finally:
        del sys.modules["child_of_parent"]


def test_zip_files_with_a_relative_path_are_read_by_their_loader(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "library.zip", "w") as file:
        file.writestr("child_of_parent.py", MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(source_lines, "_folder", str(tmp_path))
    monkeypatch.syspath_prepend("library.zip")
    try:
        _, cut = cut_of(imported())
        assert cut.source.lines[1] == CUT
    finally:
        del sys.modules["child_of_parent"]


def test_errors_of_a_loader_are_ignored(tmp_path, monkeypatch):
    class Loader:
        def get_source(self, name):
            raise RuntimeError(name)

    (tmp_path / "library.zip").touch()
    module = type(sys)("broken")
    origin = f"{tmp_path}/library.zip/broken.py"
    module.__spec__ = importlib.machinery.ModuleSpec("broken", Loader(), origin=origin)
    monkeypatch.setitem(sys.modules, "broken", module)
    assert source_lines.read_source(origin) is None


def test_lone_surrogates_are_replaced(monkeypatch):
    monkeypatch.setitem(linecache.cache, "cell", (1, None, ["a = '\udc80'\n"], "cell"))
    assert source_lines.excerpts(["cell:1"]) == [(1, ["a = '?'"])]


@pytest.mark.parametrize("is_link", [False, True])
def test_parent_folders_are_removed_from_a_path_unless_a_link_changes_them(tmp_path, is_link):
    target = tmp_path / "other" / "deep"
    target.mkdir(parents=True)
    folder = tmp_path / "folder"
    if is_link:
        folder.symlink_to(target)
    else:
        folder.mkdir()
    file = (target.parent if is_link else tmp_path) / "family.py"
    file.write_text(MODULE)
    given = f"{folder}/../family.py"
    module = types.ModuleType("family")
    exec(compile(MODULE, given, "exec"), module.__dict__)
    _, cut = cut_of(module)
    assert cut.location == f"{given if is_link else file}:5"
