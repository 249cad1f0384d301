# SPDX-License-Identifier: Apache-2.0
"""Attacks on the guarantees in SECURITY.md.

These guarantees concern secret values in reports, files in shared directories, and hostile input.
"""

import ctypes
import json
import os
import re
import shutil
import stat
import struct
from pathlib import Path

import pytest

import cyclewatch

GOLDEN = Path(__file__).parents[1] / "golden"
FORMATS = {"text": "txt", "json": "json", "dot": "dot", "svg": "svg", "html": "html"}

LEAKING = """
import gc, json, logging, operator, os, sys, warnings
import cyclewatch
warnings.simplefilter("ignore")
logged = []
handler = logging.Handler()
handler.emit = lambda record: logged.append(record.getMessage())
logging.getLogger("cyclewatch").addHandler(handler)
class Owner:
    answer = {"device": "cpu", "nbytes": 8}
cyclewatch.register_owner(Owner, operator.attrgetter("answer"))
gc.disable()
gc.collect()
def leak(kind):
    node = type(kind, (), {})()
    node.me, node.owner = node, Owner()
    del node
    gc.collect()
def started(*formats):
    return cyclewatch.warn_tensor_cycles(devices="cpu", formats=formats or "json", budget=1)
"""


def run(interpreter, folder, program, *arguments):
    """Run the program as "leaking.py", and return the last line of its output, parsed as JSON."""
    path = folder.parent / "leaking.py"
    path.write_text(LEAKING + program)
    outcome = interpreter.run(path, *arguments, cwd=folder)
    return json.loads(outcome.stdout.splitlines()[-1])


@pytest.fixture
def shared(tmp_path):
    """A world-writable directory with the sticky bit, like /tmp."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


SECRETS = """
import functools
secret = "hunter2"
class Secretive:
    default = f"attribute {secret}"
    def __init__(self):
        self.password = f"password {secret}"
        self.table = {f"key {secret}": [self], 7: secret, (secret,): self, secret.encode(): self}
        self.owner = Owner()
        self.items = [f"item {secret}", {f"element {secret}"}, self]
        self.call = functools.partial(print, self, f"argument {secret}", end=f"end {secret}")
        token = f"closure {secret}"
        self.on_event = lambda word=f"default {secret}": (self, token, word)
        self.generator = self.generate(f"local {secret}")
        next(self.generator)
        try:
            raise ValueError(f"message {secret}", self)
        except ValueError as error:
            self.error = error
    def generate(self, word):
        literal = "literal hunter2"
        yield self, word, literal
    def __repr__(self):
        return f"repr {secret}"
class Keyed:
    def __init__(self):
        self.table = {f"key {secret}": self}
        self.owner = Owner()
class Named:
    def __init__(self, key):
        self.table = {key: self}
        self.owner = Owner()
class Inheriting:
    def __init__(self):
        self.environment = {
            name: [self, value] for name, value in os.environ.items() if secret in value
        }
        self.owner = Owner()
def leave():
    local = f"frame {secret}"
    for key in f"key_{secret}", f"{secret}_key", f"clé_{secret}", f"{secret}_clé":
        Named(key)
    return Secretive() and Keyed() and Inheriting() and None
def texts_of(report):
    assert report.retained_bytes == 56
    return {name: getattr(report, f"to_{name}")() for name in sys.argv[1].split(",")}
watches = [
    cyclewatch.watch(
        devices="cpu", budget=1, capture_values=asked == "values", source_lines=False
    )
    for asked in sys.argv[2].split()
]
leave()
gc.collect()
print(json.dumps([texts_of(watch.report()) for watch in watches]))
"""


# Each word starts a watch. With "values" alone the secrets are reported, which proves that the
# program has secrets to omit.
@pytest.mark.parametrize("asked", ["silent", "values silent", "silent values", "values"])
def test_reports_hold_no_values_unless_every_watch_asked(interpreter, shared, monkeypatch, asked):
    monkeypatch.setenv("hunter2_name", "hunter2 of the environment")
    arguments = [",".join(FORMATS), asked, "hunter2 of the command line"]
    reports = run(interpreter, shared, SECRETS, *arguments)
    assert len(reports) == len(asked.split())
    for report in reports:
        assert report.keys() == FORMATS.keys()
        for name, text in report.items():
            assert "Secretive" in text, name
            assert "Inheriting" in text, name
            assert ("hunter2" in text) == (asked == "values"), name
    if asked == "values":
        assert "key hunter2" in reports[0]["json"]
        assert "hunter2_name" in reports[0]["json"]
        # capture_values adds only dict keys.
        assert "hunter2 of the" not in reports[0]["json"]


def test_files_written_unasked_are_the_owners_alone(interpreter, shared):
    run(
        interpreter,
        shared,
        """
