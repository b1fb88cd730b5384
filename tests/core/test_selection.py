"""Selection by predictions of held-out rows: race, best round, and the shares of an average, against plain numpy."""

import numpy as np
import pytest
import torch

from gramian.core.rows import Rows
from gramian.core.selection import (
    Member,
    RoundPredictions,
    RunComparison,
    Selection,
    average_predictions,
    blend,
    mean_error,
    race,
    row_errors,
    select,
)


def compare(outputs, Y, weights=None):
    """The comparison of predictors ``(t, m, c)`` of all rows."""
    rows = torch.arange(len(Y))
    return RunComparison.of([[RoundPredictions(rows, run, weights)] for run in outputs], Y)


def of_errors(errors, weights=None, selectable=None):
    """The comparison of runs with these errors ``(t, m)``; predictions do not matter for the test."""
    weights = [torch.ones(e.shape[1], dtype=e.dtype) for e in errors] if weights is None else weights
    kept = range(len(errors)) if selectable is None else selectable
    return RunComparison(errors, weights, [], tuple(kept))


def with_errors(errors, Y, rng):
    """Outputs whose squared errors are these: a residual of either sign for each row."""
    signs = torch.from_numpy(rng.choice([-1.0, 1.0], size=errors.shape))
    return (Y[:, 0] + signs * errors.sqrt())[:, :, None]


NO_TARGETS = torch.zeros(0, 1)
"""Targets are only used where several runs may be averaged."""


class TestRace:
    def errors(self, *behind, rows=100):
        """Runs of one round whose errors exceed the first's by so many standard errors of the difference."""
        gap = torch.randn(rows, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        gap = (gap - gap.mean()) / float(gap.std(unbiased=False))
        best = torch.full((1, rows), 0.5, dtype=torch.float64)
        runs = [best, *(best + gap + times / rows**0.5 for times in behind)]
        return of_errors(runs)

    def test_runs_two_standard_errors_behind_the_best_are_left_behind(self):
        assert race(self.errors(1.0, 2.05, 1.95, 5.0), NO_TARGETS) == [0, 1, 3]

    def test_a_run_that_is_nearly_as_good_is_not_left_behind_however_clear_the_difference_is(self):
        """An average of two predictors may be better than both, if one is not much worse."""
        runs = [torch.full((1, 50), error) for error in (1.0, 1.09, 1.11)]
        assert race(of_errors(runs), NO_TARGETS) == [0, 1]

    def test_the_best_round_of_a_run_counts_or_the_last_if_that_is_selected(self):
        good, bad = torch.full((1, 50), 1.0), torch.full((1, 50), 3.0)
        runs = [torch.cat([bad, good]), torch.cat([good, bad])]
        comparison = of_errors(runs)
        assert race(comparison, NO_TARGETS) == [0, 1]
        assert race(comparison, NO_TARGETS, last=True) == [0]

    def test_rows_count_by_their_weights(self):
        good, bad = torch.tensor([[1.0, 9.0]]), torch.tensor([[2.0, 1.0]])
        weights = torch.tensor([1.0, 0.0])
        assert race(of_errors([good, bad], [weights] * 2), NO_TARGETS) == [0]

    def test_the_order_of_runs_does_not_matter(self):
        comparison = self.errors(1.0, 2.05, 1.95)
        back = of_errors(comparison.errors[::-1])
        assert race(comparison, NO_TARGETS) == sorted(3 - run for run in race(back, NO_TARGETS))

    def test_a_run_whose_errors_cancel_those_of_the_best_goes_on_where_several_may_be_averaged(self):
        """The third has 30 times the error of the first: opposite errors help, equal ones do not."""
        rng = torch.Generator().manual_seed(0)
        Y = torch.randn(400, 1, generator=rng, dtype=torch.float64)
        noise, other = torch.randn(2, 400, 1, generator=rng, dtype=torch.float64)
        best = Y + 0.2 * noise
        same, opposite = Y + 1.1 * noise + other, Y - 1.1 * noise
        comparison = compare([best[None], same[None], opposite[None]], Y)
        assert race(comparison, Y) == [0]
        assert race(comparison, Y, most=4) == [0, 2]
        members = select(comparison, Y, most=4).members
        assert sorted(member.run for member in members) == [0, 2]
        assert [member.run for member in select(comparison, Y).members] == [0]


class TestUsefulRuns:
    def runs(self, *, rows=400):
        """Four runs with one error in common, and a fifth that is worse and has an error of its own."""
        rng = torch.Generator().manual_seed(0)
        draw = lambda: torch.randn(rows, 1, generator=rng, dtype=torch.float64)  # noqa: E731
        Y, shared = draw(), draw()
        return Y, [(Y + shared + 0.01 * draw())[None] for _ in range(4)] + [(Y + 1.5 * draw())[None]]

    def test_of_too_many_runs_those_with_the_largest_shares_are_averaged(self):
        Y, runs = self.runs()
        comparison = compare(runs, Y)
        assert race(comparison, Y, most=4) == [0, 1, 2, 3, 4]
        members = select(comparison, Y, most=4).members
        assert len(members) <= 4
        assert 4 in [member.run for member in members]
        average = sum(member.share * runs[member.run][0] for member in members)
        assert float((average - Y).square().mean()) < 0.75 * float((runs[0][0] - Y).square().mean())

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e6])
    def test_a_run_that_diverged_changes_nothing(self, value):
        Y, runs = self.runs()
        bad = torch.full_like(runs[0], value)
        expected = select(compare(runs, Y), Y, most=8).members
        for at in (0, 5):
            with_bad = [*runs[:at], bad, *runs[at:]]
            comparison = compare(with_bad, Y)
            assert at not in race(comparison, Y, most=8)
            found = select(comparison, Y, most=8).members
            assert [m.run - (m.run > at) for m in found] == [m.run for m in expected]
            assert [m.share for m in found] == [m.share for m in expected]

    def test_many_equal_runs_have_shares_with_sum_one(self):
        """An average of 30 equally good runs gives each less than 0.05, and would have no member left."""
        Y, runs = self.runs()
        rng = np.random.default_rng(0)
        many = torch.stack([runs[0][0] + 1e-3 * torch.from_numpy(rng.normal(size=(400, 1))) for _ in range(30)])
        shares = blend(many, Y, torch.full((400,), 1 / 400, dtype=torch.float64))
        assert float(shares.sum()) == pytest.approx(1.0)
        assert bool((shares >= 0).all())


