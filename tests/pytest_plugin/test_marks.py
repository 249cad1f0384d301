# SPDX-License-Identifier: Apache-2.0
"""Marks and the fixture."""

import pytest

KINDS = ("buffers", "tensors")

MARKED = """
import loops
import pytest

@pytest.mark.no_tensor_cycles
def test_marked():
    loops.Engine()

def test_unmarked():
    loops.Engine()
"""


@pytest.mark.parametrize("option", [(), ("--cyclewatch=off",), ("--cyclewatch=warn",)])
def test_marked_test_fails_whatever_the_run_does(run, option):
    result = run(*option, test_it=MARKED)
    result.assert_outcomes(passed=1, failed=1, warnings=1 if "--cyclewatch=warn" in option else 0)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_marked - Engine._handlers*"])


ALLOWED = """
import loops
import pytest

@pytest.mark.allow_tensor_cycles({arguments})
def test_allowed():
    loops.Engine(1000)
    loops.Trainer(2000)
"""


def test_allowed_loops_pass_and_are_counted(run):
    result = run("--cyclewatch", "-v", test_it=ALLOWED.format(arguments="reason='by design'"))
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "* 2.0 KiB  Trainer.loss -> ...  test_it.py::test_allowed  [[]allowed: by design]",
            "cyclewatch: 2 loops, 2.9 KiB, 0 known (baseline), 2 allowed",
        ]
    )


def test_allowance_ends_at_its_bytes_for_all_loops_together(run):
    for size, failed in (("3000", 0), ("2999", 1)):
        source = ALLOWED.format(arguments=f"reason='by design', max_bytes='{size}'")
        result = run("--cyclewatch", test_it=source)
        result.assert_outcomes(passed=1 - failed, failed=failed)


def test_allowance_speaks_of_its_pattern_only(run):
    matching = ALLOWED.format(arguments="reason='by design', pattern='closure-*'")
    run("--cyclewatch", test_it=matching).assert_outcomes(passed=1)
    another = ALLOWED.format(arguments="reason='by design', pattern='exception-*'")
    run("--cyclewatch", test_it=another).assert_outcomes(failed=1)


def test_allowance_of_a_class_holds_for_its_tests(run):
    result = run(
        "--cyclewatch",
        test_it="""
import loops
import pytest

@pytest.mark.allow_tensor_cycles(reason="all of them")
class TestAllowed:
    def test_one(self):
        loops.Engine()
""",
    )
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("", "needs a reason*"),
        ("reason=' '", "needs a reason*"),
        ("'a', reason='b'", "does not take 'a'; it takes reason=, max_bytes= and pattern="),
        ("reason='b', size=3", "does not take size*"),
        ("reason='b', max_bytes='big'", "'big' is no size*"),
        ("reason='b', pattern=3", "takes the id of a pattern*"),
    ],
)
def test_broken_allowance_fails_its_test_with_the_remedy(run, arguments, complaint):
    result = run("--cyclewatch", test_it=ALLOWED.format(arguments=arguments))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*allow_tensor_cycles {complaint}"])


def test_fixture_is_a_watch_also_where_the_plugin_is_off(run):
    result = run(
        test_it="""
import gc
import loops

def test_asks(tensor_cycles):
    loops.Engine(1000)
    gc.collect()
    (finding,) = tensor_cycles.report().findings
    assert finding.held_bytes == 1000
"""
    )
    result.assert_outcomes(passed=1)


def test_marks_are_declared(run):
    result = run("--markers")
    result.stdout.fnmatch_lines(["*no_tensor_cycles:*", "*allow_tensor_cycles(reason*"])
    source = MARKED.replace("off", "")
    run("--strict-markers", test_it=source).assert_outcomes(passed=1, failed=1)
