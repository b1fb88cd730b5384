"""Growing parts of one data set."""

import torch

from gramian.experiments.b_rfm import fig4_why


def test_rfm_may_choose_round_0_so_its_validation_error_is_not_larger(monkeypatch):
    """With the validation rows as test rows, choosing among more rounds cannot be worse."""
    X = torch.randn(120, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = (X[:, 0] * X[:, 1] > 0).long()
    found = fig4_why.errors(X, labels, 60, 60)
    assert set(found) == {"rfm", "laplace"}
    assert all(0 <= value <= 1 for value in found.values())
    monkeypatch.setattr(fig4_why, "_TEST", 30)
    both = torch.cat([X[:60], X[90:], X[90:]]), torch.cat([labels[:60], labels[90:], labels[90:]])
    found = fig4_why.errors(*both, 60, 60)
    assert found["rfm"] <= found["laplace"]


def test_few_and_many_training_rows_have_the_same_validation_and_test_rows(monkeypatch):
    seen = []

    class Machine:
        def predict(self, rows, batch_invariant):
            seen.append(rows[:, 0].tolist())
            return torch.zeros(len(rows), 2)

    monkeypatch.setattr(fig4_why, "learn", lambda X, Y, ridge, rounds: [Machine()])
    X = torch.arange(100.0)[:, None]
    for n in (20, 60):
        fig4_why.errors(X, (X[:, 0] % 2).long(), n, 60)
    few, many = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    assert few == many
    assert few[1] == list(range(80, 100))  # half of what the largest number of training rows leaves


def test_the_rise_is_the_difference_of_the_decreases():
    numbers = fig4_why.rows_of_set(fig4_why.RowsOfSet("digits (scikit-learn)", (30, 60)), 0).numbers
    assert numbers["rise"] == numbers["decrease/60"] - numbers["decrease/30"]
    assert numbers["error/laplace/60"] < 80  # chance is 90 %
