# SPDX-License-Identifier: Apache-2.0
"""CycleWatchCallback in real transformers trainers, with a GPT-2 of random weights."""

import gc
import logging
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="needs requirements-trainers.txt")

import cyclewatch  # noqa: E402
from cyclewatch.integrations import (  # noqa: E402
    transformers as transformers_integration,
)
from cyclewatch.integrations.transformers import CycleWatchCallback  # noqa: E402

STEPS = 4


def leak_one_kib(_step=0):
    cycle = [torch.zeros(256)]
    cycle.append(cycle)


def leaks(report):
    """How many cycles of leak_one_kib() are in a report."""
    return sum(each.occurrences for each in report.findings if each.title == "list[1] -> list")


class Leaking(transformers.Trainer):
    """Calls `leak` in each step."""

    leak = staticmethod(leak_one_kib)

    def training_step(self, *arguments, **keywords):
        self.leak(self.state.global_step)
        return super().training_step(*arguments, **keywords)


def trainer(callbacks=None, leak=leak_one_kib, steps=STEPS, make=Leaking, **options):
    config = transformers.GPT2Config(
        vocab_size=32,
        n_positions=16,
        n_embd=8,
        n_layer=1,
        n_head=1,
        bos_token_id=None,
        eos_token_id=None,
    )
    words = torch.arange(8)
    arguments = transformers.TrainingArguments(
        output_dir="out",
        max_steps=steps,
        logging_steps=2,
        per_device_train_batch_size=2,
        use_cpu=True,
        disable_tqdm=True,
        **{"report_to": "none", "save_strategy": "no", **options},
    )
    run = make(
        model=transformers.GPT2LMHeadModel(config),
        args=arguments,
        train_dataset=[{"input_ids": words, "labels": words}] * 16,
        eval_dataset=[{"input_ids": words, "labels": words}] * 4,
        callbacks=callbacks,
    )
    run.leak = leak
    return run


class Recorder(transformers.integrations.TensorBoardCallback):
    """A logger of `report_to`."""

    def __init__(self):
        self.rows = []

    def on_train_begin(self, args, state, control, **kwargs):
        pass

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.rows.append({"step": state.global_step, **logs})

    def on_train_end(self, args, state, control, **kwargs):
        pass


def test_scans_while_collection_is_off_and_logs_the_metrics(reports):
    recorder = Recorder()
    gc.disable()
    run = trainer([recorder])
    CycleWatchCallback(devices="cpu", formats="json", budget=1).attach(run)
    with pytest.warns(cyclewatch.TensorCycleWarning):
        run.train()
    rows = [row for row in recorder.rows if "cyclewatch/dead_bytes" in row]
    assert [row["step"] for row in rows] == [2, 4]
    assert [row["cyclewatch/dead_bytes"] for row in rows] == [2048, 4096]
    assert [row["step"] for row in recorder.rows if "loss" in row] == [2, 4]
    (report,) = reports()
    assert report.findings[0].occurrences == STEPS
    assert report.findings[0].by_process[0].first_step == 1


class Observer(transformers.TrainerCallback):
    """A callback of the program that is not a logger."""

    def __init__(self):
        self.rows = []

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.rows.append(logs)


def results(attach):
    """All that a program can see of a training and an evaluation, without durations."""
    transformers.set_seed(0)
    observer = Observer()
    run = trainer([Recorder(), observer], eval_strategy="steps", eval_steps=3, steps=6)
    if attach:
        CycleWatchCallback(devices="cpu").attach(run)
    seen = [run.train().metrics, run.evaluate(), *run.state.log_history, *observer.rows]
    objective = transformers.trainer_utils.default_compute_objective(run.evaluate())
    durations = ("_runtime", "_per_second")
    return objective, [
        {name: None if name.endswith(durations) else value for name, value in row.items()}
        for row in seen
    ]


@pytest.mark.filterwarnings("ignore::cyclewatch.TensorCycleWarning")
def test_the_results_of_the_trainer_are_those_without_the_callback():
    assert results(attach=True) == results(attach=False)


def test_only_a_training_logs_metrics():
    recorder = Recorder()
    run = trainer([recorder], leak=lambda step: None)
    CycleWatchCallback(devices="cpu").attach(run)
    run.train()
    recorder.rows.clear()
    run.evaluate()
    assert [name for row in recorder.rows for name in row if "cyclewatch" in name] == []