def naive_blend(outputs, Y, share, pulled=True):
    """The shares of the docstring by projected gradient steps on the simplex, in numpy."""
    k = len(outputs)
    residual = outputs.mean(axis=0) - Y
    variance = (share @ (residual**2).sum(axis=1)) * (share**2).sum() if pulled else 0.0
    A = np.stack([(np.sqrt(share)[:, None] * one).ravel() for one in outputs], axis=1)
    y = (np.sqrt(share)[:, None] * Y).ravel()
    H, g = A.T @ A + variance * k * np.eye(k), A.T @ y + variance * k * np.full(k, 1 / k)
    w, step = np.full(k, 1 / k), 1 / np.linalg.eigvalsh(H).max()
    for _ in range(20_000):
        w = project_on_simplex(w - step * (H @ w - g))
    w[w < 0.05] = 0
    return w / w.sum()


def project_on_simplex(v):
    """The nearest point with non-negative entries of sum 1."""
    u = np.sort(v)[::-1]
    over = np.cumsum(u) - 1
    last = np.nonzero(u - over / np.arange(1, len(v) + 1) > 0)[0][-1]
    return np.maximum(v - over[last] / (last + 1), 0)


class TestBlend:
    def problem(self, m, seed=0, k=3, c=1, noise=(0.5, 0.7, 1.0)):
        """Targets, and predictors with independent errors of these sizes."""
        rng = np.random.default_rng(seed)
        Y = torch.from_numpy(rng.normal(size=(m, c)))
        outputs = torch.stack([Y + torch.from_numpy(s * rng.normal(size=(m, c))) for s in noise[:k]])
        return outputs, Y, torch.full((m,), 1 / m, dtype=torch.float64)

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize(("m", "c"), [(20, 1), (200, 1), (50, 3)])
    def test_shares_minimise_the_error_with_its_pull_towards_equal_shares(self, seed, m, c):
        outputs, Y, _ = self.problem(m, seed, c=c)
        share = torch.rand(m, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        share = share / share.sum()
        found = blend(outputs, Y, share)
        np.testing.assert_allclose(found, naive_blend(outputs.numpy(), Y.numpy(), share.numpy()), atol=1e-4)

    @pytest.mark.parametrize("seed", range(10))
    def test_shares_are_not_negative_and_sum_to_1(self, seed):
        rng = torch.Generator().manual_seed(seed)
        outputs, Y = torch.randn(4, 12, 2, generator=rng), torch.randn(12, 2, generator=rng)
        found = blend(outputs, Y, torch.full((12,), 1 / 12))
        assert found.dtype == outputs.dtype
        assert bool((found >= 0).all())
        assert bool(((found == 0) | (found >= 0.05)).all())
        assert float(found.sum()) == pytest.approx(1)

    @pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0], [2, 1, 0]])
    def test_the_order_of_predictors_does_not_matter(self, order):
        outputs, Y, share = self.problem(40)
        torch.testing.assert_close(blend(outputs[order], Y, share), blend(outputs, Y, share)[order], atol=1e-6, rtol=0)

    @pytest.mark.parametrize("m", [10, 10_000])
    def test_equal_predictors_get_equal_shares(self, m):
        (one, two, _), Y, share = self.problem(m)
        found = blend(torch.stack([one, two, one]), Y, share)
        assert float(found[0]) == pytest.approx(float(found[2]), abs=1e-5)

    def test_with_many_rows_shares_are_those_of_least_squares(self):
        """Of predictors with independent errors the best average has shares proportional to 1/σ²."""
        outputs, Y, share = self.problem(200_000)
        precision = 1 / np.array([0.5, 0.7, 1.0]) ** 2
        np.testing.assert_allclose(blend(outputs, Y, share), precision / precision.sum(), atol=0.01)

    def test_with_few_rows_shares_are_nearer_to_equal_than_those_of_least_squares(self):
        """Two predictors with errors of one size: shares of least squares on four rows are chance."""
        pulled, free = [], []
        for seed in range(8):
            outputs, Y, share = self.problem(4, seed, k=2, noise=(1.0, 1.0))
            pulled.append(abs(float(blend(outputs, Y, share)[0]) - 0.5))
            found = naive_blend(outputs.numpy(), Y.numpy(), share.numpy(), pulled=False)
            free.append(abs(found[0] - 0.5))
        assert np.mean(pulled) < 0.8 * np.mean(free)

    def test_the_unit_of_targets_does_not_matter(self):
        outputs, Y, share = self.problem(40)
        for unit in (1e-3, 1e3):
            torch.testing.assert_close(
                blend(unit * outputs, unit * Y, share), blend(outputs, Y, share), atol=1e-5, rtol=0
            )

    def test_a_row_of_double_share_is_two_rows(self):
        """Up to the effective number of rows, of which one row of double weight is less than two."""
        outputs, Y, _ = self.problem(5_000)
        share = torch.ones(5_000, dtype=torch.float64)
        share[:2_500] = 2
        twice = torch.cat([torch.arange(2_500), torch.arange(5_000)])
        repeated = blend(outputs[:, twice], Y[twice], torch.full((7_500,), 1 / 7_500, dtype=torch.float64))
        torch.testing.assert_close(blend(outputs, Y, share / share.sum()), repeated, atol=1e-3, rtol=0)


