# SPDX-License-Identifier: Apache-2.0
"""A watched program behaves as it would without a watch, also in unusual environments."""

import json
import os
import subprocess
import sys

import pytest

import cyclewatch
from cyclewatch.autostart import script_name

WATCHED = {"CYCLEWATCH": "1", "CYCLEWATCH_DEVICES": "cpu", "CYCLEWATCH_BUDGET": "1"}

CONSOLE = """
    import code, sys
    import cyclewatch

    class Owner:
        pass

    cyclewatch.register_owner(Owner, lambda owner: {"nbytes": 1, "device": "cpu"})

    class Console(code.InteractiveConsole):
        shown = ""

        def write(self, text):
            self.shown += text

    with cyclewatch.oom_autopsy():
        hooked = "Reports" in str(sys.excepthook.__doc__)
        console = Console()
        console.push("1 / 0")
    print(hooked, "ZeroDivisionError" in console.shown, "Reports" in str(sys.excepthook.__doc__))
"""


def test_embedded_console_shows_tracebacks(interpreter):
    assert interpreter.run(CONSOLE).stdout.split() == ["True", "True", "False"]


def test_hooks_stay_until_a_library_with_owners_is_imported(interpreter):
    program = "import sys; print(sys.excepthook.__doc__)"
    watched = interpreter.run(program, **WATCHED)
    assert (watched.stdout, watched.stderr) == (interpreter.run(program).stdout, "")


# The shape of a program in CPython's own test_exceptions.
NO_MEMORY = """
    import _testcapi

    class C:
        pass

    def recurse(count):
        if count:
            recurse(count - 1)
        _testcapi.set_nomemory(0)
        C()

    recurse(16)
"""


def test_program_without_any_memory_ends(interpreter):
    if interpreter.run("import _testcapi", check=False).returncode:
        pytest.skip("this interpreter has no _testcapi")
    plain = interpreter.run(NO_MEMORY, check=False)
    watched = interpreter.run(NO_MEMORY, check=False, timeout=60, **WATCHED)
    assert watched.returncode == plain.returncode == 1


STEPS = """
    import gc, sys
    import torch

    class Holder:
        def __init__(self):
            self.me = self
            self.data = torch.zeros(16)

    seen = []

    def trace(frame, event, argument):
        seen.append(frame.f_code.co_filename)
        return trace

    Holder()
    sys.settrace(trace)
    gc.collect()
    x = [number for number in range(100)]
    sys.settrace(None)
    print(sum("cyclewatch" in name for name in seen))
"""


@pytest.mark.usefixtures("installation")
def test_tracer_does_not_see_the_watch(torch_interpreter, tmp_path):
    outcome = torch_interpreter.run(STEPS, cwd=tmp_path, **WATCHED)
    assert "Holder" in outcome.stderr
    assert outcome.stdout == "0\n"


REMOVED = """
    import gc, os, shutil
    import cyclewatch

    class Owner:
        pass

    cyclewatch.register_owner(Owner, lambda owner: {"nbytes": 1, "device": "cpu"})
    folder = os.getcwd()
    watch = cyclewatch.warn_tensor_cycles(devices="cpu")
    os.chdir("/")
    shutil.rmtree(folder)
    owner = Owner()
    owner.me = owner
    del owner
    gc.collect()
    watch.stop()
    print(os.path.exists(folder), len(watch.report_paths))
    os.unlink(watch.report_paths[0])
"""


def test_folder_that_the_program_removes_stays_away(interpreter, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "temporary").mkdir()
    outcome = interpreter.run(REMOVED, cwd=tmp_path / "folder", TMPDIR=str(tmp_path / "temporary"))
    assert outcome.stdout.split() == ["False", "1"]


PATCHED = """
    import gc
    from unittest import mock
    import cyclewatch

    class Owner:
        pass

    cyclewatch.register_owner(Owner, lambda owner: {"nbytes": 1, "device": "cpu"})
    names = {"Owner": Owner}
    source = "class Holder:\\n    def __init__(self): self.me, self.it = self, Owner()"
    exec(compile(source, "generated.py", "exec"), names)
    with cyclewatch.watch(devices="cpu") as watch:
        with mock.patch("os.path.exists", return_value=False):
            names["Holder"]()
            gc.collect()
            watch.report()
    print(len(watch.report().findings))
"""


