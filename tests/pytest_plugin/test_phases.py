# SPDX-License-Identifier: Apache-2.0
"""The phase in which a reference cycle makes a test fail, and the plugin's output."""

import pytest

LEAK = "def test_leak():\n    leaky.Engine()\n\ndef test_clean():\n    leaky.Buffer(8)\n"
SMALL = "def test_leak():\n    leaky.Engine(1000)\n"

# Six cards, in every phase of a test.
ALL_PHASES = """
@pytest.fixture
def before():
    leaky.Engine(1000)

@pytest.fixture
def after():
    yield
    leaky.Engine(2000)

@pytest.fixture
def broken():
    leaky.Engine(3000)
    raise ValueError("on its own")

def test_setup(before):
    pass

def test_call():
    leaky.Engine(4000)
    leaky.Trainer(500)

def test_assertion():
    with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
        leaky.Engine(5000)

def test_teardown(after):
    pass

def test_broken(broken):
    pass
"""


def cards(result):
    return [line for line in result.outlines if "cut   closure:self of function" in line]


@pytest.mark.parametrize("kind", ["buffers", "tensors"], indirect=True)
def test_leaking_test_fails_with_the_card(check, kind):
    result = check(LEAK, passed=1, failed=1)
    owner = {"buffers": "leaky.Buffer", "tensors": "torch.Tensor [[]4194304] uint8"}[kind]
    result.stdout.fnmatch_lines(
        [
            "*_ test_leak _*",
            "Engine._handlers[[]0] -> ... keeps 4.0 MiB",
            "#1  4.0 MiB in 1 *[[]closure-captures-self]",
            "    cut   closure:self of function leaky.Engine.__init__.<locals>.<lambda>*",
            f"    holds 4.0 MiB {owner} cpu*Engine.buffer",
            "*= cyclewatch =*",
            "*4.0 MiB  Engine._handlers[[]0] -> ...  test_it.py::test_leak",
            "cyclewatch: 1 cycle, 4.0 MiB, 0 known (baseline), 0 allowed",
            "FAILED test_it.py::test_leak - Engine._handlers[[]0] -> ... keeps 4.0 MiB",
        ]
    )
    assert result.ret == 1


def test_summary_without_cycles(check):
    result = check("def test_clean(): pass", passed=1)
    result.stdout.fnmatch_lines(["cyclewatch: 0 cycles, 0 B, 0 known (baseline), 0 allowed"])
    assert result.ret == 0


def test_warn_mode(check):
    result = check(LEAK, "--cyclewatch=warn", passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_leak",
            "  *leaky.py:4: *TensorCycleWarning: Engine is part of a reference *",
            "cyclewatch: 1 cycle, 4.0 MiB,*",
        ]
    )


def test_each_phase_fails_for_its_own_cycles(check):
    result = check(
        """
@pytest.fixture
def value():
    return leaky.Engine(7000)

@pytest.fixture
def careless():
    leaky.Engine(1000)
    yield
    leaky.Engine(3000)

def test_three(careless):
    leaky.Engine(2000)

def test_value_of_a_fixture(value):
    pass

def test_teardown_only(request):
    request.addfinalizer(lambda: leaky.Engine(5000) and None)
""",
        passed=2,
        errors=4,  # a test is not called if its setup fails
    )
    for error in (
        ["*ERROR at setup of test_three*", "*keeps 1000 B"],
        ["*ERROR at teardown of test_three*", "*keeps 2.9 KiB"],
        ["*ERROR at teardown of test_value_of_a_fixture*", "*keeps 6.8 KiB"],
        ["*ERROR at teardown of test_teardown_only*", "*keeps 4.9 KiB"],
    ):
        result.stdout.fnmatch_lines(error)


