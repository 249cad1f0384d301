# SPDX-License-Identifier: Apache-2.0
"""Does the first suggestion name the right reference?

Each program in cases/ has a leaky and a fixed variant and lists, as EXPECTED, the answers that a
maintainer would accept. The programs in controls.py must not produce a finding.
"""

import functools
import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

import accuracy_table  # noqa: E402
from variants import VARIANTS  # noqa: E402

TABLE = FOLDER.parents[1] / "docs" / "accuracy.md"


@functools.cache
def outcome(interpreter, *variants, seed="0", rank="0"):
    """The output of run_cases.py; cached, so that each interpreter runs the variants once."""
    done = interpreter.run(FOLDER / "run_cases.py", *variants, PYTHONHASHSEED=seed, RANK=rank)
    return json.loads(done.stdout)


@pytest.fixture
def results(interpreter):
    return outcome(interpreter, *VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS)
def test_leaky_variants_give_exactly_one_finding(results, variant):
    for name, case in results["cases"][variant].items():
        leaky = case["leaky"]
        assert leaky["waiting"] > 0, f"{name} leaves nothing for a collection to free"
        assert leaky["rooted"] == 0, f"{name} keeps tensors past a collection"
        assert len(leaky["findings"]) == 1, f"{name}: {leaky['findings']}"
        assert leaky["findings"][0]["retained_bytes"] == leaky["waiting"] << 20, name


@pytest.mark.parametrize("variant", VARIANTS)
def test_fixed_variants_give_none(results, variant):
    for name, case in results["cases"][variant].items():
        assert case["fixed"]["waiting"] == 0, f"{name} still needs a collection"
        assert case["fixed"]["findings"] == [], name


def test_first_suggestion_is_right_nine_times_out_of_ten(results):
    ranks = accuracy_table.ranks_of(results)
    first = [name for name, rank in ranks.items() if rank == 1]
    late = [name for name, rank in ranks.items() if rank is None or rank > 3]
    assert len(first) >= 0.9 * len(ranks), f"not first: {set(ranks) - set(first)}"
    assert late == []


def test_misses_are_explained(results):
    for name, rank in accuracy_table.ranks_of(results).items():
        explained = results["cases"]["plain"][name]["miss"] != ""
        assert explained == (rank != 1), f"{name}: rank {rank}"


def keeps_namespaces(results):
    """From 3.14 on a NamedTuple keeps its original namespace."""
    return tuple(map(int, results["version"].split("."))) >= (3, 14)


@pytest.mark.parametrize("variant", ["cluttered", "doubled"])
def test_unrelated_objects_change_no_answer(results, variant):
    for name, case in results["cases"][variant].items():
        if name == "own_named_tuple_default" and variant == "doubled" and keeps_namespaces(results):
            continue  # the namespace outnumbers the two items of the doubled list
        plain = results["cases"]["plain"][name]["leaky"]["findings"][0]
        found = case["leaky"]["findings"][0]
        assert found["answers"][0] == plain["answers"][0], name
        assert found["signature"] == plain["signature"], name


def test_tensors_on_other_objects_change_no_answer(results):
    # The larger retained size decides a tie.
    loaded = results["cases"]["loaded"]
    for name, case in results["cases"]["plain"].items():
        assert accuracy_table.best_of(loaded[name]) == accuracy_table.best_of(case), name


# Cursors and leases are recognised by name.
KNOWN_BY_NAME = {"own_cursors_of_connection", "own_iterator_of_loader"}


def test_names_change_no_answer(results):
    renamed = results["cases"]["renamed"]
    for name, case in results["cases"]["plain"].items():
        if name in KNOWN_BY_NAME:
            continue
        assert accuracy_table.place_of(renamed[name]) == accuracy_table.place_of(case), name


@pytest.mark.parametrize(("seed", "rank"), [("1", "0"), ("20261121", "3")])
def test_hash_seed_and_rank_change_nothing(interpreter, results, seed, rank):
    other = outcome(interpreter, "plain", seed=seed, rank=rank)
    assert other["cases"]["plain"] == results["cases"]["plain"]


def test_signatures_are_the_same_on_every_interpreter(results, main_interpreter):
    main = outcome(main_interpreter, *VARIANTS)["cases"]["plain"]
    for name, case in results["cases"]["plain"].items():
        [there], [here] = case["leaky"]["findings"], main[name]["leaky"]["findings"]
        assert there["signature"] == here["signature"], f"{there['title']} | {here['title']}"


def test_controls_stay_silent(results):
    assert results["controls"]
    for name, control in results["controls"].items():
        assert control["findings"] == [], name
        assert (control["rooted"] > 0) == ("live" in name or "rooted" in name), name


def test_ten_thousand_repeats_are_one_finding(interpreter):
    case = "c1_callback_in_own_list"
    done = interpreter.run(FOLDER / "run_cases.py", "--repeat", case, 10_000)
    results = json.loads(done.stdout)
    assert results["findings"] == [[10_000, 10_000 << 20]]
    assert results["grown_bytes"] < 4 << 20


@functools.cache
def trials(interpreter):
    """The output of run_trials.py."""
    return json.loads(interpreter.run(FOLDER / "run_trials.py").stdout)


def test_trial_programs_get_the_right_suggestion_nine_times_out_of_ten(main_interpreter):
    verdicts = [trial["verdict"] for trial in trials(main_interpreter).values()]
    assert verdicts.count("first") >= 0.9 * len(verdicts)
    assert verdicts.count("alarming") <= 0.07 * len(verdicts)


def test_accuracy_table_is_current(all_interpreters, main_interpreter):
    outcomes = [outcome(one, *VARIANTS) for one in all_interpreters]
    accuracy_table.check(TABLE, outcomes, trials(main_interpreter))
