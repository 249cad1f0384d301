# SPDX-License-Identifier: Apache-2.0
"""The program being watched sees the same collector as without the watch, on each interpreter."""

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "transparency_program.py"


def outcome_of(interpreter, *flags, **environment):
    """What the program printed of the collector, and how many owners the watch saw."""
    outcome = interpreter.run(PROGRAM, *flags, **environment)
    owners = int(outcome.stderr.splitlines()[-1]) if "--watch" in flags else None
    return json.loads(outcome.stdout), owners


def assert_same(with_watch, without):
    # Field by field: the whole is too long for a person to compare.
    assert with_watch.keys() == without.keys()
    for field, expected in without.items():
        assert with_watch[field] == expected, field


def timing(interpreter, threshold):
    """Flags for automatic collections. On free-threaded builds each thread counts up to 512 objects
    for itself first, so that when a collection comes depends on all that was imported before."""
    return [] if interpreter.free_threaded else ["--threshold", threshold]


def forget_counts(answers):
    """Leaves of each explicit collection what it found, and of the automatic ones all but when they
    came: how many there were, and what they left to the last."""
    answers["explicit"] = [answer[1] for answer in answers["explicit"][:-3]]
    answers["after"][0] = None
    for generation in answers["stats"]:
        generation.pop("collections", None)


@pytest.mark.parametrize("owners", [False, True], ids=["no owners", "registered owners"])
@pytest.mark.parametrize("threshold", [1, 7, 700])
def test_collector_answers_the_same_with_and_without_the_watch(interpreter, owners, threshold):
    # GIVEN a program that prints whatever the collector shows to it
    flags = [*timing(interpreter, threshold), *(["--owners"] if owners else [])]
    without, _ = outcome_of(interpreter, *flags)
    # WHEN it runs under a watch
    with_watch, seen = outcome_of(interpreter, *flags, "--watch")
    # THEN nothing is different, although the watch saw each owner
    assert_same(with_watch, without)
    assert (seen > 0) == owners


@pytest.mark.parametrize("automatic", [False, True], ids=["when told", "at each object"])
def test_collector_answers_the_same_under_a_watch_that_warns(interpreter, automatic):
    # What it says makes objects, a few of which stay and count towards the next collection.
    flags = ["--owners", *(timing(interpreter, 1) if automatic else [])]
    without, _ = outcome_of(interpreter, *flags)
    with_watch, seen = outcome_of(interpreter, *flags, "--watch", "--warn")
    for answers in (without, with_watch):
        forget_counts(answers)
        for generation in answers["stats"]:
            generation.pop("candidates", None)  # from 3.15 on, those objects among them
    assert_same(with_watch, without)
    assert seen > 0


@pytest.mark.parametrize("threshold", [1, 700])
def test_collector_answers_the_same_where_tensors_die(torch_interpreter, threshold):
    flags = ["--torch", "--no-rescue", "--threshold", threshold]
    without, _ = outcome_of(torch_interpreter, *flags)
    with_watch, seen = outcome_of(torch_interpreter, *flags, "--watch")
    assert_same(with_watch, without)
    assert seen > 0


def test_tensor_that_a_finalizer_saves_moves_no_collection_but_the_count(torch_interpreter):
    # Reading a tensor leaves a Python object with its storage. It is taken out of the count at
    # the collection's end, so when a saved storage dies at last, the count is one too low.
    flags = ["--torch", "--threshold", 700]
    without, _ = outcome_of(torch_interpreter, *flags)
    with_watch, seen = outcome_of(torch_interpreter, *flags, "--watch")
    for answers in (without, with_watch):
        forget_counts(answers)
    assert_same(with_watch, without)
    assert seen > 0


def test_collector_answers_the_same_while_the_ride_along_is_proven(interpreter):
    flags = ["--owners", *timing(interpreter, 7)]
    without, _ = outcome_of(interpreter, *flags)
    with_watch, seen = outcome_of(interpreter, *flags, "--watch", CYCLEWATCH_STRATEGY="unproven")
    assert_same(with_watch, without)
    assert seen > 0


def test_trial_deletion_changes_nothing_but_which_free_list_an_object_comes_from(interpreter):
    if interpreter.free_threaded:
        pytest.skip("no trial deletion where threads run at once")
    flags = ["--owners", "--threshold", 700]
    strategy = {"CYCLEWATCH_STRATEGY": "trial-deletion"}
    without, _ = outcome_of(interpreter, *flags, **strategy)
    with_watch, seen = outcome_of(interpreter, *flags, "--watch", **strategy)
    # The lists it makes leave room on the interpreter's free list, which gc.get_count() shows.
    for answers in (without, with_watch):
        del answers["automatic"]
        forget_counts(answers)
    assert_same(with_watch, without)
    assert seen > 0


def test_program_that_is_compared_shows_finalizers_callbacks_and_saved_objects(interpreter):
    # The comparison above is worth what the program shows: it has to show all of it.
    answers, _ = outcome_of(interpreter, "--threshold", 7)
    assert {event.split()[0] for event in answers["events"]} == {
        *("finalized", "gone", "saved", "closed", "before", "after")
    }
    assert answers["automatic"]
    assert all(generation["collected"] > 0 for generation in answers["stats"])