def test_scope_call(check):
    body_only = ALL_PHASES.split("def test_assertion")[0]
    result = check(body_only, "--cyclewatch-scope=call", passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED *::test_call - * keeps 3.9 KiB (and *"])


@pytest.mark.parametrize(
    ("failure", "line"), [("assert 1 == 2", "assert 1 == 2"), ("sys.exit(0)", "SystemExit: 0")]
)
def test_card_is_added_to_another_failure(check, failure, line):
    result = check(f"def test_wrong():\n    leaky.Engine()\n    {failure}", failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- cyclewatch -*",
            "Engine._handlers[[]0] -> ... keeps 4.0 MiB",
            f"FAILED test_it.py::test_wrong - {line}",
        ]
    )


def test_min_bytes_and_devices(check):
    check(SMALL, "--cyclewatch-min-bytes=1 KB", failed=1)
    check(SMALL, "--cyclewatch-min-bytes=1 KiB", passed=1)
    check(SMALL, "--cyclewatch-devices=cuda", passed=1)
    check(SMALL, "--cyclewatch-devices=cuda,cpu", failed=1)


WARM_UP = """
STATE = {}

def test_warm_up():
    if not STATE:
        STATE["warm"] = True
        leaky.Engine(1000)

def test_each_time():
    leaky.Trainer(1000)
"""


def test_repeat_reports_only_recurring_cycles(check):
    check(WARM_UP, failed=2)
    result = check(WARM_UP, "--cyclewatch-repeat=3", passed=1, failed=1)
    result.stdout.fnmatch_lines(["#1  2.9 KiB in 3 *", "FAILED *::test_each_time - *"])


def test_repeat_excludes_doctests(run):
    result = run(
        "--cyclewatch-repeat=3",
        "--cyclewatch",
        "--doctest-modules",
        "-pno:randomly",
        test_it='''
RUNS = []

def documented():
    """
    >>> RUNS.append("doctest")
    """

class Case(unittest.TestCase):
    def test_it(self):
        RUNS.append("unittest")

@pytest.mark.parametrize("name", ["a", "b"])
def test_parametrized(name):
    RUNS.append(name)

def test_second_run_fails():
    RUNS.append("failed")
    assert RUNS.count("failed") < 2

def test_zz_counts():
    if "counted" not in RUNS:
        RUNS.append("counted")
        expected = ["doctest", *["unittest"] * 3, *"aaabbb", "failed", "failed", "counted"]
        assert sorted(RUNS) == sorted(expected)
''',
    )
    result.assert_outcomes(passed=5, failed=1)


def test_tb_line_shows_the_line_of_the_cut(check, project, monkeypatch):
    project.makeini("[pytest]\n")
    monkeypatch.chdir(project.mkdir("below"))
    result = check(ALL_PHASES, "--tb=line", "../test_it.py", passed=1, failed=2, errors=3)
    file = project.path / "leaky.py"
    result.stdout.fnmatch_lines(
        [
            "*= FAILURES =*",
            f"{file}:4: Engine._handlers[[]0] -> ... keeps 3.9 KiB (and 1 more)",
            f"{file}:4: Engine._handlers[[]0] -> ... keeps 4.9 KiB",
            "*= cyclewatch =*",
        ],
        # Since 9.2, pytest shows the whole message before each line.
        consecutive=tuple(map(int, pytest.__version__.split(".")[:2])) < (9, 2),
    )


@pytest.mark.parametrize("style", ["auto", "long", "short", "native"])
def test_other_tb_styles_show_the_card_of_each_cause_once(check, style):
    result = check(ALL_PHASES, f"--tb={style}", passed=1, failed=2, errors=3)
    # Engine and Trainer; the error of the assertion contains its own card.
    assert len(cards(result)) == 3
    assert "leak_check.py" not in str(result.stdout)


def test_short_summary_in_ci(check, monkeypatch):
    monkeypatch.setenv("CI", "true")
    result = check(ALL_PHASES, "-rA", passed=1, failed=2, errors=3)
    _, _, listed = str(result.stdout).partition("short test summary info")
    words = [line.split()[0] for line in listed.splitlines()[1:-1]]
    # One test passes before its teardown fails.
    assert sorted(words) == ["ERROR"] * 3 + ["FAILED"] * 2 + ["PASSED"]
    assert "::test_call - Engine._handlers[0] -> ... keeps 3.9 KiB (and 1 more)\n" in listed
