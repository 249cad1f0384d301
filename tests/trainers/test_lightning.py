# SPDX-License-Identifier: Apache-2.0
"""CycleWatchCallback in real Lightning trainers, and the entry points."""

import csv
import gc
import logging
import pickle
import signal
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
lightning = pytest.importorskip("lightning", reason="needs requirements-trainers.txt")

import cyclewatch  # noqa: E402
from cyclewatch.integrations import lightning as lightning_integration  # noqa: E402
from cyclewatch.integrations.lightning import CycleWatchCallback, FabricCallback  # noqa: E402
from cyclewatch.integrations.training_watch import Training  # noqa: E402
from cyclewatch.oom import autopsy as out_of_memory  # noqa: E402

STEPS = 6


class Model(lightning.LightningModule):
    """A linear model; `leak` is called with each batch."""

    def __init__(self, leak):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.leak = leak

    def training_step(self, batch, index):
        self.leak(index)
        return self.layer(batch[0]).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def leak_one_kib(_index):
    cycle = [torch.zeros(256)]
    cycle.append(cycle)


def batches():
    return torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.ones(64, 8)), batch_size=2
    )


def trainer(callback, steps=STEPS, **options):
    settings = {
        "max_steps": steps,
        "log_every_n_steps": 2,
        "accelerator": "cpu",
        "logger": lightning.pytorch.loggers.CSVLogger("logs", version="run"),
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "enable_checkpointing": False,
        **options,
    }
    callbacks = callback if isinstance(callback, list) else [callback]
    return lightning.Trainer(callbacks=callbacks, **settings)


def logged(metric="cyclewatch/dead_bytes"):
    """The rows with `metric`."""
    with open("logs/lightning_logs/run/metrics.csv") as lines:
        rows = list(csv.DictReader(lines))
    return [
        {name: float(value) for name, value in row.items() if value != ""}
        for row in rows
        if row.get(metric, "") != ""
    ]


def test_scans_while_collection_is_off_and_logs_the_metrics(reports):
    callback = CycleWatchCallback(devices="cpu", formats="json", budget=1)
    gc.disable()
    with pytest.warns(cyclewatch.TensorCycleWarning):
        trainer(callback).fit(Model(leak_one_kib), batches())
    rows = logged()
    assert [row["step"] for row in rows] == [1, 3, 5]
    assert [row["cyclewatch/dead_bytes"] for row in rows] == [2048, 4096, 6144]
    (report,) = reports()
    assert report.findings[0].occurrences == STEPS
    assert report.findings[0].by_process[0].first_step == 1
    assert report.processes[0].unexamined == ""


def test_logs_the_path_of_the_report_at_the_end(caplog):
    caplog.set_level(logging.INFO, "cyclewatch")
    with pytest.warns(cyclewatch.TensorCycleWarning):
        trainer(CycleWatchCallback(devices="cpu")).fit(Model(leak_one_kib), batches())
    last = caplog.records[-1]
    assert last.levelno == logging.WARNING
    assert ".html" in last.getMessage()
    assert "refer" in last.getMessage()


def test_a_clean_training_logs_one_line_and_writes_nothing(caplog, tmp_path, recwarn):
    caplog.set_level(logging.INFO, "cyclewatch")
    trainer(CycleWatchCallback(devices="cpu", min_bytes=1024)).fit(
        Model(lambda index: None), batches()
    )
    (record,) = [each for each in caplog.records if each.name == "cyclewatch"]
    assert record.levelno == logging.INFO
    assert "no tensor cycle found" in record.getMessage()
    assert not list(tmp_path.glob("cyclewatch-*"))
    assert not [each for each in recwarn if each.category is cyclewatch.TensorCycleWarning]
    assert cyclewatch.metrics() == {}


class LoggingModel(Model):
    """Logs its loss."""

    def training_step(self, batch, index):
        loss = super().training_step(batch, index)
        self.log("loss", loss)
        return loss


class TwoOptimizers(Model):
    """Runs two optimizers in each batch."""

    automatic_optimization = False

    def training_step(self, batch, index):
        loss = super().training_step(batch, index)
        self.log("loss", loss)
        self.manual_backward(loss)
        for optimizer in self.optimizers():
            optimizer.step()

    def configure_optimizers(self):
        return [torch.optim.SGD(self.parameters(), 0.1) for _ in range(2)]


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (LoggingModel, {}),
        (LoggingModel, {"accumulate_grad_batches": 3}),
        (LoggingModel, {"limit_train_batches": 2}),
        (TwoOptimizers, {}),
    ],
)
def test_the_metrics_are_logged_in_the_steps_of_the_trainer(model, options):
    run = trainer(CycleWatchCallback(devices="cpu"), steps=8, **options)
    run.fit(model(lambda index: None), batches())
    steps = [row["step"] for row in logged()]
    assert steps == [row["step"] for row in logged("loss")] != []


