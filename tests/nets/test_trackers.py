"""Loggers of the monitor: the true trackers where they are installed, and stand-ins otherwise."""

import math
import sys
import types

import pytest
import torch
from torch import nn

from gramian.nets import Monitor
from gramian.nets.trackers import MlflowLog, TensorBoardLog, WandbLog

METRICS = {"loss": 1.5, "0/nfa_cos": 0.25, "0/fact_residual": 0.5, "encoder.0/nfa_cos": math.nan}


def monitored(log):
    """A monitor of a short training; every other step is measured."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        X = torch.randn(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = Monitor(model, (X, X[:, :1]), "mse", every=2, optimizer=optimizer, log=log)
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(X), X[:, :1]).backward()
        monitor.step()
        optimizer.step()
    return monitor


@pytest.fixture
def events():
    """Reads the scalars of a folder back: {key: [(step, value), …]}."""
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def read(folder):
        found = EventAccumulator(str(folder)).Reload()
        return {key: [(event.step, event.value) for event in found.Scalars(key)] for key in found.Tags()["scalars"]}

    return read


def test_tensorboard_has_every_measurement(events, tmp_path):
    with TensorBoardLog(tmp_path / "run") as log:
        monitor = monitored(log)
    found = events(tmp_path / "run")
    assert monitor.steps == [0, 2, 4]
    assert set(found) == {key for entry in monitor.history for key in entry}
    for key, entries in found.items():
        expected = [(step, row[key]) for step, row in zip(monitor.steps, monitor.history, strict=True) if key in row]
        assert [step for step, _ in entries] == [step for step, _ in expected]
        assert [value for _, value in entries] == pytest.approx([value for _, value in expected], rel=1e-6)


def test_tensorboard_writes_the_chosen_keys_to_a_writer_of_the_user(events, tmp_path):
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(tmp_path))
    with TensorBoardLog(writer, keys=["loss", "*/nfa_cos"], prefix="features/") as log:
        log(METRICS, 7)
    writer.add_scalar("mine", 3.0, 8)  # it is still open
    writer.close()
    found = events(tmp_path)
    assert set(found) == {"features/loss", "features/0/nfa_cos", "features/encoder.0/nfa_cos", "mine"}
    assert found["features/loss"] == [(7, 1.5)]
    assert math.isnan(found["features/encoder.0/nfa_cos"][0][1])


def test_wandb_offline(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with WandbLog(mode="offline", project="features", dir=str(tmp_path)) as log:
        monitor = monitored(log)
        summary = dict(log.run.summary)
    assert summary["monitor_step"] == 4
    assert summary["loss"] == pytest.approx(monitor.metrics["loss"])
    assert summary["0/c_nfa_cos"] == pytest.approx(monitor.metrics["0/c_nfa_cos"])
    assert list(tmp_path.rglob("*.wandb"))


def test_mlflow_in_a_local_store(tmp_path):
    pytest.importorskip("mlflow", reason="mlflow is not installed")
    pytest.importorskip("sqlalchemy", reason="a local store of mlflow needs sqlalchemy")
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    with MlflowLog(experiment="features", run_name="first", tracking_uri=store) as log:
        monitor = monitored(log)
        log({"experts[3]/nfa_cos": 1.0}, 9)
    run = log.client.get_run(log.run_id)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "first")
    found = log.client.get_metric_history(log.run_id, "loss")
    assert [(entry.step, entry.value) for entry in found] == list(
        zip(monitor.steps, monitor.series("loss"), strict=True)
    )
    assert run.data.metrics["experts_3_/nfa_cos"] == 1.0
    with MlflowLog(log.run_id, tracking_uri=store) as again:
        again({"late": 2.0}, 10)
    assert again.client.get_run(log.run_id).data.metrics["late"] == 2.0


class Run:
    """A run of wandb that remembers what it was told."""

    def __init__(self):
        self.logged, self.axes, self.finished = [], {}, False

    def define_metric(self, name, step_metric=None):
        self.axes[name] = step_metric

    def log(self, values):
        self.logged.append(values)

    def finish(self):
        self.finished = True


def test_wandb_runs_have_an_axis_of_their_own(monkeypatch):
    made = []
    wandb = types.SimpleNamespace(run=None, init=lambda **options: made.append((Run(), options)) or made[-1][0])
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    with WandbLog(project="p", keys=["loss"]) as log:
        log(METRICS, 5)
    run, options = made[0]
    assert options == {"project": "p"}
    assert run.logged == [{"loss": 1.5, "monitor_step": 5}]
    assert run.axes == {"monitor_step": None, "loss": "monitor_step"}
    assert run.finished
    wandb.run = Run()
    with WandbLog(prefix="a/") as log:
        log({"loss": 2.0}, 1)
    assert wandb.run.logged == [{"a/loss": 2.0, "a/monitor_step": 1}]
    assert not wandb.run.finished
    with pytest.raises(ValueError, match="'project'"):
        WandbLog(project="other")
    assert len(made) == 1


def test_mlflow_writes_to_the_active_run_in_batches(monkeypatch):
    batches, ended = [], []
    client = types.SimpleNamespace(
        log_batch=lambda run, metrics: batches.append((run, metrics)), set_terminated=ended.append
    )
    mlflow = types.SimpleNamespace(
        MlflowClient=lambda uri: client,
        active_run=lambda: types.SimpleNamespace(info=types.SimpleNamespace(run_id="r")),
        entities=types.SimpleNamespace(Metric=lambda key, value, timestamp, step: (key, value, step)),
    )
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    with MlflowLog() as log:
        log({f"k{i}": float(i) for i in range(1500)}, 2)
    assert [(run, len(metrics)) for run, metrics in batches] == [("r", 1000), ("r", 500)]
    assert batches[1][1][-1] == ("k1499", 1499.0, 2)
    assert ended == [], "a run of the user stays open"


@pytest.mark.parametrize(
    ("make", "extra", "module"),
    [
        (lambda: TensorBoardLog("run"), "tensorboard", "torch.utils.tensorboard"),
        (WandbLog, "wandb", "wandb"),
        (MlflowLog, "mlflow", "mlflow"),
    ],
)
def test_a_missing_tracker_is_named_with_its_extra(make, extra, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'pip install "gramian\[{extra}\]"'):
        make()


def test_wrong_keys_are_explained():
    writer = types.SimpleNamespace(add_scalar=print, flush=print, close=print)
    with pytest.raises(ValueError, match=r'write keys=\["loss"\]'):
        TensorBoardLog(writer, keys="loss")
    with pytest.raises(ValueError, match=r"no measurement matches keys=\['lss'\]; there are .*loss"):
        TensorBoardLog(writer, keys=["lss"])(METRICS, 0)
