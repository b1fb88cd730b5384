"""Records of rounds as a sequence and as a table, and the evolution of M over the rounds."""

import numpy as np
import pytest
import torch

import gramian
from gramian import RFMRegressor
from gramian.display import format_number, typographic_minus
from gramian.kernels import Identity, as_metric
from gramian.rfm import TreePartition
from gramian.rfm.training.rounds import Evolution, Round
from gramian.solvers import Nystrom


def rows(n=80, d=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] * X[:, 1] + X[:, 2]


@pytest.fixture(scope="module")
def regressor():
    return RFMRegressor(kernel="gaussian", update="agop", n_rounds=2).fit(*rows())


class TestRecords:
    def test_they_are_a_sequence(self, regressor):
        records = regressor.rounds_
        assert len(records) == 3
        assert [r.index for r in records] == [0, 1, 2]
        assert isinstance(records[-1], Round)
        assert records[:2] == (records[0], records[1])
        assert records[0] in records

    def test_every_round_is_displayed(self, regressor):
        html, words = regressor.rounds_._repr_html_(), str(regressor.rounds_)
        for record in regressor.rounds_:
            assert f"<td>{typographic_minus(format_number(record.score))}</td>" in html
            assert format_number(record.score) in words
        assert html.count('class="bar"') == 3

    def test_one_record_is_a_table_of_one_line(self, regressor):
        record = regressor.rounds_[1]
        assert "round 1" in str(record)
        assert record.status in record._repr_html_()
        assert repr(record).startswith("Round(index=1")

    def test_a_frame_has_one_line_per_round(self, regressor):
        frame = regressor.rounds_.to_pandas()
        assert frame.loc[1, "ridge"] == regressor.rounds_[1].ridge


def test_the_evolution_is_that_of_the_whole_matrices():
    rng = torch.Generator().manual_seed(0)
    factors = [torch.randn(40, 40, generator=rng, dtype=torch.float64) for _ in range(3)]
    metrics = [Identity(40), *(as_metric(F @ F.mT) for F in factors)]
    found = Evolution.of(metrics, metrics[2])
    whole = [metric.matrix().numpy() for metric in metrics]
    whole = [M / np.trace(M) for M in whole]
    assert found.diagonals == pytest.approx(np.stack([np.diag(M) for M in whole]), rel=1e-5)
    assert len(found.columns) == 24
    best = np.max([np.diag(M) for M in whole[1:]], axis=0)
    assert set(found.columns.tolist()) == set(np.argsort(-best)[:24].tolist())
    for block, M in zip(found.blocks, whole, strict=True):
        assert block == pytest.approx(M[np.ix_(found.columns, found.columns)], rel=1e-5, abs=1e-9)
    wanted = [np.sum(M * whole[2]) / np.linalg.norm(M) / np.linalg.norm(whole[2]) for M in whole]
    assert found.cosines == pytest.approx(wanted, rel=1e-5)
    assert found.diagonals.dtype == found.blocks.dtype == np.float32


def test_the_evolution_of_identities_shows_the_first_columns():
    found = Evolution.of([Identity(30)], Identity(30), most=4)
    assert found.columns.tolist() == [0, 1, 2, 3]
    assert found.cosines.tolist() == [1.0]


@pytest.mark.parametrize(
    "options",
    [
        {"preset": "fast"},
        {"n_rounds": 2, "feature_threshold": 0.1, "kernel": "laplace", "update": "agop", "select_round": "last"},
        {"n_rounds": 1, "solver": Nystrom(centers=40), "kernel": "laplace", "update": "agop"},
        {"n_rounds": 1, "solver": TreePartition(leaf_rows=40), "kernel": "laplace", "update": "agop"},
    ],
)
def test_every_way_to_fit_records_the_evolution_and_files_store_it(tmp_path, options):
    model = RFMRegressor(**options).fit(*rows(120))
    found = model.evolution_
    assert len(found.diagonals) == len(found.blocks) == len(found.cosines) == len(model.rounds_)
    M = model.feature_matrix_ / np.trace(model.feature_matrix_)
    assert found.diagonals[model.best_round_] == pytest.approx(np.diag(M), rel=1e-4, abs=1e-6)
    assert found.cosines[model.best_round_] == pytest.approx(1.0, rel=1e-5)
    model.save(tmp_path / "m.gramian")
    same = gramian.load(tmp_path / "m.gramian").evolution_
    assert (same.blocks == found.blocks).all()
    assert (same.diagonals == found.diagonals).all()


def test_the_evolution_is_small():
    X, y = rows(60, 700)
    model = RFMRegressor(preset="fast", n_rounds=2, select_round="last").fit(X, y)
    size = sum(getattr(model.evolution_, name).nbytes for name in ("columns", "diagonals", "blocks", "cosines"))
    assert size < 0.01 * model.feature_matrix_.nbytes