def test_the_last_batch_is_logged_although_the_trainer_does_not_log():
    run = trainer(CycleWatchCallback(devices="cpu"), log_every_n_steps=4)
    run.fit(LoggingModel(lambda index: None), batches())
    assert [row["step"] for row in logged("loss")] == [3]
    assert [row["step"] for row in logged()] == [3, 5]


def test_nothing_is_logged_if_the_trainer_logs_nothing(tmp_path):
    run = trainer(CycleWatchCallback(devices="cpu"), log_every_n_steps=0)
    run.fit(LoggingModel(lambda index: None), batches())
    assert not list(tmp_path.rglob("metrics.csv"))


@pytest.mark.parametrize("log_metrics", [True, False])
def test_a_second_callback_logs_nothing(log_metrics):
    gc.disable()
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        # The entry point adds its callback at the end.
        callbacks = [CycleWatchCallback(log_metrics=log_metrics), CycleWatchCallback()]
        trainer(callbacks).fit(LoggingModel(leak_one_kib), batches())
    assert [row["step"] for row in logged()] == ([1, 3, 5] if log_metrics else [])
    scans = [each.step for each in watch.report().collections if each.step >= 0]
    assert scans == list(range(1, STEPS + 1))


def test_a_resumed_training_continues_the_step_numbers(tmp_path, reports):
    first = trainer(CycleWatchCallback(devices="cpu"), steps=4)
    first.fit(Model(lambda index: None), batches())
    first.save_checkpoint(tmp_path / "at_4.ckpt")
    callback = CycleWatchCallback(devices="cpu", formats="json", budget=1)
    gc.disable()
    with pytest.warns(cyclewatch.TensorCycleWarning):
        trainer(callback).fit(
            Model(leak_one_kib),
            batches(),
            ckpt_path=tmp_path / "at_4.ckpt",
            weights_only=False,
        )
    assert reports()[0].findings[0].by_process[0].first_step == 5


def test_one_callback_watches_two_trainings():
    callback = CycleWatchCallback(devices="cpu")
    for _ in range(2):
        trainer(callback).fit(Model(lambda index: None), batches())
        assert cyclewatch.metrics() == {}


@pytest.mark.filterwarnings("ignore::cyclewatch.TensorCycleWarning")
@pytest.mark.parametrize("error", [None, ValueError("bad batch")])
def test_a_training_inside_a_training_uses_its_watch(error, reports):
    callback = CycleWatchCallback(devices="cpu", formats="json")

    def train_at_2(index):
        leak_one_kib(index)
        if index == 2:
            inner = trainer(callback, steps=3, logger=False)
            try:
                inner.fit(Model(leak_one_kib if error is None else fail_at(2, error)), batches())
            except ValueError:
                pass

    trainer(callback).fit(Model(train_at_2), batches())
    assert cyclewatch.metrics() == {}
    found = {each.title: each.occurrences for each in reports()[0].findings}
    assert found["list[1] -> list"] == STEPS + 3


def fail_at(index, error):
    def leak(batch):
        leak_one_kib(batch)
        if batch == index:
            raise error

    return leak


@pytest.mark.filterwarnings("ignore::cyclewatch.TensorCycleWarning")
def test_a_failing_training_ends_the_watch_and_writes_the_report(reports):
    callback = CycleWatchCallback(devices="cpu", formats="json")
    with pytest.raises(ValueError, match="bad batch"):
        trainer(callback).fit(Model(fail_at(3, ValueError("bad batch"))), batches())
    assert cyclewatch.metrics() == {}
    assert reports()[0].findings[0].occurrences == 4


@pytest.mark.filterwarnings("ignore::cyclewatch.TensorCycleWarning")
def test_an_interrupted_training_ends_the_watch():
    handler = signal.getsignal(signal.SIGINT)
    callback = CycleWatchCallback(devices="cpu")
    with pytest.raises(SystemExit):
        trainer(callback).fit(Model(fail_at(3, KeyboardInterrupt())), batches())
    signal.signal(signal.SIGINT, handler)  # Lightning ignores it
    assert cyclewatch.metrics() == {}


