"""Samples and positions are told apart, and results do not depend on the batch size, on every architecture."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from gramian.nets import InspectOptions, inspect
from gramian.nets.feature_matrix import Unavailable
from nets.models import seeded

MATRICES = ("agop", "agop_centered", "ptk", "enfa", "fact", "vcs", "ptk_change")
TOKENS = torch.randint(0, 9, (12, 5), generator=torch.Generator().manual_seed(1))
LABELS = torch.arange(12) % 2


class Positions(nn.Module):
    """Position embeddings that all samples share, called on (T,) or (1, T) ids."""

    def __init__(self, leading=False):
        super().__init__()
        self.leading = leading
        self.tok, self.pos = nn.Embedding(9, 6), nn.Embedding(5, 6)
        self.f, self.h = nn.Linear(6, 6), nn.Linear(6, 2)

    def forward(self, ids):
        places = torch.arange(ids.shape[1])
        return self.h(torch.tanh(self.f(self.tok(ids) + self.pos(places[None] if self.leading else places))).mean(1))


class Queries(nn.Module):
    """Learned queries that are projected once for all samples."""

    def __init__(self, leading=False):
        super().__init__()
        self.leading = leading
        self.tok, self.query = nn.Embedding(9, 6), nn.Parameter(torch.randn(3, 6))
        self.q, self.k, self.h = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(18, 2)

    def forward(self, ids):
        x = self.tok(ids)
        query = self.q(self.query[None])[0] if self.leading else self.q(self.query)
        weights = (query @ self.k(x).mT).softmax(-1)
        return self.h((weights @ x).tanh().flatten(1))


class SharedSteps(nn.Module):
    """A recurrent module and a parameter on a learned sequence, which all samples share."""

    def __init__(self):
        super().__init__()
        self.tok, self.start = nn.Embedding(9, 6), nn.Parameter(torch.randn(5, 1, 4))
        self.steps, self.inner, self.h = nn.GRU(4, 3), Inner(), nn.Linear(6, 2)

    def forward(self, ids):
        places = self.inner(self.steps(self.start)[0])
        return self.h((self.tok(ids) * places.transpose(0, 1)).tanh().sum(1))


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(3, 6))

    def forward(self, x):
        return x @ self.kernel


class Mixing(nn.Module):
    """A model that centres its outputs over the batch, so that no sample can be run alone."""

    def __init__(self):
        super().__init__()
        self.inner = Positions()

    def forward(self, ids):
        f = self.inner(ids)
        return f - f.mean(0)


def measure(model, data, start, batch_size, **more):
    return inspect(model, data, "cross_entropy", weight_decay=0.1, initial=start, batch_size=batch_size, **more)


def assert_equal_reports(one, two):
    assert one.layers == two.layers
    assert one.skipped == two.skipped
    for layer in one.layers:
        for name in MATRICES:
            try:
                a = one.matrix(layer, name)
            except Unavailable:
                with pytest.raises(Unavailable):
                    two.matrix(layer, name)
                continue
            b = two.matrix(layer, name)
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * (1 + abs(a).max()), err_msg=f"{layer} {name}")
    for a, b in zip(one.rows, two.rows, strict=True):
        for name in ("target_linearity", "nc1", "nc4", "surrogate"):
            np.testing.assert_allclose(a[name], b[name], rtol=1e-7, atol=1e-10, err_msg=f"{a['layer']} {name}")


def test_results_do_not_depend_on_the_batch_size(case):
    model, X = case
    outputs = model.eval()(X)[0].numel()
    data = (X, torch.arange(len(X)) % outputs)
    start = {key: 0.5 * value for key, value in model.state_dict().items()}
    whole = measure(model, data, start, len(X))
    for batch_size in (3, 1):
        assert_equal_reports(measure(model, data, start, batch_size), whole)


@pytest.mark.parametrize(
    "build", [Positions, lambda: Positions(leading=True), Queries, lambda: Queries(leading=True), SharedSteps]
)
def test_rows_that_samples_share_are_measured_sample_by_sample(build):
    model, start = seeded(build), seeded(build, seed=3)
    alone = measure(model, (TOKENS, LABELS), start, 1)
    for batch_size in (12, 5, 4):
        assert_equal_reports(measure(model, (TOKENS, LABELS), start, batch_size), alone)


def test_projections_of_shared_rows_are_unbiased():
    model = seeded(Positions)
    exact = inspect(model, TOKENS).matrix("pos", "agop")
    options = InspectOptions(geometry=False)
    reports = [inspect(model, TOKENS, layers="pos", outputs=16, seed=s, options=options) for s in range(8)]
    found = np.mean([report.matrix("pos", "agop") for report in reports], 0)
    assert np.linalg.norm(found - exact) < 0.1 * np.linalg.norm(exact)


def test_shared_rows_of_a_model_that_mixes_samples_are_skipped():
    with pytest.warns(UserWarning, match="depends on the other samples"):
        report = inspect(seeded(Mixing), TOKENS)
    assert "shared by several samples" in report.skipped["inner.pos"]
    assert "inner.tok" in report.layers


@pytest.mark.parametrize("batch_size", [12, 16])
def test_as_many_tokens_as_samples(batch_size):
    class Sequence(nn.Module):
        def __init__(self, batch_first):
            super().__init__()
            self.batch_first = batch_first
            self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=batch_first)
            self.head = nn.Linear(8, 2)

        def forward(self, x):
            h = self.block(x) if self.batch_first else self.block(x.transpose(0, 1)).transpose(0, 1)
            return self.head(h.mean(1))

    X = torch.randn(48, 12, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    data = (X, (X[:, :, 0].mean(1) > 0).long())
    one, two = (inspect(seeded(lambda f=f: Sequence(f)), data, batch_size=batch_size) for f in (True, False))
    for a, b in zip(one.rows, two.rows, strict=True):
        assert a["target_linearity"] == pytest.approx(b["target_linearity"], rel=1e-8)


def test_a_batch_dimension_that_cannot_be_told_is_not_guessed():
    class Masked(nn.Module):
        """An argument with as many rows as samples that is no sample: one sample cannot be run alone."""

        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2)

        def forward(self, x, mix):
            return self.b(torch.tanh(self.a(mix @ x)).mean(1))

    X = torch.randn(6, 6, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    batches = [((X, torch.eye(6, dtype=torch.float64)), LABELS[:6])]
    options = InspectOptions(unpack=lambda batch: (batch[0], {}, batch[1]))
    rows = {entry["layer"]: entry for entry in inspect(seeded(Masked), batches, options=options).rows}
    assert math.isnan(rows["a"]["target_linearity"])
    assert not math.isnan(rows["b"]["target_linearity"])


def test_features_of_a_layer_that_is_called_with_a_keyword():
    class Keyword(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 2)

        def forward(self, x):
            return self.a(input=x)

    X = torch.randn(6, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert not math.isnan(inspect(seeded(Keyword), (X, LABELS[:6])).rows[0]["target_linearity"])
