# SPDX-License-Identifier: Apache-2.0
"""Which test fails, in which of its phases, and with what text."""

import pytest

KINDS = ("buffers", "tensors")

LEAK = "def test_leak():\n    leaky.Engine()\n\ndef test_clean():\n    leaky.Buffer(8)\n"
SMALL = "def test_leak():\n    leaky.Engine(1000)\n"

# One cycle, or two, in each phase of some test; the cards are six.
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


def test_clean_run_is_counted_too(check):
    result = check("def test_clean(): pass", passed=1)
    result.stdout.fnmatch_lines(["cyclewatch: 0 cycles, 0 B, 0 known (baseline), 0 allowed"])
    assert result.ret == 0


def test_warn_passes_and_warns_at_the_reference_to_cut(check):
    result = check(LEAK, "--cyclewatch=warn", passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_leak",
            "  *leaky.py:4: *TensorCycleWarning: Engine is part of a reference *",
            "cyclewatch: 1 cycle, 4.0 MiB,*",
        ]
    )


def test_warning_that_is_an_error_fails_the_test(check):
    error = ("--cyclewatch=warn", "-W", "error::cyclewatch.TensorCycleWarning")
    result = check(LEAK, *error, passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["FAILED *::test_leak - Engine._handlers[[]0] -> ... keeps 4.0 MiB"]
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
        errors=4,  # a test whose setup failed is not called
    )
    for error in (
        ["*ERROR at setup of test_three*", "*keeps 1000 B"],
        ["*ERROR at teardown of test_three*", "*keeps 2.9 KiB"],
        ["*ERROR at teardown of test_value_of_a_fixture*", "*keeps 6.8 KiB"],
        ["*ERROR at teardown of test_teardown_only*", "*keeps 4.9 KiB"],
    ):
        result.stdout.fnmatch_lines(error)


def test_scope_call_checks_the_body_only(check):
    body_only = ALL_PHASES.split("def test_assertion")[0]
    result = check(body_only, "--cyclewatch-scope=call", passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED *::test_call - * keeps 3.9 KiB (and *"])


@pytest.mark.parametrize(
    ("failure", "line"), [("assert 1 == 2", "assert 1 == 2"), ("sys.exit(0)", "SystemExit: 0")]
)
def test_another_failure_stays_and_the_card_is_added(check, failure, line):
    result = check(f"def test_wrong():\n    leaky.Engine()\n    {failure}", failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- cyclewatch -*",
            "Engine._handlers[[]0] -> ... keeps 4.0 MiB",
            f"FAILED test_it.py::test_wrong - {line}",
        ]
    )


def test_min_bytes_and_devices_let_other_cycles_pass(check):
    check(SMALL, "--cyclewatch-min-bytes=1 KB", failed=1)
    check(SMALL, "--cyclewatch-min-bytes=1 KiB", passed=1)
    check(SMALL, "--cyclewatch-devices=cuda", passed=1)
    check(SMALL, "--cyclewatch-devices=cuda,cpu", failed=1)


def test_garbage_that_the_test_collected_itself_counts(check):
    check(SMALL + "    gc.collect()", failed=1)


def test_first_failure_ends_the_run_with_x(check):
    check(SMALL + SMALL.replace("leak", "leak_too", 1), "-x", failed=1)


WARM_UP = """
STATE = {}

def test_warm_up():
    if not STATE:
        STATE["warm"] = True
        leaky.Engine(1000)

def test_each_time():
    leaky.Trainer(1000)
"""


def test_repeat_reports_only_cycles_that_recur(check):
    check(WARM_UP, failed=2)
    result = check(WARM_UP, "--cyclewatch-repeat=3", passed=1, failed=1)
    result.stdout.fnmatch_lines(["#1  2.9 KiB in 3 *", "FAILED *::test_each_time - *"])


def test_repeat_runs_every_test_but_doctests(run):
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


def test_tb_line_is_the_file_and_line_of_the_cut(check, project, monkeypatch):
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
        consecutive=True,
    )


@pytest.mark.parametrize("style", ["auto", "long", "short", "native"])
def test_other_styles_show_each_card_once_and_nothing_of_the_plugin(check, style):
    result = check(ALL_PHASES, f"--tb={style}", passed=1, failed=2, errors=3)
    assert len(cards(result)) == 6
    assert "leak_check.py" not in str(result.stdout)


def test_tb_no_shows_the_summary_alone(check):
    result = check(ALL_PHASES, "--tb=no", "-v", passed=1, failed=2, errors=3)
    assert not cards(result)
    result.stdout.fnmatch_lines(
        ["*= cyclewatch =*", "* in 5 cycles  Engine*", "*500 B  Trainer*", "cyclewatch: *"],
        consecutive=True,
    )


def test_list_of_failures_has_one_line_for_each_in_ci(check, monkeypatch):
    monkeypatch.setenv("CI", "true")
    result = check(ALL_PHASES, "-rA", passed=1, failed=2, errors=3)
    _, _, listed = str(result.stdout).partition("short test summary info")
    words = [line.split()[0] for line in listed.splitlines()[1:-1]]
    # One test passed before its teardown failed.
    assert sorted(words) == ["ERROR"] * 3 + ["FAILED"] * 2 + ["PASSED"]
    assert "::test_call - Engine._handlers[0] -> ... keeps 3.9 KiB (and 1 more)\n" in listed
