# SPDX-License-Identifier: Apache-2.0
"""The metrics in TensorBoard, torch.monitor, W&B, MLflow, Prometheus and OpenTelemetry."""

import gc
import json

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import cyclewatch  # noqa: E402
from cyclewatch.export.metric_table import CENSUS_METRICS, METRICS  # noqa: E402


def steps(record, number=3, **settings):
    """Leak 1 KiB in each step, and call `record` at its end."""
    gc.disable()
    with cyclewatch.watch(devices="cpu", budget=1, **settings) as watch:
        for step in range(1, number + 1):
            cycle = [torch.zeros(256)]
            cycle.append(cycle)
            del cycle
            watch.step(step)
            record(step)
        return watch.metrics()


def scalars(folder):
    events = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="needs requirements-trainers.txt",
    )
    accumulator = events.EventAccumulator(str(folder))
    accumulator.Reload()
    return {
        name: [each.value for each in accumulator.Scalars(name)]
        for name in accumulator.Tags()["scalars"]
    }


def test_tensorboard(tmp_path):
    tensorboard = pytest.importorskip(
        "torch.utils.tensorboard", reason="needs requirements-trainers.txt"
    )
    writer = tensorboard.SummaryWriter(tmp_path / "events")

    def record(step):
        for name, value in cyclewatch.metrics().items():
            writer.add_scalar(name, value, step)

    steps(record)
    writer.close()
    written = scalars(tmp_path / "events")
    assert set(written) == set(METRICS)
    assert written["cyclewatch/dead_bytes"] == [1024, 2048, 3072]


def test_torch_monitor_reaches_tensorboard(tmp_path):
    from cyclewatch.integrations.torch_monitor import Statistics

    tensorboard = pytest.importorskip(
        "torch.utils.tensorboard", reason="needs requirements-trainers.txt"
    )
    writer = tensorboard.SummaryWriter(tmp_path / "events")
    handler = torch.monitor.register_event_handler(torch.monitor.TensorboardEventHandler(writer))
    statistics = Statistics(window=0.001)
    steps(lambda step: statistics.record(), number=50, census_every=10)
    statistics._stats.clear()  # passes on the last window
    torch.monitor.unregister_event_handler(handler)
    writer.close()
    written = scalars(tmp_path / "events")
    assert set(written) == {f"{name}.max" for name in (*METRICS, *CENSUS_METRICS)}
    assert written["cyclewatch/dead_bytes.max"][-1] == 50 * 1024


def test_wandb_offline(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="needs requirements-trainers.txt")
    monkeypatch.setenv("WANDB_MODE", "offline")
    with wandb.init(project="test", dir=tmp_path) as run:
        final = steps(lambda step: run.log(cyclewatch.metrics(), step=step))
        run.log({}, step=4)  # the summary contains the completed steps
        assert {name: run.summary[name] for name in METRICS} == pytest.approx(final)


def test_mlflow_in_a_folder(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="needs requirements-trainers.txt")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        steps(lambda step: mlflow.log_metrics(cyclewatch.metrics(), step=step))
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "cyclewatch/dead_bytes")
    assert [(each.step, each.value) for each in history] == [(1, 1024), (2, 2048), (3, 3072)]


def test_prometheus():
    client = pytest.importorskip("prometheus_client", reason="needs requirements-trainers.txt")
    from cyclewatch.integrations.prometheus import Gauges

    registry = client.CollectorRegistry()
    gauges = Gauges(registry)
    final = steps(lambda step: gauges.record())
    assert registry.get_sample_value("cyclewatch_other_bytes") is None  # no census
    final = steps(lambda step: gauges.record(), census_every=2)
    assert set(final) == {*METRICS, *CENSUS_METRICS}
    gauges.record()  # no watch is active: the values stay
    for name, value in final.items():
        assert registry.get_sample_value(name.replace("/", "_")) == value


def test_opentelemetry():
    pytest.importorskip("opentelemetry.sdk", reason="needs requirements-trainers.txt")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    from cyclewatch.integrations.opentelemetry import Instruments

    reader = InMemoryMetricReader()
    instruments = Instruments(MeterProvider([reader]).get_meter("test"))
    final = steps(lambda step: instruments.record(), census_every=2)
    before = gc.get_stats()[1]["collections"]
    gc.collect(1)
    gc.collect(1)
    instruments.record()
    assert gc.get_stats()[1]["collections"] == before + 2
    data = json.loads(reader.get_metrics_data().to_json())
    metrics = {
        each["name"]: each["data"]["data_points"]
        for each in data["resource_metrics"][0]["scope_metrics"][0]["metrics"]
    }
    for name, value in final.items():
        assert metrics[name.replace("/", ".")][0]["value"] == value
    young = [
        point
        for point in metrics["cpython.gc.collections"]
        if point["attributes"] == {"cpython.gc.generation": 1}
    ]
    assert young[0]["value"] >= 2
