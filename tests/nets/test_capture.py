"""The model is left as it was (hooks, modes, requires_grad, F.linear), and gradients are those of pre-activations."""

from collections import namedtuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gramian.nets import inspect
from gramian.nets.batches import Batch
from gramian.nets.capture import Capture
from gramian.nets.layers import find_layers
from nets.models import Block, mlp, seeded

LINEAR = F.linear


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) + len(m._backward_hooks) for m in model.modules())


def data(n=6, d=5):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def snapshot(model):
    modes = [m.training for m in model.modules()]
    grads = [(p.requires_grad, p.grad) for p in model.parameters()]
    patched = [name for name, module in model.named_modules() if "forward" in vars(module)]
    return hooks(model), modes, grads, patched, F.linear is LINEAR, torch._C._len_torch_function_stack()


def test_nothing_is_left_behind(case):
    model, X = case
    model.train()
    list(model.modules())[-1].eval()  # a mixed state must come back mixed
    next(model.parameters()).requires_grad_(False)
    before = snapshot(model)
    inspect(model, X)
    assert snapshot(model) == before


class Boom(nn.Module):
    def forward(self, x):
        raise RuntimeError("boom")


@pytest.mark.parametrize("where", ["forward", "attention", "loss", "data", "interrupt"])
def test_an_exception_leaves_no_hook(where):
    if where == "attention":
        model = seeded(Block)
        X = torch.zeros(2, 4, dtype=torch.long)
        model.block.self_attn.register_forward_pre_hook(lambda module, args: None)
        model.block.self_attn.in_proj_bias = None
        model.block.self_attn.embed_dim = 9  # makes the forward pass of attention itself fail
    else:
        model, X = seeded(mlp), data()
    if where == "forward":
        model.append(Boom())

    def loss(f, y):
        raise (KeyboardInterrupt if where == "interrupt" else RuntimeError)("boom")

    def stream():
        yield X, X[:, :3]
        raise RuntimeError("boom")

    before = snapshot(model)
    source = stream() if where == "data" else (X, X[:, :3])
    with pytest.raises((RuntimeError, AssertionError, KeyboardInterrupt)):
        inspect(model, source, loss if where in ("loss", "interrupt") else None)
    assert snapshot(model) == before


def test_an_error_while_registering_leaves_no_hook(monkeypatch):
    model = seeded(mlp)
    layers, _ = find_layers(model)
    calls = iter([True, False])
    original = nn.Module.register_forward_hook

    def failing(self, *args, **kwargs):
        if next(calls):
            return original(self, *args, **kwargs)
        raise RuntimeError("no more hooks")

    monkeypatch.setattr(nn.Module, "register_forward_hook", failing)
    model.train()
    with pytest.raises(RuntimeError, match="no more hooks"), Capture(model, layers):
        pass
    assert hooks(model) == 0
    assert model.training


def test_in_place_activation_gives_the_pre_activation_gradient():
    a = seeded(lambda: nn.Sequential(nn.Linear(5, 7), nn.ReLU(inplace=True), nn.Linear(7, 2)))
    b = seeded(lambda: nn.Sequential(nn.Linear(5, 7), nn.ReLU(inplace=False), nn.Linear(7, 2)))
    one, two = inspect(a, data()), inspect(b, data())
    np.testing.assert_array_equal(one.matrix("0", "ptk"), two.matrix("0", "ptk"))


def test_batch_norm_and_dropout_run_in_eval_mode():
    model = seeded(
        lambda: nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Dropout(0.5), nn.Linear(7, 2))
    )
    model.train()
    running = model[1].running_mean.clone()
    together, alone = inspect(model, data(), batch_size=6), inspect(model, data(), batch_size=1)
    np.testing.assert_allclose(together.matrix("0", "agop"), alone.matrix("0", "agop"), rtol=1e-10)
    assert torch.equal(model[1].running_mean, running)
    assert "no weight matrix" in together.skipped["1"]