def within(times, error, best, share):
    """The rule of standard errors of the difference, in numpy."""
    gap = error - best
    mean = share @ gap
    return mean <= times * np.sqrt(max((share @ (gap - mean) ** 2) * (share**2).sum(), 0))


def naive_select(errors, weights, outputs, Y, last=False, most=1):
    """The rule of the docstring, in numpy: the rounds and runs that are selected, before they are averaged."""
    share = weights / weights.sum()
    best = sorted((min(e @ share) if not last else (e @ share)[-1], run) for run, e in enumerate(errors))
    rounds = [len(e) - 1 if last else int((e @ share).argmin()) for e in errors]
    first = best[0][1]
    reference = errors[first][rounds[first]]
    if most == 1:
        earliest = [t for t in range(len(errors[first])) if within(1, errors[first][t], reference, share)]
        return [(first, rounds[first] if last else min(earliest))]
    order = [run for _, run in best]
    every = torch.stack([outputs[run][rounds[run]] for run in order])
    parts = dict(zip(order, blend(every, Y, torch.from_numpy(share)).tolist(), strict=True))
    near = [
        run
        for run in order
        if within(3, errors[run][rounds[run]], reference, share)
        or share @ errors[run][rounds[run]] <= 1.1 * (share @ reference)
        or parts[run] > 0.1
    ]
    kept = {first, *sorted((run for run in near if run != first), key=lambda run: -parts[run])[: most - 1]}
    return [(run, rounds[run]) for run in near if run in kept]


