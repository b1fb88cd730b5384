"""Groups and times as a user gives them."""

import numpy as np
import pytest

from gramian.tables.split_columns import split_condition

pd = pytest.importorskip("pandas")
MONTHS = ["jan", "feb", "mar", "apr"]


def test_ordered_categories_keep_their_order_as_times():
    months = pd.Categorical(MONTHS, categories=MONTHS, ordered=True)
    assert split_condition(None, months).codes.tolist() == [0, 1, 2, 3]
    assert split_condition(None, pd.Series(months, index=[9, 8, 7, 6])).codes.tolist() == [0, 1, 2, 3]


def test_entries_without_an_order_of_their_own_are_no_times():
    with pytest.raises(ValueError, match="categories without an order"):
        split_condition(None, pd.Categorical(MONTHS))
    for texts in (["9", "10", "100"], ["31/01/2024", "01/02/2024"]):
        with pytest.raises(ValueError, match=f"does not sort as time, such as '{texts[0]}'"):
            split_condition(None, texts)
    assert split_condition(["9", "10", "9"], None).codes.tolist() == [1, 0, 1]  # as groups they are names


def test_dates_in_any_form_are_times():
    dates = ["2024-01-02", "2024-01-01", "2024-02-01"]
    for given in (dates, np.array(dates, dtype="M8[D]"), pd.to_datetime(dates), pd.Series(pd.to_datetime(dates))):
        assert split_condition(None, given).codes.tolist() == [1, 0, 2]