def test_frozen_model_is_measured():
    free, frozen = seeded(mlp), seeded(mlp).requires_grad_(False)
    np.testing.assert_array_equal(
        inspect(free, data()).matrix("0", "agop"), inspect(frozen, data()).matrix("0", "agop")
    )
    assert not any(p.requires_grad for p in frozen.parameters())


def test_works_under_no_grad_and_checkpointing():
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp()

        def forward(self, x):
            return torch.utils.checkpoint.checkpoint(self.net, x, use_reentrant=False)

    import torch.utils.checkpoint

    plain = inspect(seeded(mlp), data())
    with torch.no_grad():
        report = inspect(seeded(Checkpointed), data())
    np.testing.assert_allclose(report.matrix("net.0", "agop"), plain.matrix("0", "agop"), rtol=1e-12)


def test_reentrant_checkpointing_is_refused_with_the_way_out():
    import torch.utils.checkpoint

    class Reentrant(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.net = nn.Linear(5, 5), mlp()

        def forward(self, x):
            return torch.utils.checkpoint.checkpoint(self.net, self.first(x), use_reentrant=True)

    with pytest.raises(ValueError, match="use_reentrant=False"):
        inspect(seeded(Reentrant), data())


def test_tied_weights_have_the_whole_gradient():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.last = nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, 3)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.last(torch.tanh(self.b(torch.tanh(self.a(x)))))

    model, y = seeded(Tied), data(6, 3)
    report = inspect(model, (data(), y), "mse", weight_decay=0.1)
    G = torch.autograd.grad(F.mse_loss(model(data()), y), model.a.weight)[0]
    for layer in ("a", "b"):
        np.testing.assert_allclose(
            report.matrix(layer, "fact"), -(model.a.weight.mT @ G).detach().numpy() / 0.1, rtol=1e-10
        )
        with pytest.raises(ValueError, match=r"tied to '[ab]'"):
            report.matrix(layer, "vcs")
    assert report.matrix("last", "vcs").shape == (5, 5)
    start = {key: 0.5 * value for key, value in model.state_dict().items()}
    changed = inspect(model, data(), initial=start)
    half = (0.75 * model.a.weight.mT @ model.a.weight).detach().numpy()
    np.testing.assert_allclose(changed.matrix("b", "nfm_change"), half, rtol=1e-10)
    assert changed.rows[0]["double_centered_nfa_cos"] > 0


class Centred(nn.Module):
    def forward(self, x):
        return x - x.mean(0)


def batch_statistics(width):
    return nn.BatchNorm1d(width, track_running_stats=False)


@pytest.mark.parametrize(
    "build",
    [
        lambda: nn.Sequential(nn.Linear(5, 7), Centred(), nn.ReLU(), nn.Linear(7, 2)),
        lambda: nn.Sequential(Centred(), nn.Linear(5, 2)),
        # These fail on one sample alone.
        lambda: nn.Sequential(nn.Linear(5, 7), batch_statistics(7), nn.ReLU(), nn.Linear(7, 2)),
        lambda: nn.Sequential(batch_statistics(5), nn.Linear(5, 2)),
    ],
)
def test_models_that_mix_samples_are_measured_with_a_warning(build):
    with pytest.warns(UserWarning, match="depends on the other samples of its batch"):
        inspect(seeded(build), data())


class Random(nn.Module):
    def __init__(self, draw):
        super().__init__()
        self.a, self.draw = nn.Linear(5, 2), draw

    def forward(self, x):
        return self.a(x + self.draw(x))


class AtLeastTwo(nn.Module):
    def forward(self, x):
        assert len(x) > 1
        return x


NUMPY = np.random.default_rng(0)  # a generator that inspect cannot set back


@pytest.mark.parametrize(
    "build",
    [
        mlp,
        lambda: nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Dropout(0.5), nn.Linear(7, 2)).train(),
        lambda: nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 2)),
        lambda: Random(torch.randn_like),
        lambda: Random(lambda x: F.dropout(x, 0.5, training=True)),
        lambda: Random(lambda x: torch.as_tensor(NUMPY.normal(size=x.shape))),
        lambda: nn.Sequential(AtLeastTwo(), nn.Linear(5, 2)),
    ],
)
def test_models_that_do_not_mix_samples_are_measured_without_a_warning(build, recwarn):
    inspect(seeded(build), data())
    assert not [one for one in recwarn if "other samples" in str(one.message)]


