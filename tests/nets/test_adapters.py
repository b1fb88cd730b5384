"""Adapters of the monitor: stand-ins for the frameworks, and the true trainers where they are installed."""

import copy
import json
import logging
import sys
import types
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from gramian.nets import Monitor
from gramian.nets.adapters import lightning_callback, trainer_callback
from nets.models import mlp, seeded

EPOCHS, BATCH = 3, 8
X = torch.randn(32, 5, generator=torch.Generator().manual_seed(0))
LABELS = X[:, :3].argmax(1)
ARGS = types.SimpleNamespace(max_grad_norm=1.0)


@pytest.fixture(autouse=True)
def quiet():
    """The trainers seed and use torch's generator, and have much to say about processors and workers."""
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")
        yield


def network():
    return seeded(mlp, dtype=torch.float32)


def watch(model, **options):
    return Monitor(model, (X, LABELS), "cross_entropy", vcs="full", **options)


def plain_loop(model, monitor, optimizer, epochs=EPOCHS):
    """The work of the trainers in five lines: the twin."""
    for _ in range(epochs):
        for x, y in zip(X.split(BATCH), LABELS.split(BATCH), strict=True):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            monitor.step()
            optimizer.step()


def same_history(found, expected):
    assert found.steps == expected.steps
    for one, two in zip(found.history, expected.history, strict=True):
        assert one.keys() == two.keys()
        assert one == pytest.approx(two, rel=1e-4, abs=1e-6)


@pytest.fixture
def lightning():
    found = pytest.importorskip("lightning.pytorch")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    return found


def trainer_of(lightning, folder, callback, logger, **options):
    return lightning.Trainer(
        max_epochs=EPOCHS, accelerator="cpu", devices=1, callbacks=[callback], logger=logger, default_root_dir=folder,
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False, log_every_n_steps=1,
        **options,
    )  # fmt: skip


def lit(lightning, optimizers):
    class Lit(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = network()
            self.loss = torch.nn.CrossEntropyLoss()

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, _):
            return self.loss(self(batch[0]), batch[1])

        def configure_optimizers(self):
            return optimizers(self)

    return Lit()


def sgd(module):
    return torch.optim.SGD(module.parameters(), lr=0.1, weight_decay=1e-2)


def batches():
    return DataLoader(TensorDataset(X, LABELS), batch_size=BATCH)


def test_lightning_measures_what_a_plain_loop_does(lightning, tmp_path):
    module = lit(lightning, sgd)
    monitor = watch(module, every=4)
    logger = lightning.loggers.CSVLogger(tmp_path)
    trainer_of(lightning, tmp_path, lightning_callback(monitor), logger).fit(module, batches())

    twin = lit(lightning, sgd)
    expected = watch(twin, every=4, optimizer=sgd(twin))
    plain_loop(twin, expected, expected.optimizer)
    assert monitor.steps == [0, 4, 8]
    assert "net.0/fact_cos" in monitor.metrics  # the optimiser was found
    same_history(monitor, expected)
    np.testing.assert_allclose(monitor.vcs("net.0"), expected.vcs("net.0"), rtol=1e-4, atol=1e-7)
    assert module.training
    assert not any(part._forward_hooks for part in module.modules())

    pandas = pytest.importorskip("pandas")
    logged = pandas.read_csv(tmp_path / "lightning_logs/version_0/metrics.csv")
    assert logged["step"].tolist() == monitor.steps
    assert logged["net.0/c_nfa_cos"].tolist()[1:] == pytest.approx(monitor.series("net.0/c_nfa_cos")[1:])


def test_lightning_with_accumulated_gradients_counts_optimiser_steps(lightning, tmp_path):
    module = lit(lightning, sgd)
    monitor = watch(module, every=100)
    trainer = trainer_of(lightning, tmp_path, lightning_callback(monitor), False, accumulate_grad_batches=2)
    trainer.fit(module, batches())
    assert monitor.count == trainer.global_step == EPOCHS * 2


