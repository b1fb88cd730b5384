"""Target columns: the task that they ask for."""

import pytest

from gramian.tables.target_column import choose_task

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([1.5, 2.0] * 50, "regression"),
        ([0, 1] * 50, "classification"),
        ([0.0, 1.0] * 50, "classification"),
        ([1, 2, 3] * 100, "classification"),
        ([1, 2, 3] * 5, "regression"),
        (list(range(100)), "regression"),
        ([-1, 1], "classification"),
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "classification"),
    ],
)
def test_the_task_is_inferred_with_a_reason(values, task):
    chosen = choose_task(pd.Series(values))
    assert chosen.name == task
    assert chosen.reason.startswith("it holds")


def test_a_requested_task_is_taken():
    assert choose_task(pd.Series([0, 1]), "regression").name == "regression"
    assert choose_task(pd.Series([0.5, 1]), "classification").name == "classification"
