"""Target columns: the task that they ask for."""

import pytest

from gramian.tables.target_column import choose_task, read_amounts, written_numbers

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


def test_written_amounts_are_read_as_numbers():
    y = pd.Series([f"${1000 + 7 * i:,}.50" for i in range(60)], name="price")
    numbers, notes = read_amounts(y)
    assert numbers.tolist() == [1000.5 + 7 * i for i in range(60)]
    assert notes == ["the target 'price' is read as numbers: money in $ with commas between thousands"]
    assert choose_task(numbers).name == "regression"


@pytest.mark.parametrize("text", ["<18", "unknown", "2008-07-24"])
def test_bounds_words_and_dates_are_no_amounts(text):
    assert written_numbers(pd.Series([text, *(f"{i} %" for i in range(30))])) is None


def test_few_amounts_are_classes_unless_a_regression_is_requested():
    y = pd.Series(["0 %", "7 %", "19 %"] * 30)
    assert read_amounts(y)[0].tolist() == y.tolist()
    assert choose_task(y).name == "classification"
    assert read_amounts(y, "regression")[0].tolist() == [0.0, 7.0, 19.0] * 30
    many = pd.Series([f"{i} kg" for i in range(60)])
    assert read_amounts(many, "classification")[0].tolist() == many.tolist()


@pytest.mark.parametrize("values", [[f"A{i:03}" for i in range(60)], pd.date_range("2020-01-01", periods=60)])
def test_a_target_with_an_entry_of_its_own_in_each_row_is_refused(values):
    y = pd.Series(values, name="code")
    with pytest.raises(ValueError, match=r"'code' holds .* 60 distinct entries in 60 rows.*classification"):
        choose_task(y)
    assert choose_task(y, "classification").name == "classification"