os.umask(0)
watch = started("text", "json", "dot", "svg", "html")
for number in range(3):
    leak(f"Kind{number}")
    watch._native_watch.flush(60)
watch.stop()
print(len(watch.report_paths))
""",
    )
    modes = {path.suffix: stat.S_IMODE(path.lstat().st_mode) for path in shared.iterdir()}
    assert modes == {f".{suffix}": 0o600 for suffix in FORMATS.values()}


# If there is a cycle, the watch writes the report; otherwise `run` writes an empty report.
@pytest.mark.parametrize("leaks", [True, False])
@pytest.mark.usefixtures("installation")
def test_a_report_that_run_names_is_the_owners_alone(main_interpreter, shared, leaks):
    for name in ("report.json", "report.html"):
        (shared / name).write_text("old, for everybody")
        (shared / name).chmod(0o666)
    act = 'leak("Kind")' if leaks else "pass"
    command = "import os, sys; os.umask(0); from cyclewatch.cli import main; main(sys.argv[1:])"
    (shared / "program.py").write_text(f"{LEAKING}\n{act}\n")
    main_interpreter.run(
        command,
        *("run", "--devices", "cpu", "--min-bytes", "0", "--format", "html"),
        *("--force", "--output", "report.json", "program.py"),
        cwd=shared,
    )
    for path in (shared / "report.json", shared / "report.html"):
        assert [path.name, stat.S_IMODE(path.lstat().st_mode)] == [path.name, 0o600]
        assert len(cyclewatch.Report.load(path).findings) == leaks


# Creates something at the path of the report.
PLANTED = {
    "link to a file": "os.symlink(victim, path)",
    "link to nothing": "os.symlink(victim + '-new', path)",
    "link to a device": "os.symlink('/dev/full', path)",
    "link to itself": "os.symlink(path, path)",
    "hard link": "os.link(victim, path)",
    "pipe": "os.mkfifo(path, 0o666)",
    "folder": "os.mkdir(path)",
    "file": "open(path, 'w').write('theirs')",
}


@pytest.mark.parametrize("planted", PLANTED)
def test_what_stands_in_the_way_is_neither_followed_nor_replaced(
    interpreter, shared, planted, tmp_path
):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path, paths, unchanged = run(
        interpreter,
        shared,
        f"""
victim = sys.argv[1]
path = os.path.abspath(f"cyclewatch-leaking-{{os.getpid()}}.json")
{PLANTED[planted]}
def facts():  # reading a link changes its time of access
    found = os.lstat(path)
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns
before = facts()
with started() as watch:
    leak("Kind")
    leak("Other")
print(json.dumps([path, watch.report_paths, facts() == before]))
""",
        victim,
    )
    # The watch uses another name, and the existing file is unchanged.
    assert unchanged
    assert paths == [path.replace(".json", "-2.json")]
    assert cyclewatch.Report.load(paths[0]).retained_bytes == 16
    assert victim.read_text() == "precious"
    assert sorted(os.listdir(shared)) == sorted(map(os.path.basename, [path, *paths]))


@pytest.mark.parametrize("planted", [each for each in PLANTED if each != "hard link"])
def test_what_takes_the_place_of_a_report_is_not_followed_either(
    interpreter, shared, planted, tmp_path
):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path, logged, retained = run(
        interpreter,
        shared,
        f"""
victim = sys.argv[1]
watch = started()
leak("Kind")
watch._native_watch.flush(60)
(path,) = watch.report_paths
os.unlink(path)
{PLANTED[planted]}
leak("Other")
watch.stop()
print(json.dumps([path, logged[-1], watch.report().retained_bytes]))
""",
        victim,
    )
    assert victim.read_text() == "precious"
    assert not Path(f"{victim}-new").exists()
    assert retained == 16
    assert os.listdir(shared) == [os.path.basename(path)]
    if planted == "folder":
        assert "could not write" in logged
        assert os.listdir(path) == []
    else:
        # Our file was replaced again, without opening the planted one.
        assert stat.S_ISREG(os.lstat(path).st_mode)
        assert cyclewatch.Report.load(path).retained_bytes == 16


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
@pytest.mark.parametrize("planted", ["link to a file", "pipe", "file", "folder"])
def test_another_user_in_a_shared_folder(interpreter, shared, planted, tmp_path):
    # Another user creates files under the first names that the program would choose.
    victim = tmp_path / "victim"
    victim.write_text("precious")
    tmp_path.chmod(0o755)
    paths, logged, retained, uids = run(
        interpreter,
        shared,
        f"""
victim = sys.argv[1]
attacker = os.fork()
if attacker == 0:
    os.setgid(65534)
    os.setuid(65534)
    for number in range(1, 5):
        ending = f"-{{number}}" if number > 1 else ""
        path = f"cyclewatch-leaking-{{os.getppid()}}{{ending}}.json"
        {PLANTED[planted]}
    os._exit(0)
