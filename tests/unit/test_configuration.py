# SPDX-License-Identifier: Apache-2.0
"""cyclewatch.toml, [tool.cyclewatch] and ignore(): user-defined patterns and ignored findings."""

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

def findings_of(*kinds):
    with cyclewatch.watch(devices="all") as watch:
        for kind in kinds:
            kind()
            gc.collect()
    return {f.title.split(".")[0]: f for f in watch.report().findings}

def print_findings(findings):
    print(json.dumps({
        name: [f.pattern, f.status, f.status_reason, f.advice] for name, f in findings.items()
    }))
"""

PRINT_FINDINGS = START + "print_findings(findings_of(Engine, Part))"

MINE = """
id = "our-engine"
title = "Our engine"
explanation = "engines keep {variable}"
advice = "Call Engine.close() and read {holder}."
steps = [{ holder = "__main__.Engine", label = ".hook", target = "function *.<lambda>" }]
"""


@pytest.fixture
def project(tmp_path, main_interpreter):
    """write() creates files in one directory; run() runs a program two levels below it."""

    class Project:
        folder = tmp_path / "package" / "inner"

        def write(self, name, text):
            (tmp_path / name).write_text(text)

        def run(self, program=PRINT_FINDINGS):
            return main_interpreter.run(program, cwd=self.folder)

        def findings(self, program=PRINT_FINDINGS):
            done = self.run(program)
            assert done.stderr == ""
            return json.loads(done.stdout)

        def complaints(self):
            """The logged lines."""
            return self.run().stderr.replace(str(tmp_path), "").splitlines()

    Project.folder.mkdir(parents=True)
    return Project()


def test_tomllib_is_not_imported_without_a_file(project):
    program = START + "findings_of(Engine); assert 'tomllib' not in sys.modules; print('{}')"
    assert project.findings(program) == {}


def test_own_pattern_is_recognised(project):
    project.write("cyclewatch.toml", "[[pattern]]" + MINE)
    findings = project.findings()
    assert findings["Engine"] == [
        "our-engine",
        "new",
        "",
        "Call Engine.close() and read `<lambda>`.",
    ]
    assert findings["Part"][:2] == ["self-reference", "new"]


def test_pyproject_is_read(project):
    project.write("pyproject.toml", "[[tool.cyclewatch.pattern]]" + MINE)
    assert project.findings()["Engine"][0] == "our-engine"


def test_nearest_file_is_used(project):
    project.write("cyclewatch.toml", "[[pattern]]" + MINE)
    (project.folder / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert project.findings()["Engine"][0] == "our-engine"
    (project.folder / "pyproject.toml").write_text("[tool.cyclewatch]\n")
    assert project.findings()["Engine"][0] == "closure-captures-self"


def test_ignored_findings_are_reported_without_a_warning(project):
    project.write(
        "cyclewatch.toml", '[[ignore]]\npattern = "self-reference"\nreason = "ticket 12"\n'
    )
    assert project.findings()["Part"][1:3] == ["ignored", "ticket 12"]
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
    before, after = text.split("Ignored by configuration:")
    assert "Engine.hook" in before
    assert "Part.parent" in after
    assert "note  ticket 12" in after


def test_benign_pattern(project):
    project.write("cyclewatch.toml", "[[pattern]]" + MINE + 'tags = ["benign"]')
    assert project.findings()["Engine"][1:3] == ["benign", "intentional cycle"]
    text = project.run(START + "print(findings_of(Engine)['Engine'].to_text())").stdout
    assert "note  intentional cycle" in text


@pytest.mark.parametrize(
    ("loaded", "status"),
    [("1.4.2", "library"), ("1.5", "new"), (None, "new"), (14, "new")],
)
def test_library_leak_depends_on_the_version(project, loaded, status):
    library = 'library = { package = "our-lib", versions = ">=1.4,<1.5" }'
    project.write("cyclewatch.toml", "[[pattern]]" + MINE + library)
    module = f"""
import types
sys.modules["our_lib"] = types.ModuleType("our_lib")
sys.modules["our_lib"].__version__ = {loaded!r}
print_findings(findings_of(Engine))
"""
    [(pattern, found, reason, _)] = project.findings(START + module).values()
    assert found == status
    assert pattern == ("our-engine" if status == "library" else "closure-captures-self")
    assert ("our-lib >=1.4,<1.5 (installed: 1.4.2)" in reason) == (status == "library")


def test_ignore_applies_to_past_and_future_findings(project):
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
print_findings({"found": found, "again": again})
print(json.dumps([found.status, again.status, again.occurrences]), file=sys.stderr)
"""
    )
    done = project.run(program)
    assert json.loads(done.stderr) == ["ignored", "ignored", 2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"reason": "r"}, "a signature or a pattern is required"),
        ({"pattern": "back-pointer", "reason": ""}, "a reason is required"),
        (
            {"pattern": "back-pionter", "reason": "r"},
            "is not a pattern; the patterns are frame-in-",
        ),
        ({"signature": "cw1-12", "reason": "r"}, "is not a signature; copy it"),
    ],
)
def test_invalid_arguments_of_ignore(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        cyclewatch.ignore(**arguments)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[pattern]\n", "/cyclewatch.toml: Expected ']]' at the end of an array declaration"),
        ("[[ignor]]\nreason = 'r'\n", '/cyclewatch.toml: unknown key "ignor"; valid keys: '),
        ("ignore = 3\n", "/cyclewatch.toml: ignore is not a list"),
        ("[[ignore]]\npattern = 'unknown'\n", "/cyclewatch.toml: ignore[0]: a reason is required"),
        ("[[pattern]]\nid = 1979-05-27\n", "/cyclewatch.toml: pattern[0].id is not a string"),
        ("[[pattern]]\nid = nan\n", "/cyclewatch.toml: pattern[0].id is not a string"),
        ("a = " + "[" * 2000 + "]" * 2000, "the file is ignored"),
        ("\udcff", "the file is ignored"),
    ],
)
def test_invalid_file_is_logged_once(project, text, complaint):
    (project.folder / "cyclewatch.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    done = project.run()
    assert [line for line in done.stderr.splitlines() if complaint in line]
    assert len(done.stderr.splitlines()) == 1
    assert set(json.loads(done.stdout)) == {"Engine", "Part"}


def test_valid_entries_apply_despite_an_invalid_one(project):
    project.write("cyclewatch.toml", "[[ignore]]\nreason = 'r'\n[[pattern]]" + MINE)
    [complaint] = project.complaints()
    assert complaint.startswith("/cyclewatch.toml: ignore[0]: a signature or a pattern is required")
    assert json.loads(project.run().stdout)["Engine"][0] == "our-engine"
