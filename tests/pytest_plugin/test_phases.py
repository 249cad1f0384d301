# SPDX-License-Identifier: Apache-2.0
"""Which test fails, in which of its phases, and with what text."""

KINDS = ("buffers", "tensors")

LEAK = """
import loops

def test_leak():
    loops.Engine()

def test_clean():
    loops.Buffer(8)
"""


def test_test_that_leaves_a_loop_fails_with_the_card(run, kind):
    result = run("--cyclewatch=fail", test_it=LEAK)
    result.assert_outcomes(passed=1, failed=1)
    owner = {"buffers": "loops.Buffer", "tensors": "torch.Tensor [[]4194304] uint8"}[kind]
    result.stdout.fnmatch_lines(
        [
            "*_ test_leak _*",
            "Engine._handlers[[]0] -> ... keeps 4.0 MiB",
            "#1  4.0 MiB in 1 loop   [[]closure-captures-self]",
            "    cut   closure:self of function loops.Engine.__init__.<locals>.<lambda>*",
            "    loop  loops.Engine  ._handlers",
            f"    holds 4.0 MiB {owner} cpu*Engine.buffer",
            "*= cyclewatch =*",
            "*4.0 MiB  Engine._handlers[[]0] -> ...  test_it.py::test_leak",
            "cyclewatch: 1 loop, 4.0 MiB, 0 known (baseline), 0 allowed",
            "FAILED test_it.py::test_leak - Engine._handlers[[]0] -> ... keeps 4.0 MiB",
        ]
    )
    assert result.ret == 1


def test_bare_flag_means_fail(run):
    run("--cyclewatch", "--tb=no", test_it=LEAK).assert_outcomes(passed=1, failed=1)


def test_run_without_loops_says_so(run):
    result = run("--cyclewatch=fail", test_it="def test_clean(): pass")
    result.stdout.fnmatch_lines(["cyclewatch: 0 loops, 0 B, 0 known (baseline), 0 allowed"])
    assert result.ret == 0


def test_warn_lets_the_test_pass_and_warns_at_the_reference_to_cut(run):
    result = run("--cyclewatch=warn", test_it=LEAK)
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_leak",
            "  *loops.py:4: *TensorCycleWarning: Engine is part of a reference loop*",
            "cyclewatch: 1 loop, 4.0 MiB,*",
        ]
    )


def test_warning_fails_where_warnings_are_errors(run):
    result = run("--cyclewatch=warn", "-W", "error::cyclewatch.TensorCycleWarning", test_it=LEAK)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["FAILED *::test_leak - Engine._handlers[[]0] -> ... keeps 4.0 MiB"]
    )


def test_each_phase_answers_for_its_own(run):
    result = run(
        "--cyclewatch=fail",
        test_it="""
import loops
import pytest

@pytest.fixture
def careless():
    loops.Engine(1000)
    yield
    loops.Engine(3000)

def test_three(careless):
    loops.Engine(2000)

def test_teardown_only(request):
    request.addfinalizer(lambda: loops.Engine(5000) and None)
""",
    )
    # A failed setup is never called.
    result.assert_outcomes(passed=1, errors=3)
    result.stdout.fnmatch_lines(["*ERROR at setup of test_three*", "*keeps 1000 B"])
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_three*", "*keeps 2.9 KiB"])
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_teardown_only*", "*keeps 4.9 KiB"])


def test_scope_call_checks_the_body_only(run):
    result = run(
        "--cyclewatch=fail",
        "--cyclewatch-scope=call",
        test_it="""
import loops
import pytest

@pytest.fixture
def careless():
    loops.Engine(1000)
    yield
    loops.Engine(3000)

def test_fixture(careless):
    pass

def test_body(careless):
    loops.Engine(2000)
""",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_body - * keeps 2.0 KiB"])


def test_value_of_a_fixture_counts_for_the_teardown(run):
    result = run(
        "--cyclewatch=fail",
        test_it="""
import loops
import pytest

@pytest.fixture
def engine():
    return loops.Engine()

def test_uses_it(engine):
    pass
""",
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_uses_it*"])


def test_failure_stands_and_the_loop_is_told_beside_it(run):
    result = run(
        "--cyclewatch=fail",
        test_it="""
import loops

def test_wrong():
    loops.Engine()
    assert 1 == 2
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E       assert 1 == 2",
            "*- cyclewatch -*",
            "Engine._handlers[[]0] -> ... keeps 4.0 MiB",
            "FAILED test_it.py::test_wrong - assert 1 == 2",
        ]
    )


def test_exit_of_the_program_in_a_test_is_a_failure_like_others(run):
    source = "import loops, sys\ndef test_leaves():\n    loops.Engine()\n    sys.exit(0)"
    result = run("--cyclewatch=fail", test_it=source)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- cyclewatch -*",
            "Engine._handlers[[]0] -> ... keeps 4.0 MiB",
            "FAILED test_it.py::test_leaves - SystemExit: 0",
        ]
    )


def test_small_loops_pass_under_min_bytes(run):
    source = "import loops\ndef test_leak():\n    loops.Engine(1000)"
    run("--cyclewatch=fail", "--cyclewatch-min-bytes=1 KB", test_it=source).assert_outcomes(
        failed=1
    )
    run("--cyclewatch=fail", "--cyclewatch-min-bytes=1 KiB").assert_outcomes(passed=1)


def test_loops_on_other_devices_pass(run):
    run("--cyclewatch=fail", "--cyclewatch-devices=cuda", test_it=LEAK).assert_outcomes(passed=2)
    run("--cyclewatch=fail", "--cyclewatch-devices=cuda,cpu").assert_outcomes(passed=1, failed=1)


def test_first_failure_ends_the_run_where_asked(run):
    source = "import loops\ndef test_a():\n    loops.Engine()\ndef test_b():\n    loops.Engine()"
    run("--cyclewatch=fail", "-x", test_it=source).assert_outcomes(failed=1)


def test_garbage_that_the_test_collected_itself_counts(run):
    source = "import gc, loops\ndef test_leak():\n    loops.Engine()\n    gc.collect()"
    run("--cyclewatch=fail", test_it=source).assert_outcomes(failed=1)
