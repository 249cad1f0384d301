# SPDX-License-Identifier: Apache-2.0
"""cyclewatch.toml, [tool.cyclewatch] and ignore(): what users add, and what they silence."""

import json

import pytest

import cyclewatch

START = """
import gc, json, logging, sys, warnings
logging.basicConfig(format="%(message)s")
import cyclewatch

class Tensor:
    pass

cyclewatch.register_owner(
    Tensor, lambda one: {"device": "cpu", "nbytes": 1024, "data_ptr": id(one)}
)

class Engine:
    def __init__(self):
        self.weights = Tensor()
        self.hook = lambda: self

class Part:
    def __init__(self):
        self.weights = Tensor()
        self.parent = self

def said(*kinds):
    with cyclewatch.watch(devices="all") as watch:
        for kind in kinds:
            kind()
            gc.collect()
    return {f.title.split(".")[0]: f for f in watch.report().findings}

def tell(findings):
    print(json.dumps({
        name: [f.pattern, f.status, f.status_reason, f.advice] for name, f in findings.items()
    }))
"""

TELL = START + "tell(said(Engine, Part))"

MINE = """
id = "our-engine"
title = "Our engine"
explanation = "engines keep {variable}"
advice = "Call Engine.close() and read {holder}."
steps = [{ holder = "__main__.Engine", label = ".hook", target = "function *.<lambda>" }]
"""


@pytest.fixture
def project(tmp_path, main_interpreter):
    """Runs a program in a folder below the one where write() puts files."""

    class Project:
        folder = tmp_path / "package" / "inner"

        def write(self, name, text):
            (tmp_path / name).write_text(text)

        def run(self, program=TELL):
            return main_interpreter.run(program, cwd=self.folder)

        def said(self, program=TELL):
            done = self.run(program)
            assert done.stderr == ""
            return json.loads(done.stdout)

        def complaints(self):
            """The lines logged; what is sound in the file is in force all the same."""
            return self.run().stderr.replace(str(tmp_path), "").splitlines()

    Project.folder.mkdir(parents=True)
    return Project()


def test_without_a_file_nothing_is_imported_for_one(project):
    program = START + "tell({}) if 'tomllib' not in sys.modules and said(Engine) else None"
    assert project.said(program) == {}


def test_a_pattern_of_the_user_is_recognised(project):
    project.write("cyclewatch.toml", "[[pattern]]" + MINE)
    said = project.said()
    assert said["Engine"] == [
        "our-engine",
        "new",
        "",
        "Call Engine.close() and read <lambda>.",
    ]
    assert said["Part"][:2] == ["self-reference", "new"]


def test_pyproject_serves_as_well(project):
    project.write("pyproject.toml", "[[tool.cyclewatch.pattern]]" + MINE)
    assert project.said()["Engine"][0] == "our-engine"


def test_the_nearest_file_is_the_one(project):
    project.write("cyclewatch.toml", "[[pattern]]" + MINE)
    (project.folder / "pyproject.toml").write_text("[project]\nname = 'no word of it'\n")
    assert project.said()["Engine"][0] == "our-engine"
    (project.folder / "pyproject.toml").write_text("[tool.cyclewatch]\n")
    assert project.said()["Engine"][0] == "closure-captures-self"


def test_ignored_findings_stay_in_the_report_without_a_warning(project):
    project.write(
        "cyclewatch.toml", '[[ignore]]\npattern = "self-reference"\nreason = "ticket 12"\n'
    )
    assert project.said()["Part"][1:3] == ["ignored", "ticket 12"]
    program = (
        START
        + """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    watch = cyclewatch.warn_tensor_cycles(devices="all", formats=())
    Engine(), Part()
    gc.collect()
    text = watch.report().to_text()
    watch()
print(json.dumps([len(caught), str(caught[0].message).split()[0], text]))
"""
    )
    count, first, text = json.loads(project.run(program).stdout)
    assert (count, first) == (1, "Engine")
    before, after = text.split("Ignored, as was asked:")
    assert "Engine.hook" in before
    assert "Part.parent" in after
    assert "note  ticket 12" in after