class TestSelection:
    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize(("last", "most"), [(False, 1), (False, 2), (True, 1), (True, 3)])
    def test_it_is_the_rule_of_standard_errors(self, seed, last, most):
        rng = np.random.default_rng(seed)
        Y = torch.from_numpy(rng.normal(size=(30, 1)))
        level = rng.uniform(0.5, 1.5, size=30)
        errors = [level * rng.uniform(0.8, 1.2, size=(rounds, 30)) for rounds in (4, 4, 2)]
        weights = rng.uniform(0.5, 2, size=30)
        outputs = [with_errors(torch.from_numpy(e), Y, rng) for e in errors]
        comparison = compare(outputs, Y, torch.from_numpy(weights))
        found = select(comparison, Y, last=last, most=most)
        expected = naive_select(errors, weights, outputs, Y, last, most)
        share = torch.from_numpy(weights / weights.sum())
        shares = [1.0] if most == 1 else blend(torch.stack([outputs[r][t] for r, t in expected]), Y, share).tolist()
        kept = [(pair, w) for pair, w in zip(expected, shares, strict=True) if w > 0]
        kept.sort(key=lambda one: -one[1])
        assert [(m.run, m.round) for m in found.members] == [pair for pair, _ in kept]
        assert [m.share for m in found.members] == pytest.approx([w for _, w in kept])
        assert sum(m.share for m in found.members) == pytest.approx(1)
        for scores, e in zip(found.scores, errors, strict=True):
            np.testing.assert_allclose(scores, e @ weights / weights.sum())

    def test_the_earliest_round_as_good_as_the_best_is_selected(self):
        noise = 0.3 * torch.rand(1, 50, generator=torch.Generator().manual_seed(0))
        errors = torch.tensor([[2.0], [1.001], [1.0]]) + noise * torch.tensor([[1.0], [0.5], [1.0]])
        comparison, Y = of_errors([errors]), torch.zeros(50, 1)
        assert select(comparison, Y).members == (Member(0, 1, 1.0),)
        assert select(comparison, Y, last=True).members == (Member(0, 2, 1.0),)

    @pytest.mark.parametrize("most", [1, 3])
    def test_runs_that_were_left_behind_are_not_selected(self, most):
        """A run with fewer rows may have had the easier ones."""
        rng = torch.Generator().manual_seed(0)
        Y = torch.randn(9, 1, generator=rng, dtype=torch.float64)
        every, some = torch.arange(9), torch.arange(4)
        outputs = Y + 0.5 * torch.randn(2, 1, 9, 1, generator=rng, dtype=torch.float64)
        behind = [RoundPredictions(some, Y[None, :4])]
        others = [[RoundPredictions(every, one)] for one in outputs]
        comparison = RunComparison.of([behind, *others], Y, [1, 2])
        assert comparison.selectable == (1, 2)
        found = select(comparison, Y, most=most)
        assert {member.run for member in found.members} <= {1, 2}
        assert [len(scores) for scores in found.scores] == [1, 1, 1]
        assert RunComparison.of(others, Y).selectable == (0, 1)

    def test_an_average_is_better_than_its_members_where_their_errors_are_independent(self):
        rng = np.random.default_rng(0)
        Y = torch.from_numpy(rng.normal(size=(400, 1)))
        outputs = [(Y + torch.from_numpy(rng.normal(size=(400, 1))))[None] for _ in range(4)]
        comparison = compare(outputs, Y)
        selection = select(comparison, Y, most=4)
        assert len(selection.members) == 4
        _, average, weights = average_predictions(selection, comparison, Y, most=4)
        error = float((average - Y).square().mean())
        assert error < 0.5 * min(score for scores in selection.scores for score in scores)
        assert torch.equal(weights, torch.ones(400, dtype=torch.float64))

    def test_at_most_so_many_predictors_as_asked_for(self):
        rng = np.random.default_rng(0)
        Y = torch.from_numpy(rng.normal(size=(50, 1)))
        outputs = [(Y + torch.from_numpy(rng.normal(size=(50, 1))))[None] for _ in range(6)]
        assert len(select(compare(outputs, Y), Y, most=3).members) == 3