def test_attaching_again_changes_nothing():
    recorder = Recorder()
    callback = CycleWatchCallback(devices="cpu")
    run = trainer([callback, recorder], leak=lambda step: None)
    callback.attach(run)
    callback.attach(run)
    run.train()
    assert run.callback_handler.callbacks.count(callback) == 1
    assert len([row for row in recorder.rows if "cyclewatch/findings" in row]) == 2


def test_a_callback_without_metrics():
    recorder = Recorder()
    run = trainer([recorder], leak=lambda step: None)
    CycleWatchCallback(devices="cpu", log_metrics=False).attach(run)
    run.train()
    assert [name for row in recorder.rows for name in row if "cyclewatch" in name] == []


def test_attached_callbacks_reach_tensorboard(tmp_path):
    events = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="needs requirements-trainers.txt",
    )
    run = trainer(report_to="tensorboard")
    CycleWatchCallback(devices="cpu").attach(run)
    with pytest.warns(cyclewatch.TensorCycleWarning):
        run.train()
    written = set()
    for path in tmp_path.rglob("events.out.tfevents.*"):
        accumulator = events.EventAccumulator(str(path))
        accumulator.Reload()
        written.update(accumulator.Tags()["scalars"])
    assert {"train/loss", "train/cyclewatch/findings"} <= written


@pytest.mark.filterwarnings("ignore::cyclewatch.TensorCycleWarning")
def test_attached_callbacks_reach_wandb(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="needs requirements-trainers.txt")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    run = trainer(report_to="wandb")
    CycleWatchCallback(devices="cpu").attach(run)
    gc.disable()
    run.train()
    summary = dict(wandb.run.summary)
    wandb.finish()
    assert {"train/loss", "train/cyclewatch/findings"} <= set(summary)
    assert summary["train/global_step"] == STEPS


def test_a_clean_training_logs_one_line(caplog, tmp_path):
    caplog.set_level(logging.INFO, "cyclewatch")
    trainer([CycleWatchCallback(devices="cpu")], leak=lambda step: None).train()
    (record,) = [each for each in caplog.records if each.name == "cyclewatch"]
    assert "no tensor cycle found" in record.getMessage()
    assert not list(tmp_path.glob("cyclewatch-*"))
    assert cyclewatch.metrics() == {}


def test_a_resumed_training_continues_the_step_numbers(reports):
    trainer(leak=lambda step: None, steps=2, save_strategy="steps", save_steps=2).train()
    callback = CycleWatchCallback(devices="cpu", formats="json", budget=1)
    gc.disable()
    with pytest.warns(cyclewatch.TensorCycleWarning):
        trainer([callback]).train(resume_from_checkpoint="out/checkpoint-2")
    assert reports()[0].findings[0].by_process[0].first_step == 3


@pytest.mark.filterwarnings("ignore::cyclewatch.TensorCycleWarning")
@pytest.mark.parametrize("error", [ValueError("bad batch"), KeyboardInterrupt()])
def test_the_next_training_ends_the_watch_of_a_failed_one(error, reports):
    def fail_at_2(step):
        leak_one_kib()
        if step == 2:
            raise error

    callback = CycleWatchCallback(devices="cpu", formats="json")
    with pytest.raises(type(error)):
        trainer([callback], leak=fail_at_2).train()
    first = cyclewatch.metrics()
    assert first["cyclewatch/findings"] in (0, 1)  # still watched: the trainer says nothing
    trainer([callback], leak=lambda step: None).train()
    assert cyclewatch.metrics() == {}
    assert reports()[0].findings[0].occurrences == 3


@pytest.mark.filterwarnings("ignore::cyclewatch.TensorCycleWarning")
@pytest.mark.parametrize("keep", [True, False])
def test_a_new_callback_ends_the_watch_of_a_failed_training(keep, reports, caplog):
    def fail(step):
        leak_one_kib()
        raise ValueError("bad batch")

    caplog.set_level(logging.INFO, "cyclewatch")
    failed = trainer([CycleWatchCallback(devices="cpu", formats="json", budget=1)], leak=fail)
    with pytest.raises(ValueError, match="bad batch"):
        failed.train()
    if not keep:
        del failed
    gc.collect()
    second = CycleWatchCallback(devices="cpu", formats="json", report_dir="second", budget=1)
    trainer([second], leak=leak_one_kib).train()
    assert cyclewatch.metrics() == {}
    assert leaks(reports()[0]) == 1
    assert leaks(reports("second")[0]) == STEPS
    messages = [each.getMessage() for each in caplog.records]
    assert len([each for each in messages if "; report: " in each and "[cw1-" not in each]) == 2