assert os.waitpid(attacker, 0)[1] == 0
watch = started()
leak("Kind")
watch._native_watch.flush(60)
leak("Other")
watch.stop()
uids = {{name: os.lstat(name).st_uid for name in os.listdir()}}
print(json.dumps([watch.report_paths, logged[-1], watch.report().retained_bytes, uids]))
""",
        victim,
    )
    assert victim.read_text() == "precious"
    assert retained == 16
    (path,) = paths
    assert path.endswith("-5.json")
    assert cyclewatch.Report.load(path).retained_bytes == 16
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
    assert sorted(uids.values()) == [0, 65534, 65534, 65534, 65534]


def created_in(folder, act):
    """Names of the files created in `folder` while `act` runs, in order of creation."""
    libc = ctypes.CDLL(None, use_errno=True)
    watcher = libc.inotify_init1(os.O_NONBLOCK)
    create = 0x100
    assert libc.inotify_add_watch(watcher, os.fsencode(folder), create) >= 0, ctypes.get_errno()
    act()
    events = os.read(watcher, 1 << 20)
    os.close(watcher)
    names = []
    while events:
        _, _, _, length = struct.unpack_from("iIII", events)
        names.append(events[16 : 16 + length].rstrip(b"\0").decode())
        events = events[16 + length :]
    return names


def test_temporary_names_cannot_be_guessed(main_interpreter, shared):
    program = """
watch = started()
for number in range(8):
    leak(f"Kind{number}")
    watch._native_watch.flush(60)
watch.stop()
print(os.getpid())
"""
    names = created_in(shared, lambda: run(main_interpreter, shared, program))
    temporary = [name for name in names if name.startswith(".")]
    assert len(temporary) >= 8
    assert all(re.fullmatch(r"\.cyclewatch-[0-9a-f]{8,16}", name) for name in temporary)
    numbers = [int(name.rpartition("-")[2], 16) for name in temporary]
    # 64 random bits: no duplicates and no consecutive numbers.
    assert len(set(numbers)) == len(numbers)
    assert all(abs(b - a) > 1 << 32 for a, b in zip(numbers, numbers[1:], strict=False))
    assert [name for name in os.listdir(shared) if name.startswith(".")] == []


# Records audit events that run or load code, open files or start processes.
AUDITED = """
import json, logging, os, sys, tomllib
import cyclewatch, cyclewatch.settings.configuration_reader
# The first watch compiles code to verify object layouts.
cyclewatch.watch(devices="cpu").stop()
seen = []
def note(event, arguments):
    if event.split(".")[0] in ("exec", "compile", "import", "subprocess", "os", "socket", "ctypes",
                               "pickle", "marshal", "urllib", "webbrowser", "shutil"):
        seen.append([event, repr(arguments)])
    if event == "open":
        seen.append([event, str(arguments[0])])
"""


def test_reading_a_report_executes_and_imports_nothing(main_interpreter, shared, tmp_path):
    hostile = "__import__('os').system('touch owned')"
    run(
        main_interpreter,
        shared,
        """
with started("json", "html") as watch:
    leak(sys.argv[1])
    leak("</script><script>owned()</script>")
print(0)
""",
        hostile,
    )
    reports = sorted(shared.glob("cyclewatch-*"))
    # The data of a page that contains other scripts can also be read.
    page = next(path for path in reports if path.suffix == ".html")
    owned = page.read_text().replace("<script>", "<script>owned();</script><script>", 1)
    page.with_name("cyclewatch-owned.html").write_text(owned)
    paths = [*reports, shared / "cyclewatch-owned.html"]
    outcome = main_interpreter.run(
        AUDITED
        + """
sys.addaudithook(note)
for path in sys.argv[1:]:
    report = cyclewatch.Report.load(path)
    report.to_json(), report.to_html()
print(json.dumps(seen))
""",
        *paths,
        cwd=tmp_path,
    )
    assert json.loads(outcome.stdout) == [["open", str(path)] for path in paths]


CONFIGURATION = """
[[pattern]]
id = "owned"
title = "__import__('os').system('touch owned')"
shape = "{holder.__class__.__mro__} ${IFS} $(touch owned) `touch owned` !!python/object:os.system"
explanation = "{0.__globals__}"

[[ignore]]
signature = "cw1-0000000000000000"
reason = "%n%s {reason.__class__}"

