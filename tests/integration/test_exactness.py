# SPDX-License-Identifier: Apache-2.0
"""A watch counts exactly the owners that a collection frees, and their bytes.

The graphs are random; the expected report is derived from their descriptions
(programs/object_graphs.py).
"""

import gc
import importlib.util
import itertools
import json
import random
import weakref
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cyclewatch

PROGRAM = Path(__file__).parent / "programs" / "object_graphs.py"
CASES_FOR_EACH_INTERPRETER = 150


def load_program():
    spec = importlib.util.spec_from_file_location("object_graphs", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


object_graphs = load_program()


@pytest.fixture(scope="module", autouse=True)
def freeze_the_heap():
    """Freeze the heap, so that full collections examine only the graphs; register the owners."""
    object_graphs.register_owners()
    enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    if enabled:
        gc.enable()
    for owner in (object_graphs.OwningInstance, object_graphs.OwningSlots, object_graphs.Block):
        cyclewatch.unregister_owner(owner)


def check(description, generation, answer):
    doomed, _ = object_graphs.expected(description, generation)
    owners, released = object_graphs.owners_among(description, doomed)
    assert answer["skipped"] == {}
    assert answer["before"] == 0
    scan = answer["scan"]
    assert (scan["owners"], scan["bytes"], scan["dead"]) == (owners, released, released)
    assert scan["collected"] in ([], ["not yet"])
    assert (answer["owners"], answer["bytes"]) == (owners, released)
    # All freed memory belongs to a finding; shared memory belongs to several.
    assert answer["exclusive"] <= released <= answer["exclusive"] + answer["shared"]


@st.composite
def descriptions(draw, kinds=object_graphs.KINDS):
    size = draw(st.integers(1, 12))
    return [
        {
            "kind": (kind := draw(st.sampled_from(kinds))),
            "age": draw(st.sampled_from(object_graphs.AGES)),
            "kept": draw(st.integers(0, 5)) == 0,
            "edges": draw(st.lists(st.integers(0, size - 1), max_size=4, unique=True)),
            "storage": draw(
                st.integers(0, 3) if kind == "block" else st.none() | st.integers(0, 3)
            ),
        }
        for _ in range(size)
    ]


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(descriptions(), st.integers(0, 2))
def test_exactly_the_freed_owners_are_counted(description, generation):
    check(description, generation, object_graphs.observed(description, generation))


TENSOR_KINDS = ("instance", "list", "dict", "tuple", "closure", "partial")
FLOATS = (4, 16, 1024, 10_000)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(descriptions(kinds=TENSOR_KINDS), st.integers(0, 2))
def test_freed_tensors_are_counted_and_shared_storages_only_if_freed(description, generation):
    # Some tensors are views of the second half of another tensor's storage.
    first_of = weakref.WeakValueDictionary()

    def make_tensor(storage):
        known = first_of.get(storage)
        if known is None:
            first_of[storage] = known = torch.zeros(FLOATS[storage])
            return known
        half = FLOATS[storage] // 2
        return torch.empty(0).set_(known.untyped_storage(), half, (half,))

    answer = object_graphs.observed(description, generation, make_tensor)
    doomed, lives = object_graphs.expected(description, generation)
    dead = {i for i in doomed if object_graphs.owns(description[i])}
    released = {description[i]["storage"] for i in dead} - {
        description[i]["storage"] for i in lives if object_graphs.owns(description[i])
    }
    assert answer["skipped"] == {}
    assert answer["owners"] == len(dead)
    assert answer["bytes"] == sum(4 * FLOATS[storage] for storage in released)
    assert answer["scan"]["bytes"] == answer["scan"]["dead"] == answer["bytes"]


class ManyWaysToShare:
    """Creates owners that share storages: views, views of dropped tensors, storage objects."""

    def __init__(self, choices):
        self.choices = itertools.cycle(choices)
        self.first_of = weakref.WeakValueDictionary()
        self.with_storage_object = set()

    def __call__(self, storage):
        choice = next(self.choices)
        known = self.first_of.get(storage)
        if known is None:
            owner = torch.zeros(FLOATS[storage])
            if choice == "dropped base":
                owner = owner.view(-1)
            elif choice == "dropped base with storage object":
                owner.untyped_storage()
                owner = owner.view(2, -1)[1:]
            self.first_of[storage] = owner
            self.with_storage_object.discard(storage)
            return owner
        if choice == "storage object" and storage not in self.with_storage_object:
            self.with_storage_object.add(storage)
            return known.untyped_storage()
        if choice == "detached":
            return known.detach()
        if choice == "set":
            return torch.empty(0).set_(known.untyped_storage(), 1, (2,))
        return known.view(-1)[1:]


WAYS_TO_SHARE = (
    "view",
    "dropped base",
    "dropped base with storage object",
    "storage object",
    "detached",
    "set",
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    descriptions(kinds=("instance", "list")),
    st.integers(0, 2),
    st.lists(st.sampled_from(WAYS_TO_SHARE), min_size=1, max_size=12),
)
def test_scan_reports_the_storages_that_the_collection_frees(description, generation, choices):
    # Not compared with expected(): the collector regards a tensor with views, and all of its
    # referents, as alive.
    answer = object_graphs.observed(description, generation, ManyWaysToShare(choices))
    assert answer["scan"]["bytes"] == answer["scan"]["dead"] == answer["bytes"]


def random_case(generator):
    """Like descriptions(), but without hypothesis, and with more references per node."""
    size = generator.randint(2, 16)
    description = []
    for _ in range(size):
        kind = generator.choice(object_graphs.KINDS)
        storage = generator.choice((None, 0, 1, 2, 3))
        description.append(
            {
                "kind": kind,
                "age": generator.choice(object_graphs.AGES),
                "kept": generator.random() < 0.08,
                "edges": generator.sample(range(size), generator.randint(0, min(size, 4))),
                "storage": storage or 0 if kind == "block" else storage,
            }
        )
    return description, generator.randrange(3)


@pytest.mark.parametrize("strategy", ["ride-along", "heap-scan"])
def test_every_interpreter_counts_exactly_the_freed_owners(interpreter, strategy, tmp_path):
    if interpreter.free_threaded and strategy == "heap-scan":
        pytest.skip("free-threaded builds have no other strategy")
    generator = random.Random(20)
    cases = [random_case(generator) for _ in range(CASES_FOR_EACH_INTERPRETER)]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases))
    outcome = interpreter.run(PROGRAM, path, CYCLEWATCH_STRATEGY=strategy)
    for (description, generation), answer in zip(cases, json.loads(outcome.stdout), strict=True):
        check(description, 2 if interpreter.free_threaded else generation, answer)
        assert answer["scan"]["untouched"]