def test_lightning_with_two_optimisers_follows_the_one_it_was_given(lightning, tmp_path):
    module = lit(lightning, lambda m: [torch.optim.SGD(m.net[0].parameters(), lr=0.1), sgd(m.net[2])])
    module.automatic_optimization = False

    def training_step(batch, *_):
        for optimizer in module.optimizers():
            optimizer.zero_grad()
            module.manual_backward(F.cross_entropy(module(batch[0]), batch[1]))
            optimizer.step()

    module.training_step = training_step
    monitor = watch(module, every=100)
    start = copy.deepcopy(module.net[0].weight.detach())
    trainer_of(lightning, tmp_path, lightning_callback(monitor), False).fit(module, batches())
    assert monitor.count == EPOCHS * len(X) // BATCH
    change = (module.net[0].weight.mT @ module.net[0].weight - start.mT @ start).detach().numpy()
    assert np.linalg.norm(monitor.vcs("net.0") - change) < 0.2 * np.linalg.norm(change)


def bert():
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=23, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12,
        max_position_embeddings=8, num_labels=3, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    return seeded(lambda: transformers.BertForSequenceClassification(config), dtype=torch.float32)


def sentences():
    ids = torch.randint(0, 23, (32, 6), generator=torch.Generator().manual_seed(1))
    rows = [
        {"input_ids": i, "attention_mask": torch.ones_like(i), "labels": label}
        for i, label in zip(ids, ids[:, 0] % 3, strict=True)
    ]
    probe = {key: torch.stack([row[key] for row in rows]) for key in rows[0]}
    return rows, [probe]


def hugging_face(monkeypatch, folder, model, rows, callback, **options):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    # tests/datasets is on the path, and would pass for Hugging Face's own package of that name.
    monkeypatch.setattr("transformers.trainer.is_datasets_available", lambda: False)
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH, report_to=[],
        logging_steps=1, save_strategy="no", disable_tqdm=True, use_cpu=True, max_grad_norm=0, **options,
    )  # fmt: skip
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=rows, callbacks=[callback])
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return trainer


def test_hugging_face_trainer_with_sgd_sums_the_change_of_the_weights(tmp_path, monkeypatch):
    model, (rows, probe) = bert(), sentences()
    name = "bert.encoder.layer.0.intermediate.dense"
    monitor = Monitor(model, probe, "model", every=4, vcs="full", outputs="all")
    start = monitor.initial[f"{name}.weight"].clone()
    trainer = hugging_face(
        monkeypatch, tmp_path, model, rows, trainer_callback(monitor),
        optim="sgd", learning_rate=1e-2, lr_scheduler_type="constant", weight_decay=0.0,
    )  # fmt: skip
    assert monitor.steps == [0, 4, 8]
    assert monitor.count == trainer.state.global_step == 12
    now = dict(model.named_parameters())[f"{name}.weight"].detach()
    change = (now.mT @ now - start.mT @ start).double().numpy()
    assert np.linalg.norm(monitor.vcs(name) - change) < 0.02 * np.linalg.norm(change)

    entries = [entry for entry in trainer.state.log_history if f"{name}/nfa_cos" in entry]
    assert [entry["step"] for entry in entries] == monitor.steps
    assert entries[-1][f"{name}/c_nfa_cos"] == monitor.metrics[f"{name}/c_nfa_cos"]
    trainer.save_state()
    saved = json.loads((tmp_path / "trainer_state.json").read_text())
    assert len(saved["log_history"]) == len(trainer.state.log_history)


def test_hugging_face_trainer_with_its_own_adamw_has_fact_once_there_is_state(tmp_path, monkeypatch):
    model, (rows, probe) = bert(), sentences()
    monitor = Monitor(model, probe, "model", every=2, outputs="all")
    trainer = hugging_face(
        monkeypatch, tmp_path, model, rows, trainer_callback(monitor),
        learning_rate=1e-3, weight_decay=1e-2, gradient_accumulation_steps=2,
    )  # fmt: skip
    assert isinstance(monitor.optimizer, torch.optim.AdamW)
    assert monitor.count == trainer.state.global_step == 6
    assert "classifier/fact_cos" not in monitor.history[0]
    assert "classifier/fact_cos" in monitor.history[1]
    assert model.training


