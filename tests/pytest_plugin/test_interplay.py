# SPDX-License-Identifier: Apache-2.0
"""unittest, doctest and async tests, other plugins, and tests that change the collector or fork."""

import pytest

TWO = "def test_leak():\n    leaky.Engine()\n\ndef test_clean():\n    pass\n"


def test_last_failed_runs_the_leaking_test_again(run):
    run("--cyclewatch", "-pcacheprovider", test_it=TWO).assert_outcomes(passed=1, failed=1)
    run("--cyclewatch", "-pcacheprovider", "--lf").assert_outcomes(failed=1)


@pytest.mark.parametrize("kind", ["tensors"], indirect=True)
@pytest.mark.parametrize("where", ["test", "fixture"])
def test_skipped_test_does_not_fail_for_what_its_exception_keeps_alive(check, where):
    check(
        """
@pytest.fixture
def skipping():
    engine = leaky.Buffer(1000)
    pytest.skip("later")

def test_it(%s):
    buffer = leaky.Buffer(1000)
    pytest.skip("later")
"""
        % ("skipping" if where == "fixture" else ""),
        apart=True,
        skipped=1,
        warnings=0,
    )


def test_skip_xfail_and_parameters(check):
    result = check(
        """
@pytest.mark.xfail(reason="known")
def test_expected():
    leaky.Engine()

@pytest.mark.xfail(raises=ZeroDivisionError)
def test_expected_for_another_reason():
    leaky.Engine()

@pytest.mark.skip
def test_skipped():
    leaky.Engine()

def test_skips():
    engine = leaky.Engine()
    pytest.skip("later")

@pytest.mark.parametrize("create", [leaky.Engine, object])
def test_creates(create):
    create()
""",
        passed=1,
        xfailed=1,
        failed=2,
        skipped=2,
    )
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_creates[[]Engine] - Engine*"])


def test_unittest(check):
    result = check(
        """
class Case(unittest.TestCase):
    def setUp(self):
        self.engine = leaky.Buffer(8)

    def test_leak(self):
        leaky.Engine()

    def test_clean(self):
        pass

    def test_wrong(self):
        leaky.Engine()
        self.fail("on its own")

    @unittest.expectedFailure
    def test_expected(self):
        leaky.Engine()
        self.fail("as expected")
""",
        passed=1,
        failed=2,
        xfailed=1,
    )
    result.stdout.fnmatch_lines(["FAILED *::test_leak - Engine*", "FAILED *::test_wrong - *own"])


def test_doctest(run):
    documented = '''
def leaking():
    """
    >>> _ = leaky.Engine()
    >>> _ = None
    """

def clean():
    """
    >>> 1 + 1
    2
    """
'''
    result = run("--cyclewatch", "--doctest-modules", documented=documented)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED documented.py::documented.leaking - Engine*"])


def test_async_test(project):
    project.makepyfile(
        test_it="""
import asyncio
import leaky
import pytest

@pytest.mark.asyncio
async def test_leak():
    leaky.Engine()
    await asyncio.sleep(0)

@pytest.mark.asyncio
async def test_clean():
    await asyncio.sleep(0)
"""
    )
    result = project.runpytest_subprocess("--cyclewatch=fail", "-pno:hypothesispytest")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_leak - Engine*"])


def test_each_rerun_is_checked_separately(check):
    result = check(
        """
RUNS = []

def test_leaks_once():
    RUNS.append(1)
    if len(RUNS) == 1:
        leaky.Engine()

def test_fails_once():
    # The exception of the previous run keeps the cycle alive.
    engine = leaky.Engine() if len(RUNS) < 3 else None
    RUNS.append(1)
    assert engine is None

def test_always():
    leaky.Trainer()
""",
        "--reruns=2",
        passed=2,
        failed=1,
    )
    result.stdout.fnmatch_lines(["*1 failed, 2 passed, 4 rerun*"])


@pytest.mark.parametrize("dist", ["load", "each"])
def test_xdist_merges_all_workers(check, project, dist):
    times = 2 if dist == "each" else 1
    result = check(
        """
@pytest.mark.parametrize("number", range(4))
def test_leak(number):
    leaky.Engine(1000)

def test_trainer():
    leaky.Trainer(2000)

@pytest.mark.allow_tensor_cycles(reason="by design")
def test_allowed():
    leaky.Trainer(500)
""",
        "-n2",
        f"--dist={dist}",
        "--cyclewatch-report=reports",
        "--cyclewatch-baseline=known.json",
        "--cyclewatch-update-baseline",
        "--cyclewatch-sarif=new.sarif",
        apart=True,
        passed=times,
        failed=5 * times,
    )
    result.stdout.fnmatch_lines(
        [
            f"*{'7.8' if times == 2 else '3.9'} KiB in {4 * times} cycles  Engine*and 3 more",
            "*Trainer.loss -> ...  test_it.py::test_allowed  [[]allowed: by design]",
            "wrote the baseline *known.json, findings: 2",
            "report: *cyclewatch.html",
            f"cyclewatch: {6 * times} cycles (2 findings), *, 0 known (baseline), {times} allowed",
        ]
    )
    assert len(list((project.path / "reports").iterdir())) == 2
    assert (project.path / "new.sarif").exists()