def test_frozen_garbage_is_scanned_as_after_unfreezing(interpreter, tmp_path):
    if interpreter.free_threaded:
        pytest.skip("free-threaded builds do not list frozen objects")
    generator = random.Random(21)
    cases = [random_case(generator) for _ in range(CASES_FOR_EACH_INTERPRETER)]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases))
    answers = json.loads(interpreter.run(PROGRAM, path, "frozen").stdout)
    for answer in answers:
        scan = answer["scan"]
        assert answer["collected_while_frozen"] == 0
        assert answer["without_frozen"]["owners"] == 0
        assert (scan["owners"], scan["bytes"]) == (answer["owners"], answer["bytes"])
        assert scan["collected"] in ([], ["never"])
        assert scan["untouched"]
    assert sum(answer["owners"] for answer in answers) > 100


def test_random_cases_cover_every_kind_of_owner():
    generator = random.Random(20)
    cases = [random_case(generator) for _ in range(CASES_FOR_EACH_INTERPRETER)]
    older = untracked = shared = living = 0
    for description, generation in cases:
        doomed, lives = object_graphs.expected(description, generation)
        owners = [i for i in doomed if object_graphs.owns(description[i])]
        young = object_graphs.AGES[2 - generation :]
        older += any(description[i]["age"] not in young for i in owners)
        untracked += any(description[i]["kind"] == "block" for i in owners)
        shared += len({description[i]["storage"] for i in owners}) < len(owners)
        living += any(object_graphs.owns(description[i]) for i in lives)
    assert min(older, untracked, shared, living) >= 5