@pytest.mark.filterwarnings("ignore::cyclewatch.TensorCycleWarning")
@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_a_training_inside_a_training_uses_its_watch(same, fails, reports):
    outer = CycleWatchCallback(devices="cpu", formats="json", budget=1)
    inner = outer if same else CycleWatchCallback(devices="cpu", report_dir="inner")

    def fail(step):
        leak_one_kib()
        raise ValueError("bad batch")

    def train_at_2(step):
        leak_one_kib()
        if step == 2:
            try:
                trainer([inner], leak=fail if fails else leak_one_kib).train()
            except ValueError:
                pass

    trainer([outer], leak=train_at_2).train()
    assert cyclewatch.metrics() == {}
    (report,) = reports()
    assert leaks(report) == STEPS + (1 if fails else STEPS)
    assert reports("inner") == []


class OwnLoop(Leaking):
    """Does not call Trainer.train(), as trainers of reinforcement learning."""

    def train(self):
        events = self.callback_handler
        self.control = events.on_train_begin(self.args, self.state, self.control)
        for step in range(1, 1 + STEPS):
            self.state.global_step = step
            self.leak(step)
            self.control = events.on_step_end(self.args, self.state, self.control)
        self.control = events.on_train_end(self.args, self.state, self.control)


@pytest.mark.filterwarnings("ignore::cyclewatch.TensorCycleWarning")
def test_a_training_inside_a_trainer_with_its_own_loop_uses_its_watch(reports):
    def train_at_2(step):
        leak_one_kib()
        if step == 2:
            trainer([CycleWatchCallback(devices="cpu", report_dir="inner")]).train()
            assert cyclewatch.metrics()

    outer = CycleWatchCallback(devices="cpu", formats="json", budget=1)
    trainer([outer], leak=train_at_2, make=OwnLoop).train()
    assert cyclewatch.metrics() == {}
    (report,) = reports()
    assert leaks(report) == 2 * STEPS
    assert reports("inner") == []


def test_uses_and_does_not_stop_an_active_watch():
    gc.disable()
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        trainer([CycleWatchCallback()]).train()
        assert watch.active
        assert watch.report().findings[0].occurrences == STEPS


def test_the_callback_is_not_part_of_a_cycle_with_the_trainer(refers_to):
    callback = CycleWatchCallback(devices="cpu")
    run = trainer(leak=lambda step: None)
    callback.attach(run)
    run.train()
    assert refers_to(run, callback)
    assert not refers_to(callback, run)


def test_two_processes_write_their_reports_and_the_merged_one(run_program, reports):
    outcome = run_program("transformers_ranks.py", ranks=2)
    assert "cyclewatch: report of all ranks: " in outcome.stderr
    occurrences = {
        tuple(process.rank for process in report.processes): report.findings[0].occurrences
        for report in reports("reports")
    }
    assert occurrences == {(0,): STEPS, (1,): STEPS, (0, 1): 2 * STEPS}


def test_an_out_of_memory_error_that_ends_the_program_has_a_report(run_program, tmp_path):
    outcome = run_program("transformers_ranks.py", "oom", check=False)
    assert outcome.returncode == 1
    assert "cyclewatch: out of memory on" in outcome.stderr
    assert list(tmp_path.glob("reports/cyclewatch-*-oom.txt"))


def test_looking_for_the_training_that_runs_leaves_no_cycle():
    class State:
        pass

    state = State()
    call = transformers_integration._TrainCall(state)
    other = transformers_integration._TrainCall(State())
    other._frame = -1
    gc.collect()
    gc.disable()
    try:
        assert not other.is_running(call)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_loggers_are_called_once_for_each_dict():
    trainer = SimpleNamespace(callback_handler=SimpleNamespace(callbacks=[]))
    logger = transformers.integrations.TensorBoardCallback.__new__(
        transformers.integrations.TensorBoardCallback
    )
    seen = []
    logger.on_log = lambda args, state, control, logs, **_: seen.append(dict(logs))
    later = SimpleNamespace(on_log=lambda args, state, control, logs, **_: seen.append(dict(logs)))
    trainer.callback_handler.callbacks = [logger, later]
    callback = CycleWatchCallback()
    callback.attach(trainer)
    callback._run.metrics = lambda: {"cyclewatch/findings": 0}
    callback._run._watch = object()  # active
    logs = {"loss": 1.0}
    for each in trainer.callback_handler.callbacks:
        each.on_log(None, SimpleNamespace(global_step=1), None, logs=logs)
    assert seen == [{"loss": 1.0, "cyclewatch/findings": 0}, {"loss": 1.0}]
    assert logs == {"loss": 1.0}
