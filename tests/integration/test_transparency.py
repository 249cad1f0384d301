# SPDX-License-Identifier: Apache-2.0
"""The collector behaves the same with and without a watch, on each interpreter."""

import collections
import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "transparency_program.py"


def outcome_of(interpreter, *flags, **environment):
    """Return the output of the program, and the number of owners that the watch found."""
    outcome = interpreter.run(PROGRAM, *flags, **environment)
    owners = int(outcome.stderr.splitlines()[-1]) if "--watch" in flags else None
    return json.loads(outcome.stdout), owners


def assert_same(with_watch, without):
    # Compare field by field, so that a failure is readable.
    assert with_watch.keys() == without.keys()
    for field, expected in without.items():
        assert with_watch[field] == expected, field


def timing(interpreter, threshold):
    """Flags for automatic collections.

    On free-threaded builds, each thread counts up to 512 new objects before it adds them to the
    shared count. Therefore, the timing of automatic collections depends on all earlier imports.
    """
    return [] if interpreter.free_threaded else ["--threshold", threshold]


def forget_counts(answers):
    """Remove values that depend on when automatic collections run."""
    answers["explicit"] = [answer[1] for answer in answers["explicit"][:-3]]
    answers["after"][0] = None
    for generation in answers["stats"]:
        generation.pop("collections", None)


def events_of_objects(answers):
    """How often each finalizer and weak reference callback was called."""
    calls = (event for event in answers["events"] if not event.startswith(("before ", "after ")))
    return collections.Counter(calls)


@pytest.mark.parametrize("owners", [False, True], ids=["no owners", "registered owners"])
@pytest.mark.parametrize("threshold", [1, 7, 700])
def test_watch_changes_nothing(interpreter, owners, threshold):
    flags = [*timing(interpreter, threshold), *(["--owners"] if owners else [])]
    without, _ = outcome_of(interpreter, *flags)
    with_watch, seen = outcome_of(interpreter, *flags, "--watch")
    assert_same(with_watch, without)
    assert (seen > 0) == owners


def test_watch_that_warns_changes_only_counts(interpreter):
    # Warnings create objects, a few of which survive and count towards the next collection.
    without, _ = outcome_of(interpreter, "--owners")
    with_watch, seen = outcome_of(interpreter, "--owners", "--watch", "--warn")
    for answers in (without, with_watch):
        forget_counts(answers)
        for generation in answers["stats"]:
            generation.pop("candidates", None)  # 3.15: includes those objects
    assert_same(with_watch, without)
    assert seen > 0


def test_watch_that_warns_again_changes_only_when_collections_run(interpreter):
    # Each time the size of a finding doubles, another warning creates such objects.
    flags = ["--owners", *timing(interpreter, 1)]
    without, _ = outcome_of(interpreter, *flags)
    with_watch, seen = outcome_of(interpreter, *flags, "--watch", "--warn")
    assert events_of_objects(with_watch) == events_of_objects(without)
    assert seen > 0


@pytest.mark.parametrize("threshold", [1, 700])
def test_watch_changes_nothing_if_tensors_are_freed(torch_interpreter, threshold):
    flags = ["--torch", "--no-rescue", "--threshold", threshold]
    without, _ = outcome_of(torch_interpreter, *flags)
    with_watch, seen = outcome_of(torch_interpreter, *flags, "--watch")
    assert_same(with_watch, without)
    assert seen > 0


def test_tensor_saved_by_a_finalizer_changes_only_counts(torch_interpreter):
    # Reading a tensor creates a Python object for its storage, which is subtracted from the count
    # when the collection ends. If a saved storage is freed later, the count is one too low.
    flags = ["--torch", "--threshold", 700]
    without, _ = outcome_of(torch_interpreter, *flags)
    with_watch, seen = outcome_of(torch_interpreter, *flags, "--watch")
    for answers in (without, with_watch):
        forget_counts(answers)
    assert_same(with_watch, without)
    assert seen > 0


def assert_same_with_census(interpreter, payload):
    without, _ = outcome_of(interpreter, payload)
    with_census, _ = outcome_of(interpreter, payload, "--census")
    # The census's results end up on the interpreter's free lists, which changes gc.get_count().
    for answers in (without, with_census):
        forget_counts(answers)
    assert_same(with_census, without)


def test_census_changes_only_free_lists(interpreter):
    assert_same_with_census(interpreter, "--owners")


def test_census_of_tensors_changes_only_free_lists(torch_interpreter):
    assert_same_with_census(torch_interpreter, "--torch")


def test_heap_scan_changes_only_free_lists(interpreter):
    if interpreter.free_threaded:
        pytest.skip("no heap scan on free-threaded builds")
    flags = ["--owners", "--threshold", 700]
    strategy = {"CYCLEWATCH_STRATEGY": "heap-scan"}
    without, _ = outcome_of(interpreter, *flags, **strategy)
    with_watch, seen = outcome_of(interpreter, *flags, "--watch", **strategy)
    # The scan's temporary lists end up on the free list, which changes gc.get_count().
    for answers in (without, with_watch):
        del answers["automatic"]
        forget_counts(answers)
    assert_same(with_watch, without)
    assert seen > 0


def test_compared_program_covers_every_event(interpreter):
    answers, _ = outcome_of(interpreter, "--threshold", 7)
    assert {event.split()[0] for event in answers["events"]} == {
        *("finalized", "gone", "saved", "closed", "before", "after")
    }
    assert answers["automatic"]
    assert all(generation["collected"] > 0 for generation in answers["stats"])