@pytest.mark.filterwarnings("ignore::cyclewatch.TensorCycleWarning")
def test_an_out_of_memory_error_has_a_report(tmp_path, monkeypatch):
    # The report of an error that another test let torch's observer see.
    monkeypatch.setattr(out_of_memory, "_observed", None)
    callback = CycleWatchCallback(devices="cpu")
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
    with pytest.raises(torch.OutOfMemoryError) as caught:
        trainer(callback).fit(Model(fail_at(3, error)), batches())
    assert caught.value.__notes__[0].startswith("cyclewatch: out of memory")
    assert list(tmp_path.glob("cyclewatch-*-oom.txt"))


def test_uses_and_does_not_stop_an_active_watch():
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        gc.disable()
        trainer(CycleWatchCallback()).fit(Model(leak_one_kib), batches())
        assert watch.active
        assert watch.report().findings[0].occurrences == STEPS
    assert logged()[-1]["cyclewatch/dead_bytes"] == 6144


def test_the_callback_is_not_part_of_a_cycle_with_the_trainer(refers_to):
    callback = CycleWatchCallback(devices="cpu")
    run = trainer(callback)
    run.fit(Model(lambda index: None), batches())
    assert refers_to(run, callback)
    assert not refers_to(callback, run)


def test_a_copy_of_the_callback_has_the_settings_and_no_watch():
    callback = CycleWatchCallback(devices="cpu", min_bytes=7)
    training = Training(callback)
    callback._run.start(training)
    copy = pickle.loads(pickle.dumps(callback))
    assert copy._run._settings == {"devices": "cpu", "min_bytes": 7}
    assert copy._run.metrics() == {}
    callback._run.finish(training)


def test_invalid_settings_are_reported_before_the_training():
    with pytest.raises(ValueError, match="unknown device"):
        trainer(CycleWatchCallback(devices="gpu9")).fit(Model(leak_one_kib), batches())


def test_fabric_counts_the_steps_of_the_first_optimizer():
    fabric = lightning.Fabric(accelerator="cpu", callbacks=[FabricCallback()])
    model = torch.nn.Linear(2, 1)
    model, *optimizers = fabric.setup(
        model, *(torch.optim.SGD(model.parameters(), 0.1) for _ in range(2))
    )
    gc.disable()
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        for _ in range(3):
            leak_one_kib(0)
            model(torch.ones(1, 2)).sum().backward()
            for optimizer in optimizers:
                optimizer.step()
    assert [each.step for each in watch.report().collections] == [1, 2, 3]


def test_two_callbacks_of_fabric_step_once():
    """CYCLEWATCH=1 adds one to that of the program."""
    fabric = lightning.Fabric(accelerator="cpu", callbacks=[FabricCallback(), FabricCallback()])
    model = torch.nn.Linear(2, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), 0.1))
    gc.disable()
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        for _ in range(3):
            leak_one_kib(0)
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    assert watch.stats.scans == 3


def test_fabric_counts_the_steps_of_the_next_phase():
    callback = FabricCallback()
    fabric = lightning.Fabric(accelerator="cpu", callbacks=[callback])
    gc.disable()
    phases = []  # keeps the optimizers
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        for _ in range(2):
            model = torch.nn.Linear(2, 1)
            model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), 0.1))
            phases.append(optimizer)
            for _ in range(3):
                leak_one_kib(0)
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()
    assert [each.step for each in watch.report().collections] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("value", "expected"), [("1", 1), ("0", 0), ("", 0)])
def test_entry_points_add_callbacks_only_on_request(run_program, value, expected):
    outcome = run_program("lightning_entry_points.py", CYCLEWATCH=value)
    trainer_callbacks, fabric_callbacks, modules = outcome.stdout.split()
    assert int(trainer_callbacks) == int(fabric_callbacks) == expected
    assert (modules == "loaded") == bool(expected)


@pytest.mark.parametrize("strategy", ["ddp", "ddp_spawn", "ddp_fork"])
def test_two_processes_write_two_reports(run_program, reports, tmp_path, strategy):
    run_program("lightning_ddp.py", strategy)
    found = [report for report in reports("reports") if len(report.processes) == 1]
    assert [report.processes[0].rank for report in found] == [0, 1]
    assert [report.processes[0].world_size for report in found] == [2, 2]
    for rank in range(2):
        assert len(list(tmp_path.glob(f"reports/cyclewatch-*-rank{rank}-*.json"))) == 1
    assert [report.findings[0].occurrences for report in found] == [STEPS, STEPS]


def test_another_version_without_the_private_attributes_counts_steps_of_the_optimizer():
    trainer = SimpleNamespace(fit_loop=SimpleNamespace(epoch_loop=object()), global_step=3)
    assert lightning_integration._batch_number(trainer) == 3
    assert not lightning_integration._accumulates(trainer)
    assert lightning_integration._batch_number(SimpleNamespace(global_step=4)) == 4