class SecondMixed(nn.Module):
    """Batch statistics of the second argument only, after a mask."""

    def __init__(self):
        super().__init__()
        self.a, self.norm, self.head = nn.Linear(5, 4), batch_statistics(4), nn.Linear(4, 2)

    def forward(self, mask, x):
        return self.head(self.norm(self.a(x)).relu() * mask[:, :1])


def test_mixing_through_a_later_argument_is_found():
    batch = {"mask": torch.ones(6, 3), "x": data()}
    with pytest.warns(UserWarning, match="depends on the other samples of its batch"):
        inspect(seeded(SecondMixed), [batch | {"mask": batch["mask"].double()}])


class Memory(nn.Module):
    """Attends to a memory that all samples share, the first argument."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 2)

    def forward(self, memory, x):
        return self.a((x @ memory.mT).softmax(1) @ memory)


class Trimmed(nn.Module):
    """Cuts padding off at the longest text of the batch."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(10, 4, padding_idx=0), nn.Linear(4, 2)

    def forward(self, ids):
        return self.head(self.embed(ids[:, : int((ids != 0).sum(1).max())]))


def test_a_memory_with_as_many_rows_as_samples_and_trimmed_texts_are_no_mixing(recwarn):
    inspect(seeded(Memory), [{"memory": data(), "x": data()}])
    ids = torch.randint(1, 10, (6, 7), generator=torch.Generator().manual_seed(0))
    ids[0, 3:] = 0
    inspect(seeded(Trimmed), ids, outputs=8)
    assert not [one for one in recwarn if "other samples" in str(one.message)]


Pair = namedtuple("Pair", "x")


def test_a_named_tuple_that_is_changed_in_place_is_left_as_it_was():
    class Changing(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(5, 2)

        def forward(self, pair):
            pair.x.sub_(1)
            return self.a(pair.x)

    X = data()
    inspect(seeded(Changing), [(Pair(X), data(6, 2))])
    assert torch.equal(X, data())


def test_inputs_are_copied_only_as_long_as_the_model_may_change_them(monkeypatch):
    copies = []
    monkeypatch.setattr(Batch, "copied", lambda batch, copied=Batch.copied: copies.append(batch.size) or copied(batch))
    inspect(seeded(mlp), data(), batch_size=2)
    assert copies == [1, 2]
    inspect(seeded(lambda: Shifted(True)), data(), batch_size=2)
    assert copies == [1, 2, 1, 2, 2, 2]


class Shifted(nn.Module):
    def __init__(self, in_place):
        super().__init__()
        self.in_place, self.a = in_place, nn.Linear(5, 2)

    def forward(self, x):
        if self.in_place:
            x -= 1.0
        else:
            x = x - 1.0
        return self.a(x).tanh()


@pytest.mark.parametrize("form", ["tensor", "array", "batches"])
def test_a_forward_that_changes_its_input_leaves_the_data_as_they_were(form):
    X, Y = data(), data(6, 2)
    before = X.clone()
    given = {"tensor": (X, Y), "array": (X.numpy(), Y.numpy()), "batches": [(X[:4], Y[:4]), (X[4:], Y[4:])]}[form]
    one, two = seeded(lambda: Shifted(True)), seeded(lambda: Shifted(False))
    report = inspect(one, given, "mse", initial=one.state_dict(), batch_size=4)
    assert torch.equal(X, before)
    expected = inspect(two, (X, Y), "mse", initial=two.state_dict())
    for name in ("agop", "enfa", "vcs", "ptk_change"):
        np.testing.assert_allclose(report.matrix("a", name), expected.matrix("a", name), rtol=1e-10, atol=1e-15)
    assert report.rows[0]["target_linearity"] == pytest.approx(expected.rows[0]["target_linearity"])
