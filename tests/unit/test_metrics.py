# SPDX-License-Identifier: Apache-2.0
"""metrics() and Watch.metrics()."""

import gc

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch.export.metric_table import CENSUS_METRICS, METRICS


@pytest.fixture
def watched(buffers_are_owners, no_automatic_collection):
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        yield watch


def leak():
    cycle = [Buffer(nbytes=100)]
    cycle.append(cycle)


def named(values, *names):
    return tuple(values[f"cyclewatch/{name}"] for name in names)


def test_dead_bytes_become_freed_bytes(watched):
    leak()
    watched.step(1)
    assert named(cyclewatch.metrics(), "dead_bytes", "freed_bytes", "findings") == (100, 0, 1)
    leak()
    watched.step(2)
    assert named(cyclewatch.metrics(), "dead_bytes", "freed_bytes", "findings") == (200, 0, 1)
    before = cyclewatch.metrics()["cyclewatch/gc_seconds"]
    gc.collect()
    assert named(cyclewatch.metrics(), "dead_bytes", "freed_bytes", "findings") == (0, 200, 1)
    assert cyclewatch.metrics()["cyclewatch/gc_seconds"] > before


@pytest.mark.usefixtures("frozen_objects_are_listed")
def test_memory_that_the_program_frees_is_neither_dead_nor_freed_by_a_collection(watched):
    buffer = Buffer(nbytes=100)
    cycle = [buffer]
    cycle.append(cycle)
    del buffer
    gc.freeze()
    del cycle
    watched.step(1)
    assert named(watched.metrics(), "dead_bytes") == (100,)
    gc.unfreeze()
    for each in gc.get_objects():
        if type(each) is list and len(each) == 2 and each[-1] is each:
            each.clear()
    assert named(watched.metrics(), "dead_bytes", "freed_bytes") == (0, 0)


def test_names_are_those_of_the_table(watched):
    assert list(watched.metrics()) == list(METRICS)


def test_categories_are_those_of_the_last_census(buffers_are_owners, no_automatic_collection):
    with cyclewatch.watch(devices="cpu", budget=1, census_every=2) as watch:

        def sizes():
            return {name: size for name, size in watch.metrics().items() if name in CENSUS_METRICS}

        watch.step(1)
        assert sizes() == {}
        watch.step(2)
        assert list(watch.metrics()) == [*METRICS, *CENSUS_METRICS]
        before = sizes()  # not 0 if a test that ran earlier left tensors
        kept = [Buffer(nbytes=100)]
        watch.step(3)
        assert sizes() == before
        watch.step(4)
        name = "cyclewatch/other_bytes"
        assert sizes() == {**before, name: before[name] + 100}
        kept.clear()


def test_metrics_are_those_of_the_newest_active_watch(watched):
    leak()
    watched.step(1)
    with cyclewatch.watch(devices="cpu") as newer:
        assert named(cyclewatch.metrics(), "findings") == (0,)
    assert named(newer.metrics(), "findings") == (0,)
    assert named(cyclewatch.metrics(), "findings") == (1,)


def test_no_active_watch_has_no_metrics():
    watch = cyclewatch.watch(devices="cpu")
    watch.stop()
    assert cyclewatch.metrics() == {}
    assert set(watch.metrics()) == set(METRICS)


def test_an_out_of_memory_error_that_leaves_the_block_of_a_watch_is_examined(tmp_path):
    with pytest.raises(MemoryError) as caught, cyclewatch.warn_tensor_cycles(report_dir=tmp_path):
        raise MemoryError("no memory left")
    assert caught.value.__notes__[0].startswith("cyclewatch: out of memory on cpu")
    assert list(tmp_path.glob("*-oom.txt"))


def test_importing_the_integrations_imports_no_trainer(interpreter):
    outcome = interpreter.run(
        """
        import sys
        import cyclewatch.integrations.entry_points as entry_points
        print(entry_points.trainer_callbacks(), entry_points.fabric_callbacks())
        print("cyclewatch._native" in sys.modules)
        import cyclewatch.integrations.torchtitan
        print(sorted({"torch", "lightning", "transformers", "accelerate"} & set(sys.modules)))
    """,
        CYCLEWATCH="0",
    )
    assert outcome.stdout.splitlines() == ["[] []", "False", "[]"]


def test_a_watch_writes_sends_and_logs_nothing_for_integrations_that_are_not_used(
    interpreter, tmp_path
):
    """The trainers, loggers and monitoring systems may be installed."""
    outcome = interpreter.run(
        """
        import logging, os, sys
        import cyclewatch
        logging.basicConfig(level=1, stream=sys.stdout, format="logged: %(message)s")
        opened = []
        def audit(event, arguments):
            if event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                opened.append(arguments[0])
            elif event in ("socket.connect", "subprocess.Popen"):
                opened.append(arguments)
        sys.addaudithook(audit)
        with cyclewatch.watch(devices="cpu") as watch:
            for step in range(3):
                watch.step(step)
            cyclewatch.metrics()
        print(opened)
        print([each for each in sys.modules if each.startswith("cyclewatch.integrations")])
    """,
        cwd=tmp_path,
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert outcome.stdout.splitlines() == ["[]", "[]"]
    assert list(tmp_path.iterdir()) == []
