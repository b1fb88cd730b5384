"""The generator of rounds, their records as a sequence and as a table, and the evolution of M over the rounds."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import gramian
import twins
from gramian import RFMRegressor
from gramian.core.rows import Rows
from gramian.display import format_number, typographic_minus
from gramian.features import Agop
from gramian.kernels import Gaussian, Identity, Laplace, as_metric
from gramian.rfm import TreePartition
from gramian.rfm.training.rounds import Evolution, Round, rounds, solve_fully
from gramian.rfm.training.tuning import FixedParams
from gramian.solvers import ConjugateGradient, Nystrom, Workspace
from small_training import make_candidate, make_rows, make_run, naive_coef


def table(n=80, d=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] * X[:, 1] + X[:, 2]


@pytest.fixture(scope="module")
def regressor():
    return RFMRegressor(kernel="gaussian", update="agop", n_rounds=2).fit(*table())


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
    model = RFMRegressor(**options).fit(*table(120))
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
    X, y = table(60, 700)
    model = RFMRegressor(preset="fast", n_rounds=2, select_round="last").fit(X, y)
    size = sum(getattr(model.evolution_, name).nbytes for name in ("columns", "diagonals", "blocks", "cosines"))
    assert size < 0.01 * model.feature_matrix_.nbytes


def naive_rounds(data, kernel, ridge, n_rounds):
    """Kernel ridge regression and AGOP in turn, one pair of rows at a time in float64, gradients by autograd."""
    M = torch.eye(data.X.shape[1], dtype=torch.float64)
    out = []
    for _ in range(n_rounds + 1):
        K = twins.matrix(kernel, M, data.X, data.X)
        coef = torch.linalg.solve(K + ridge * torch.eye(len(data), dtype=torch.float64), data.Y)
        out.append((M, coef))
        A = twins.agop(twins.gradients(kernel, M, data.X, data.X, coef))
        M = A / A.max()
    return out


class TestGenerator:
    @pytest.mark.parametrize("kernel", [Laplace(2.0), Gaussian(2.0)], ids=str)
    def test_rounds_are_kernel_ridge_regression_and_agop_in_turn(self, kernel):
        data = make_rows(20, outputs=2)
        expected = naive_rounds(data, kernel, 1e-2, 2)
        found = list(rounds(make_candidate(kernel=kernel, n_rounds=2), data, FixedParams(1e-2)))
        assert [record.index for record, _ in found] == [0, 1, 2]
        for (record, machine), (M, coef) in zip(found, expected, strict=True):
            torch.testing.assert_close(machine.matrix(), M, rtol=1e-6, atol=1e-8)
            torch.testing.assert_close(machine.coef, coef, rtol=1e-5, atol=1e-6)
            assert record.ridge == 1e-2
            assert record.residual < 1e-6
            assert record.bytes > 0
            assert record.seconds > 0
            assert np.isnan(record.score)
            assert np.isnan(record.loo)

    def test_round_0_with_a_weight_of_two_is_a_repeated_row(self):
        data = make_rows(20)
        weights = torch.ones(20, dtype=torch.float64)
        weights[:5] = 2
        heavy = make_run(Rows(data.X, data.Y, weights), make_candidate(n_rounds=0)).machines[0]
        repeated = torch.cat([torch.arange(20), torch.arange(5)])
        twice = make_run(data[repeated], make_candidate(n_rounds=0)).machines[0]
        new = make_rows(10, seed=1).X
        torch.testing.assert_close(heavy.predict(new), twice.predict(new), rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize("done", [1, 2, 3, 4])
    def test_rounds_that_exist_are_yielded_first_and_continued_to_the_same_bits(self, done):
        data, candidate = make_rows(40), make_candidate(n_rounds=3, update=Agop(max_rows=20))
        whole = list(rounds(candidate, data, FixedParams(1e-2)))
        resumed = list(rounds(candidate, data, FixedParams(1e-2), done=whole[:done]))
        assert resumed[:done] == whole[:done]
        for (_, one), (_, other) in zip(whole, resumed, strict=True):
            assert torch.equal(one.coef, other.coef)
            assert torch.equal(one.matrix(), other.matrix())

    def test_a_constant_predictor_ends_the_rounds(self, caplog):
        data = make_rows(20)
        with caplog.at_level("INFO"):
            found = list(rounds(make_candidate(n_rounds=3), Rows(data.X, 0 * data.Y), FixedParams(1e-2)))
        assert len(found) == 1
        assert "the predictor is constant" in caplog.text

    def test_features_that_are_not_finite_end_the_rounds(self, caplog):
        @dataclass(frozen=True)
        class Broken(Agop):
            def __call__(self, source, rng):
                return super().__call__(source, rng) * float("nan")

        found = list(rounds(make_candidate(n_rounds=3, update=Broken()), make_rows(20), FixedParams(1e-2)))
        assert len(found) == 1
        assert "gave entries that are not finite" in caplog.text

    def test_the_rows_of_an_average_depend_on_seed_and_round(self):
        data = make_rows(40)
        some = Agop(max_rows=5)
        one, same, other = (
            make_run(data, make_candidate(update=some, seed=seed)).machines[1].matrix() for seed in (0, 0, 1)
        )
        assert torch.equal(one, same)
        assert not torch.equal(one, other)

    def test_rounds_share_the_rows_and_hold_no_copy_of_them(self):
        data = make_rows(20)
        run = make_run(data)
        assert all(machine.X is data.X for machine in run.machines)
        assert len(pickle.dumps(run.machines[0])) < 3 * data.X.numel() * 8 + 5000


ROUGH = ConjugateGradient(tol=1e-2, preconditioner_rank=20)
EXACT = ConjugateGradient(tol=1e-8, preconditioner_rank=40)


class TestSolvers:
    """Rounds that only learn M are solved as well as M needs it; the selected round is solved to the end."""

    def test_one_solver_for_all_rounds_solves_all_of_them_to_the_end(self):
        run = make_run(make_rows(200), make_candidate(n_rounds=2, solver=EXACT, feature_solver=EXACT))
        assert all(record.residual <= 1e-8 for record in run.records)

    def test_only_the_last_round_is_solved_to_the_end(self):
        run = make_run(make_rows(200), make_candidate(n_rounds=3, solver=EXACT, feature_solver=ROUGH))
        assert [record.residual <= 1e-8 for record in run.records] == [False, False, False, True]
        assert all(record.residual <= 1e-2 for record in run.records)

    def test_a_round_before_the_last_is_solved_to_the_end_from_its_coefficients(self):
        data = make_rows(200)
        candidate = make_candidate(n_rounds=2, solver=EXACT, feature_solver=ROUGH)
        run = make_run(data, candidate)
        step = run.records[1], run.machines[1]
        record, machine = solve_fully(candidate, data, run.path[1], step, Workspace())
        torch.testing.assert_close(machine.coef, naive_coef(machine, data, 1e-2), atol=1e-5, rtol=1e-5)
        assert torch.equal(machine.matrix(), run.machines[1].matrix())
        assert record.index == 1
        assert record.seconds > step[0].seconds
        assert record.residual <= 1e-8