[[ignore]]
import = "os"
"""


@pytest.mark.parametrize(
    ("file", "table"), [("cyclewatch.toml", "[["), ("pyproject.toml", "[[tool.cyclewatch.")]
)
def test_reading_a_configuration_executes_and_imports_nothing(
    main_interpreter, tmp_path, file, table
):
    # The first watch starts elsewhere, so the configuration is read after the hook is installed.
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    elsewhere.mkdir()
    here.mkdir()
    (here / file).write_text(CONFIGURATION.replace("[[", table))
    outcome = main_interpreter.run(
        AUDITED
        + """
os.chdir(sys.argv[1])
sys.addaudithook(note)
watch = cyclewatch.watch(devices="cpu")
cyclewatch.patterns()
watch.stop()
print(json.dumps(seen))
""",
        here,
        cwd=elsewhere,
    )
    seen = json.loads(outcome.stdout)
    opened = [name for event, name in seen if event == "open"]
    assert str(here / file) in opened
    assert f"{here / file}: " in outcome.stderr  # it was read, and its errors are reported
    assert {event for event, _ in seen} <= {"open", "os.listdir", "os.scandir"}
    # The metadata of installed packages shows which code is a library's.
    metadata = (".dist-info/direct_url.json", ".dist-info/RECORD")
    assert all(name.endswith((".toml", *metadata)) for name in opened)
    assert os.listdir(here) == [file]


FORBIDDEN = {
    "fork": "os.fork()",
    "execve": "os.execve('/bin/true', ['true'], {})",
    "posix_spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "system": "os.system('true')",
    "socket": "import socket; socket.socket()",
    "getaddrinfo": "import socket; socket.getaddrinfo('localhost', 80)",
}


@pytest.mark.parametrize("call", FORBIDDEN)
def test_preloaded_library_ends_the_program(main_interpreter, no_network, call):
    program = f"import os\n{FORBIDDEN[call]}"
    outcome = main_interpreter.run(program, check=False, LD_PRELOAD=str(no_network))
    assert (outcome.returncode, outcome.stderr) == (99, f"not alone: {call}()\n")


# Python's audit events also cover direct system calls.
AUDIT_HOOK = """
def note(event, arguments):
    if event.split(".")[0] in ("socket", "subprocess", "pty", "urllib", "http", "ftplib",
                               "smtplib", "webbrowser") or event in (
                                "os.exec", "os.fork", "os.forkpty", "os.posix_spawn",
                                "os.spawn", "os.startfile", "os.system"):
        print("not alone:", event, flush=True)
        os._exit(98)
sys.addaudithook(note)
"""


def test_a_watch_starts_no_process_and_opens_no_socket(
    interpreter, shared, no_network, monkeypatch
):
    monkeypatch.setenv("LD_PRELOAD", str(no_network))
    written = run(
        interpreter,
        shared,
        AUDIT_HOOK
        + """
with started("text", "json", "dot", "svg", "html") as watch:
    leak("Kind")
report = watch.report()
assert report.retained_bytes == 8
texts = [getattr(report, f"to_{name}")() for name in ("text", "json", "dot", "svg", "html")]
report.save("leaking.json")
merged = cyclewatch.Report.merge([cyclewatch.Report.load("leaking.json"), report])
assert merged.findings
print(json.dumps(sorted(os.listdir())))
""",
    )
    assert len(written) == 6


@pytest.mark.parametrize(
    "words",
    [
        ["show", "report.json"],
        ["convert", "report.json", "-o", "report.html"],
        ["convert", "report.json", "-o", "report.svg"],
        ["view", "--no-open", "report.json"],
        ["diff", "report.json", "report.json"],
        ["merge", "report.json", "report.json", "-o", "merged.json"],
        ["strip", "--paths", "report.json"],
        ["explain", "self-reference"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_starts_no_process_and_opens_no_socket(
    main_interpreter, tmp_path, no_network, words
):
    shutil.copy(GOLDEN / "report.json", tmp_path)
    program = f"""
import os, sys
{AUDIT_HOOK}
from cyclewatch.cli import main
sys.exit(main(sys.argv[1:]))
"""
    outcome = main_interpreter.run(program, *words, cwd=tmp_path, LD_PRELOAD=str(no_network))
    assert (outcome.returncode, outcome.stderr) == (0, "")


@pytest.mark.usefixtures("installation")
def test_a_watch_of_the_environment_starts_no_process(main_interpreter, tmp_path, no_network):
    # `run` starts the watch in the same way.
    outcome = main_interpreter.run(
        f"import gc, os, sys\n{AUDIT_HOOK}\ngc.collect()",
        cwd=tmp_path,
        LD_PRELOAD=str(no_network),
        CYCLEWATCH="1",
        CYCLEWATCH_OUTPUT="named.json",
    )
    line, report = outcome.stderr.splitlines()
    assert re.fullmatch(r"cyclewatch: \d+ collections? watched, no tensor cycle found, .*", line)
    assert report == f"report: {tmp_path}/named.json"
    assert (tmp_path / "named.json").exists()