def test_patched_file_system_functions_do_not_stop_the_program(interpreter):
    assert interpreter.run(PATCHED, timeout=60).stdout == "1\n"


@pytest.mark.parametrize("value", ["", "{}", "garbage", '[1, {"devices": ["cpu"]}]'])
@pytest.mark.usefixtures("installation")
def test_leftover_settings_of_run_are_ignored(main_interpreter, value):
    outcome = main_interpreter.run("print('ran')", CYCLEWATCH_RUN=value)
    assert outcome.stdout == "ran\n"
    assert "CYCLEWATCH_RUN is ignored" in outcome.stderr


@pytest.mark.parametrize(
    "words",
    [
        "-m json.tool",
        "-mjson.tool",
        "-um json.tool",
        "-Bmjson.tool",
        "-W ignore -Xdev -m json.tool",
    ],
)
def test_module_is_named_after_any_form_of_its_option(words):
    assert script_name("-m", ["python", *words.split(), "x"]) == "json.tool"


@pytest.mark.usefixtures("installation")
def test_misspelled_variable_is_reported(main_interpreter):
    outcome = main_interpreter.run("print('ran')", **WATCHED, CYCLEWATCH_MIN_BITES="1")
    assert outcome.stdout == "ran\n"
    assert "CYCLEWATCH_MIN_BITES is not a setting; did you mean CYCLEWATCH_MIN_BYTES?" in (
        outcome.stderr
    )


@pytest.mark.usefixtures("installation")
def test_path_of_the_report_is_printed_as_clean_text(main_interpreter, tmp_path):
    folder = tmp_path / "x\033]0;own"
    folder.mkdir()
    command = [sys.executable, "-m", "cyclewatch", "run", "-o", "empty.json", "-c", "pass"]
    outcome = subprocess.run(
        command, cwd=folder, env=main_interpreter.environment(), capture_output=True, check=True
    )
    assert b"empty.json" in outcome.stderr
    assert b"\033" not in outcome.stderr


@pytest.mark.parametrize("change", ["policy", "script"])
def test_view_opens_no_page_with_a_foreign_script(main_interpreter, tmp_path, change):
    page = tmp_path / "report.html"
    text = cyclewatch.Report.load(
        os.path.join(os.path.dirname(__file__), os.pardir, "golden", "report.json")
    ).to_html()
    policy = text[text.index("<meta http-equiv") : text.index('<meta name="viewport"')]
    if change == "policy":
        text = text.replace(policy, "<script>alert(1)</script>")
    else:
        text = text.replace(policy, f"<script>alert(1)</script>{policy}")
    page.write_text(text)
    command = [sys.executable, "-m", "cyclewatch", "view", "--no-open", "--json", str(page)]
    outcome = subprocess.run(
        command,
        env=main_interpreter.environment() | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    opened = json.loads(outcome.stdout)["page"]
    assert opened != str(page)
    with open(opened, encoding="utf-8") as file:
        assert "alert(1)" not in file.read()


def test_an_account_during_an_import_of_torch_does_not_wait_for_it(torch_interpreter):
    # As an account at a tick of --census-every: the experiments make torch import modules, in a
    # thread of their own.
    outcome = torch_interpreter.run("""
        import sys
        import cyclewatch

        imports = []

        class Finder:
            @staticmethod
            def find_spec(name, path=None, target=None):
                torch = sys.modules.get("torch")
                if hasattr(getattr(torch, "autograd", None), "Function"):
                    imports.append(name)
                    if len(imports) in (50, 100, 150, 200):
                        cyclewatch.memory("cpu")

        sys.meta_path.insert(0, Finder)
        import torch
        sys.meta_path.remove(Finder)
        from cyclewatch.proofs.torch_layout import memory_layout
        print(len(imports) >= 200, "tensors" in memory_layout()["kinds"])
    """)
    assert outcome.stdout.split() == ["True", "True"]