@pytest.mark.parametrize("framework", ["lightning", "transformers"])
def test_adapters_step_the_monitor(framework, monkeypatch):
    """The frameworks are extras: what is tested is that their hook reaches the monitor, through a stand-in
    base class."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = Monitor(model, (X, LABELS), "cross_entropy", every=1)
    F.cross_entropy(model(X), LABELS).backward()
    base = type("Base", (), {"on_pre_optimizer_step": None})
    if framework == "lightning":
        monkeypatch.setitem(sys.modules, "lightning.pytorch.callbacks", types.SimpleNamespace(Callback=base))
        logged = []
        logger = types.SimpleNamespace(log_metrics=lambda metrics, step: logged.append((step, metrics)))
        callback = lightning_callback(monitor)
        callback.on_before_optimizer_step(types.SimpleNamespace(loggers=[logger], global_step=7), None, optimizer)
        assert logged[0][0] == 7
        assert logged[0][1] == monitor.metrics
    else:
        monkeypatch.setitem(sys.modules, "transformers", types.SimpleNamespace(TrainerCallback=base))
        state = types.SimpleNamespace(log_history=[], global_step=7)
        callback = trainer_callback(monitor)
        callback.on_pre_optimizer_step(ARGS, state, None, optimizer=optimizer)
        assert state.log_history[0]["step"] == 7
    assert isinstance(callback, base)
    assert monitor.count == 1
    assert monitor.optimizer is optimizer


@pytest.mark.parametrize("framework", ["lightning", "transformers"])
def test_a_step_that_a_scaler_leaves_out_adds_no_shift(framework, monkeypatch):
    """Both frameworks have divided by the scale when they call, and overflows of 16-bit training are still there."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = watch(model, every=100, optimizer=optimizer)
    base = type("Base", (), {"on_pre_optimizer_step": None})
    monkeypatch.setitem(sys.modules, "lightning.pytorch.callbacks", types.SimpleNamespace(Callback=base))
    monkeypatch.setitem(sys.modules, "transformers", types.SimpleNamespace(TrainerCallback=base))
    trainer = types.SimpleNamespace(loggers=[], precision_plugin=types.SimpleNamespace(scaler=object()))
    state = types.SimpleNamespace(log_history=[], global_step=0)
    wrapped = types.SimpleNamespace(optimizer=optimizer, scaler=object())
    shifts = []
    for factor in (1.0, float("inf")):
        optimizer.zero_grad()
        (factor * F.cross_entropy(model(X), LABELS)).backward()
        if framework == "lightning":
            lightning_callback(monitor).on_before_optimizer_step(trainer, None, optimizer)
        else:
            trainer_callback(monitor).on_pre_optimizer_step(ARGS, state, None, optimizer=wrapped)
        shifts.append(monitor.vcs("0"))
    assert np.isfinite(shifts[0]).all()
    np.testing.assert_array_equal(shifts[1], shifts[0])


def test_adapters_say_what_is_missing(monkeypatch):
    for name in ("lightning.pytorch.callbacks", "pytorch_lightning.callbacks", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    monitor = Monitor(network(), X)
    with pytest.raises(ImportError, match="pip install lightning"):
        lightning_callback(monitor)
    with pytest.raises(ImportError, match="pip install transformers"):
        trainer_callback(monitor)
    old = types.SimpleNamespace(TrainerCallback=type("TrainerCallback", (), {}))
    monkeypatch.setitem(sys.modules, "transformers", old)
    with pytest.raises(ImportError, match=r"4\.46 or newer"):
        trainer_callback(monitor)


@pytest.mark.parametrize("norm", [1.0, 0.0])
def test_the_scale_of_a_trainer_that_does_not_clip_is_left_out(norm, monkeypatch):
    base = type("Base", (), {"on_pre_optimizer_step": None})
    monkeypatch.setitem(sys.modules, "transformers", types.SimpleNamespace(TrainerCallback=base))
    shifts = []
    for scale in (1.0, 1024.0):
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        monitor = watch(model, every=100, optimizer=optimizer)
        # Where the trainer clips gradients, it has divided by the scale.
        (F.cross_entropy(model(X), LABELS) * (1.0 if norm else scale)).backward()
        wrapped = types.SimpleNamespace(optimizer=optimizer, scaler=types.SimpleNamespace(get_scale=lambda s=scale: s))
        args, state = types.SimpleNamespace(max_grad_norm=norm), types.SimpleNamespace(log_history=[], global_step=0)
        trainer_callback(monitor).on_pre_optimizer_step(args, state, None, optimizer=wrapped)
        shifts.append(monitor.vcs("0"))
    np.testing.assert_allclose(shifts[1], shifts[0], rtol=1e-5)