def test_a_benign_pattern_has_its_own_section(project):
    project.write("cyclewatch.toml", "[[pattern]]" + MINE + 'tags = ["benign"]')
    assert project.said()["Engine"][1:3] == ["benign", "a cycle by design"]
    text = project.run(START + "print(said(Engine)['Engine'].to_text())").stdout
    assert "note  a cycle by design" in text


@pytest.mark.parametrize(
    ("loaded", "status"),
    [("1.4.2", "library"), ("1.5", "new"), (None, "new"), (14, "new")],
)
def test_a_leak_of_a_library_depends_on_its_version(project, loaded, status):
    library = 'library = { package = "our-lib", versions = ">=1.4,<1.5" }'
    project.write("cyclewatch.toml", "[[pattern]]" + MINE + library)
    module = f"""
import types
sys.modules["our_lib"] = types.ModuleType("our_lib")
sys.modules["our_lib"].__version__ = {loaded!r}
tell(said(Engine))
"""
    [(pattern, stands, reason, _)] = project.said(START + module).values()
    assert stands == status
    assert pattern == ("our-engine" if status == "library" else "closure-captures-self")
    assert ("our-lib >=1.4,<1.5 (here 1.4.2)" in reason) == (status == "library")


def test_ignore_holds_for_what_was_found_and_what_will_be(project):
    program = (
        START
        + """
watch = cyclewatch.watch(devices="all")
Part(); gc.collect()
[finding] = watch.report().findings
cyclewatch.ignore(signature=finding.signature, reason="later")
[found] = watch.report().findings
Part(); gc.collect()
[again] = watch.report().findings
watch()
tell({"found": found, "again": again})
print(json.dumps([found.status, again.status, again.occurrences]), file=sys.stderr)
"""
    )
    done = project.run(program)
    assert json.loads(done.stderr) == ["ignored", "ignored", 2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"reason": "r"}, "nothing says what to ignore; give a signature or a pattern"),
        ({"pattern": "back-pointer", "reason": ""}, "a reason is missing"),
        ({"pattern": "back-pionter", "reason": "r"}, "is no pattern; the patterns are frame-in-"),
        ({"signature": "cw1-12", "reason": "r"}, "is no signature; one is"),
    ],
)
def test_ignore_says_what_is_wrong(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        cyclewatch.ignore(**arguments)


def test_ignore_takes_texts_and_needs_a_reason():
    with pytest.raises(TypeError, match="signature must be a string, not 3"):
        cyclewatch.ignore(signature=3, reason="r")
    with pytest.raises(TypeError, match="reason"):
        cyclewatch.ignore(pattern="back-pointer")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[pattern]\n", "/cyclewatch.toml: Expected ']]' at the end of an array declaration"),
        ("[[ignor]]\nreason = 'r'\n", '/cyclewatch.toml: unknown key "ignor"; valid keys: '),
        ("ignore = 3\n", "/cyclewatch.toml: the file.ignore is not a list"),
        ("[[ignore]]\npattern = 'unknown'\n", "/cyclewatch.toml: ignore[0]: a reason is missing"),
        ("[[pattern]]\nid = 1979-05-27\n", "/cyclewatch.toml: pattern[0] needs title"),
        ("[[pattern]]\nid = nan\n", "the file is ignored"),
        ("a = " + "[" * 2000 + "]" * 2000, "the file is ignored"),
        ("\udcff", "the file is ignored"),
    ],
)
def test_a_bad_file_costs_one_sentence_and_the_watch_goes_on(project, text, complaint):
    (project.folder / "cyclewatch.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    done = project.run()
    assert [line for line in done.stderr.splitlines() if complaint in line]
    assert len(done.stderr.splitlines()) == 1
    assert set(json.loads(done.stdout)) == {"Engine", "Part"}


def test_what_is_sound_beside_a_mistake_is_in_force(project):
    project.write("cyclewatch.toml", "[[ignore]]\nreason = 'r'\n[[pattern]]" + MINE)
    [complaint] = project.complaints()
    assert complaint.startswith("/cyclewatch.toml: ignore[0]: nothing says what to ignore")
    assert json.loads(project.run().stdout)["Engine"][0] == "our-engine"


def test_a_removed_current_folder_is_no_trouble(project):
    program = "import os\nos.rmdir(os.getcwd())\n" + TELL
    assert project.run(program).stderr == ""