class TestComparison:
    def test_errors_of_several_outputs_are_averaged(self):
        outputs = torch.tensor([[[1.0, 3.0]]])
        errors, weights = row_errors([RoundPredictions(torch.tensor([1]), outputs)], torch.zeros(2, 2))
        assert errors.tolist() == [[5.0]]
        assert weights.tolist() == [1.0]

    def test_the_mean_error_counts_rows_by_their_weights(self):
        rows = Rows(torch.zeros(2, 1), torch.tensor([[0.0], [1.0]]), torch.tensor([3.0, 1.0]))
        assert mean_error(torch.zeros(2, 1), rows) == 0.25

    def test_predictions_of_members_are_averaged_with_their_shares(self):
        rng = torch.Generator().manual_seed(0)
        one, other, Y = (torch.randn(2, 10, 1, generator=rng) for _ in range(3))
        comparison = compare([one, other], Y[0], torch.linspace(1, 2, 10))
        selection = Selection((Member(0, 1, 0.25), Member(1, 0, 0.75)), [])
        rows, outputs, weights = average_predictions(selection, comparison, Y[0])
        torch.testing.assert_close(outputs, 0.25 * one[1] + 0.75 * other[0])
        assert torch.equal(rows, torch.arange(10))
        assert torch.equal(weights, torch.linspace(1, 2, 10))

    def test_rows_of_a_split_are_predicted_by_a_selection_on_the_other_splits(self):
        """Of constant guesses the best on some rows is worse on others: errors are those of the others' choice."""
        rng = torch.Generator().manual_seed(0)
        Y = torch.randn(40, 1, generator=rng, dtype=torch.float64)
        guesses = [torch.full((1, 40, 1), level, dtype=torch.float64) for level in (-0.2, -0.1, 0.0, 0.1, 0.2)]
        parts = torch.arange(40).split(8)
        comparison = RunComparison.of([[RoundPredictions(at, one[:, at]) for at in parts] for one in guesses], Y)
        selection = select(comparison, Y)
        rows, outputs, weights = average_predictions(selection, comparison, Y)
        assert torch.equal(rows, torch.arange(40))
        assert torch.equal(weights, torch.ones(40, dtype=torch.float64))
        for at in parts:
            others = torch.tensor([i for i in range(40) if i not in at])
            alone = RunComparison.of([[RoundPredictions(others, one[:, others])] for one in guesses], Y)
            run = select(alone, Y).members[0].run
            assert torch.equal(outputs[at], guesses[run][0, at])
        assert (outputs - Y).square().mean() >= min(scores[0] for scores in selection.scores)

    def test_rows_count_once_where_they_have_no_weights(self):
        predictions = RoundPredictions(torch.arange(3), torch.zeros(1, 3, 1))
        assert predictions.weights_or_ones.tolist() == [1, 1, 1]


class TestAnotherLoss:
    """Selection by absolute errors, for which a predictor with one gross error is the better one."""

    @staticmethod
    def absolute(outputs, Y, weights):
        return (outputs - Y).abs().mean(dim=2)

    def predictions(self):
        gross = torch.zeros(1, 20, 1)
        gross[0, 0] = 3.0
        return [[RoundPredictions(torch.arange(20), one)] for one in (gross, torch.full((1, 20, 1), 0.5))]

    def test_the_loss_decides(self):
        Y = torch.zeros(20, 1)
        squared = select(RunComparison.of(self.predictions(), Y), Y)
        absolute = select(RunComparison.of(self.predictions(), Y, loss=self.absolute), Y)
        assert [squared.members[0].run, absolute.members[0].run] == [1, 0]
        assert absolute.scores[0][0] == pytest.approx(3 / 20)

    def test_an_average_is_used_only_where_the_loss_is_smaller(self):
        Y = torch.zeros(20, 1)
        found = select(RunComparison.of(self.predictions(), Y, loss=self.absolute), Y, most=2)
        assert [(member.run, member.share) for member in found.members] == [(0, 1.0)]