MARKED = """
@pytest.mark.no_tensor_cycles
def test_marked():
    leaky.Engine(1000)

def test_unmarked():
    leaky.Engine(1000)
"""


@pytest.mark.parametrize("options", [(), ("--cyclewatch-sarif=new.sarif",)])
def test_xdist_reports_marked_tests_although_off(run, project, options):
    result = run("-n2", "--cyclewatch=off", *options, apart=True, test_it=MARKED)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["   1000 B  Engine*::test_marked", "cyclewatch: 1 cycle, 1000 B, *"]
    )
    assert (project.path / "new.sarif").exists() == bool(options)


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("--cyclewatch-devices=tpu9", "unknown device 'tpu9'*"),
        ("--cyclewatch-sarif=leaky.py/new.sarif", "*leaky.py is *"),
    ],
)
def test_xdist_rejects_invalid_options_before_a_worker_starts(run, option, complaint):
    result = run("-n1", "--cyclewatch=off", option, apart=True, test_it=MARKED)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {option.split('=')[0]}: {complaint}"])


LEAK = "def test_leak():\n    leaky.Engine()\n"


@pytest.mark.parametrize(
    "act",
    [
        "gc.disable()",
        "gc.set_debug(gc.DEBUG_SAVEALL)",
        "gc.set_debug(gc.DEBUG_STATS | gc.DEBUG_COLLECTABLE)",
        "gc.callbacks.clear()",
        "gc.freeze()",
        "gc.unfreeze()",
        "gc.set_threshold(0)",
        "gc.collect = None",
    ],
)
def test_cycle_is_found_although_the_test_changes_the_collector(check, act):
    # gc.freeze() freezes the existing cycle.
    source = f"""
def test_leak():
    engine = leaky.Engine()
    {act}

def test_leaks_too():
    leaky.Trainer()

def test_innocent():
    pass
"""
    result = check(source, apart=True, failed=2, passed=1)
    result.stdout.fnmatch_lines(
        ["FAILED *::test_leak - Engine*", "FAILED *::test_leaks_too - Tra*"]
    )
    if "callbacks" in act:
        result.stdout.fnmatch_lines(["test_it.py::test_leak: the hook was removed from gc.*"])


@pytest.mark.parametrize("before", ["gc.disable()", "gc.set_debug(gc.DEBUG_SAVEALL)"])
def test_cycle_is_found_although_the_program_changed_the_collector(check, project, before):
    project.makeconftest(f"import gc\n{before}")
    check(LEAK, apart=True, failed=1)


@pytest.mark.parametrize("kind", ["buffers", "tensors"], indirect=True)
def test_fork(check, kind):
    # The tensors are small, because torch fills large ones with threads, which do not exist in a
    # forked child.
    check(
        """
def test_forks():
    leaky.Engine(1000)
    child = os.fork()
    if child == 0:
        leaky.Engine(1000)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
""",
        apart=True,
        failed=1,
    ).stdout.fnmatch_lines(["#1  1000 B in 1 *"])


def test_frozen_objects_of_the_program_stay_frozen(check, project):
    project.makeconftest("import gc\ngc.freeze()\nFROZEN = gc.get_freeze_count()")
    frozen = """
def test_frozen_as_before():
    import conftest
    assert 0 < gc.get_freeze_count() <= conftest.FROZEN
"""
    result = check(LEAK + frozen, apart=True, failed=1, passed=1)
    result.stdout.fnmatch_lines(["the program has frozen objects*"])


def test_heap_is_unfrozen_at_the_end(check, project):
    project.makeconftest(
        "import gc\ndef pytest_unconfigure():\n    print('frozen:', gc.get_freeze_count())"
    )
    source = "def test_frozen():\n    assert gc.get_freeze_count() > 0\n"
    check(source, apart=True, passed=1).stdout.fnmatch_lines(["frozen: 0"])


def test_name_of_a_class_does_nothing_to_the_terminal(check):
    result = check(
        """
def create():
    type("Evil\\x1b[2J\\nFAKE LINE", (leaky.Engine,), {})()

def test_cycle():
    create()

def test_assertion():
    with cyclewatch.assert_no_tensor_cycles(devices="cpu"):
        create()
""",
        "--color=no",
        failed=2,
    )
    assert "\x1b" not in result.stdout.str()
    assert not any(line.startswith("FAKE LINE") for line in result.outlines)
