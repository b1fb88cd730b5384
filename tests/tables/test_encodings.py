"""Encodings: one test per kind of column."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from gramian.tables import TableEncoder

pd = pytest.importorskip("pandas")
NAN = float("nan")


def fit(values, **options):
    """Encode one column beside a plain one; back come its record, its names and its block."""
    values = values if isinstance(values, pd.Series) else pd.Series(values, dtype=object)
    frame = pd.DataFrame({"c": values.array, "plain": np.arange(len(values)) ** 2 + 0.5})
    encoder = TableEncoder(**options).fit(frame)
    mine = encoder.groups_ == 0
    return encoder, encoder.records_[0], encoder.transform(frame)[:, mine]


def later(encoder, values):
    """The encoding of new values of the column."""
    values = values if isinstance(values, pd.Series) else pd.Series(values, dtype=object)
    frame = pd.DataFrame({"c": values.array, "plain": 0.0})
    return encoder.transform(frame)[:, encoder.groups_ == 0]


def test_numbers_keep_their_units():
    _, record, block = fit(pd.Series([3, 1, 1_000_000]))
    assert record.kind == "number"
    assert record.encoded == ("c",)
    assert block.ravel().tolist() == [3.0, 1.0, 1e6]


def test_missing_numbers_are_the_median_and_marked():
    encoder, record, block = fit([1.0, None, 3.0, 8.0, pd.NA, NAN])
    assert record.encoded == ("c", "c__missing")
    assert block.tolist() == [[1, 0], [3, 1], [3, 0], [8, 0], [3, 1], [3, 1]]
    assert later(encoder, [None]).tolist() == [[3, 1]]


def test_missing_only_later_is_the_median_without_a_mark():
    encoder, record, _ = fit([1.0, 2.0, 5.0])
    assert record.encoded == ("c",)
    assert later(encoder, [None, 7]).tolist() == [[2], [7]]


def test_fill_leaves_the_indicator_out():
    _, record, block = fit([1.0, None, 3.0], missing="fill")
    assert record.encoded == ("c",)
    assert block.ravel().tolist() == [1, 2, 3]


@pytest.mark.parametrize("bad", [float("inf"), -float("inf"), "inf", 10**400])
def test_infinity_is_refused_by_name(bad):
    with pytest.raises(ValueError, match=r"infinity.*'c'|'c'.*infinity"):
        fit([1.0, bad, 2.0])


def test_infinity_later_is_refused_by_name():
    encoder, _, _ = fit([1.0, 2.0])
    with pytest.raises(ValueError, match="infinity in column 'c'"):
        later(encoder, [np.inf])


def test_numbers_in_strings_are_read_if_all_are():
    encoder, record, block = fit(["3.5", " 2", "", "1e3", "nan"])
    assert record.kind == "number"
    assert block[:, 0].tolist() == [3.5, 2, 3.5, 1000, 3.5]
    assert later(encoder, ["7", 8]).tolist() == [[7, 0], [8, 0]]


def test_words_where_training_had_numbers_are_refused_by_name():
    encoder, _, _ = fit([1.0, 2.0])
    with pytest.raises(ValueError, match="column 'c' holds the value 'many'"):
        later(encoder, ["3", "many"])
    with pytest.raises(ValueError, match="column 'c' holds dates"):
        later(encoder, pd.Series(pd.to_datetime(["2024-01-01"])))


def test_decimals_are_numbers():
    _, record, block = fit([Decimal("1.25"), None, Decimal("2.5"), Decimal("NaN")])
    assert record.kind == "number"
    assert block[:, 0].tolist() == [1.25, 1.875, 2.5, 1.875]


def test_nullable_integers_are_numbers():
    _, record, block = fit(pd.Series([1, None, 5], dtype="Int64"))
    assert record.kind == "number"
    assert block.tolist() == [[1, 0], [3, 1], [5, 0]]


def test_sparse_columns_of_pandas_are_numbers():
    _, _, block = fit(pd.Series(pd.arrays.SparseArray([0.0, 0.0, 2.0])))
    assert block.ravel().tolist() == [0, 0, 2]


def test_complex_numbers_are_refused_by_name():
    with pytest.raises(ValueError, match="column 'c' holds complex"):
        fit([1 + 2j, 3.0])
    with pytest.raises(ValueError, match="column 'c' holds complex"):
        fit(pd.Series([1 + 2j, 3.0]))


def test_the_median_of_huge_numbers_is_finite():
    _, _, block = fit([1.7e308, 1.6e308, None])
    assert np.isfinite(block).all()


@pytest.mark.parametrize(
    "values",
    [[True, False, None, True], pd.Series([True, False, None, True], dtype="boolean"), ["True", "False", "", "TRUE"]],
)
def test_booleans_are_zero_and_one(values):
    _, record, block = fit(values)
    assert record.kind == "boolean"
    assert block.tolist() == [[1, 0], [0, 0], [1, 1], [1, 0]]


def test_durations_are_days():
    _, record, block = fit([dt.timedelta(days=2), None, dt.timedelta(hours=12)])
    assert record.kind == "duration"
    assert block[:, 0].tolist() == [2, 1.25, 0.5]
    _, _, again = fit(pd.Series(pd.to_timedelta([48, None, 12], unit="h")))
    assert np.array_equal(block, again)


def test_times_of_day_are_parts_of_a_day():
    _, record, block = fit([dt.time(6), dt.time(18)])
    assert record.kind == "duration"
    assert block.ravel().tolist() == [0.25, 0.75]


def test_dates_are_days_and_circles():
    days = pd.Series(pd.date_range("2023-01-02", periods=400, freq="D"))  # a Monday
    _, record, block = fit(days)
    assert record.encoded == ("c", "c__week_sin", "c__week_cos", "c__year_sin", "c__year_cos")
    assert np.allclose(np.diff(block[:, 0]), 1)
    assert np.median(np.abs(block[:, 0])) == 100
    monday = np.arange(400) % 7 == 0
    assert np.allclose(block[monday][:, 1:3], [0, 1])
    assert np.allclose(block[:, 1] ** 2 + block[:, 2] ** 2, 1)
    assert np.allclose(block[:365, 3:], block[365:366, 3:]) is False
    assert np.allclose(block[0, 3:], block[365, 3:])


def test_cycles_that_do_not_vary_have_no_columns():
    _, record, _ = fit(pd.Series(pd.date_range("2023-01-02", periods=3, freq="7D")))
    assert record.encoded == ("c",)


def test_the_time_of_day_has_columns_if_it_varies():
    _, record, block = fit(pd.Series(pd.date_range("2023-01-02", periods=8, freq="3h")))
    assert record.encoded == ("c", "c__day_sin", "c__day_cos")
    assert np.allclose(block[2], [(2 * 3 - 9) / 24, 1, 0])


def test_missing_dates_are_the_median_and_the_centre_of_the_circle():
    encoder, record, block = fit(["2024-01-01", None, "2024-01-03", "2024-01-04"])
    assert record.kind == "date"
    assert block[1].tolist() == [0, 0, 0, 1]
    assert later(encoder, [pd.NaT]).tolist() == [[0, 0, 0, 1]]


def test_one_instant_in_several_time_zones_is_encoded_the_same():
    _, _, berlin = fit(pd.Series(pd.to_datetime(["2024-01-01 01:00", "2024-06-01 02:00"]).tz_localize("Europe/Berlin")))
    _, _, utc = fit(pd.Series(pd.to_datetime(["2024-01-01 00:00", "2024-06-01 00:00"])))
    _, _, text = fit(["2024-01-01T01:00:00+01:00", "2024-06-01T00:00Z"])
    assert np.array_equal(berlin, utc)
    assert np.array_equal(text, utc)


def test_python_dates_and_periods_are_dates():
    _, record, block = fit([dt.date(2024, 1, 1), None, dt.date(2024, 3, 1), dt.datetime(2024, 2, 1)])
    _, _, text = fit(["2024-01-01", None, "2024-03", "2024-02-01"])
    assert record.kind == "date"
    assert np.array_equal(block, text)
    _, record, _ = fit(pd.Series(pd.period_range("2024-01", periods=3, freq="M")))
    assert record.kind == "date"


def test_impossible_dates_are_text():
    _, record, _ = fit(["2024-02-30", "2024-02-29", "2024-02-29"])
    assert record.kind == "category"


def test_words_where_training_had_dates_are_refused_by_name():
    encoder, _, _ = fit(["2024-01-01", "2024-01-02"])
    with pytest.raises(ValueError, match="column 'c' holds the value 'soon'"):
        later(encoder, ["2024-01-01", "soon"])
    with pytest.raises(ValueError, match="column 'c' holds numbers"):
        later(encoder, pd.Series([5.0]))


def test_two_levels_are_one_column():
    encoder, record, block = fit(["no", "yes", "yes"])
    assert record.encoded == ("c=yes",)
    assert block.ravel().tolist() == [0, 1, 1]
    assert later(encoder, ["perhaps", None]).tolist() == [[0.5], [0.5]]


def test_missing_is_a_level_of_a_category():
    encoder, record, block = fit(["a", None, "b", " ", "a"])
    assert record.encoded == ("c=a", "c=b", "c__missing")
    assert block.argmax(axis=1).tolist() == [0, 2, 1, 2, 0]
    assert later(encoder, ["new"]).tolist() == [[0, 0, 0]]


def test_the_words_none_and_na_are_missing_and_noted():
    _, record, block = fit(["None", "NA", "Attached", "Built-in", "NA"])
    assert record.encoded == ("c=Attached", "c=Built-in", "c__missing")
    assert block[:, 2].tolist() == [1, 1, 0, 0, 1]
    assert record.notes == ("'NA' (2 rows) is read as missing", "'None' (1 row) is read as missing")
    _, record, block = fit(["5", "NA", "7.5", "5"])
    assert record.kind == "number"
    assert block[:, 1].tolist() == [0, 1, 0, 0]


def test_the_words_none_and_na_are_levels_of_a_declared_category():
    dtype = pd.CategoricalDtype(["None", "Some", "Much"], ordered=True)
    encoder, record, block = fit(pd.Series(["None", "Much", "Some", None], dtype=dtype))
    assert block[:, 0].tolist() == [0, 1, 0.5, 0.5]
    assert later(encoder, ["None"])[0, 0] == 0
    encoder, record, block = fit(pd.Series(["NA", "EU", "NA"], dtype="category"))
    assert record.encoded == ("c=NA",)
    assert not record.notes
    assert later(encoder, ["NA", "EU"]).ravel().tolist() == [1, 0]


def test_one_level_and_missing_values_are_one_indicator():
    _, record, block = fit(["a", None, "a"])
    assert record.encoded == ("c__missing",)
    assert block.ravel().tolist() == [0, 1, 0]


def test_ordered_categories_stay_ordered():
    dtype = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    encoder, record, block = fit(pd.Series(["high", "low", None, "high"], dtype=dtype))
    assert record.kind == "ordered"
    assert record.encoded == ("c", "c__missing")
    assert block.tolist() == [[1, 0], [0, 0], [1, 1], [1, 0]]
    # declared, though no training row had it; and as plain text, as a CSV file would bring it
    assert later(encoder, ["mid", "unheard of"]).tolist() == [[0.5, 0], [1, 1]]


def test_levels_that_look_like_numbers_stay_levels_of_a_category():
    encoder, record, block = fit(pd.Series([3, 1, 2, 3], dtype="category"))
    assert record.encoded == ("c=1", "c=2", "c=3")
    assert np.array_equal(block, later(encoder, pd.Series([3.0, 1.0, 2.0, 3.0])))


def test_mixed_values_are_text():
    encoder, record, block = fit([1, "a", 2.0, True, None, "1"])
    assert record.encoded == ("c=1", "c=2", "c=True", "c=a", "c__missing")
    assert block.argmax(axis=1).tolist() == [0, 3, 1, 2, 4, 0]
    assert later(encoder, [True, 1]).argmax(axis=1).tolist() == [2, 0]
    assert later(encoder, pd.Series([2.0, NAN])).argmax(axis=1).tolist() == [1, 4]


def test_bytes_are_decoded_or_refused_by_name():
    _, record, _ = fit([b"a", "b", b"a"])
    assert record.encoded == ("c=b",)
    with pytest.raises(ValueError, match="column 'c' holds bytes"):
        fit([b"\xff", b"a"])


@pytest.mark.parametrize("nested", [[1, 2], {"a": 1}, (1, 2), {1}, np.ones(2)])
def test_nested_values_are_refused_by_name(nested):
    values = pd.Series([1, nested], dtype=object)
    with pytest.raises(ValueError, match="column 'c' holds values of type"):
        fit(values)


def test_many_levels_keep_the_frequent_ones():
    values = ["a"] * 5 + ["b"] * 4 + ["c"] * 3 + ["d"] * 2 + ["e"]
    encoder, record, block = fit(values, max_categories=3)
    assert record.kind == "many-levels"
    assert record.encoded == ("c=a", "c=b", "c__other", "c__frequency")
    assert block[:, :3].argmax(axis=1).tolist() == [0] * 5 + [1] * 4 + [2] * 6
    assert np.allclose(block[:, 3], np.log1p([5] * 5 + [4] * 4 + [3] * 3 + [2] * 2 + [1]))
    assert np.allclose(later(encoder, ["new", None]), [[0, 0, 1, np.log(2)], [0, 0, 1, 0]])


def test_text_that_differs_in_every_row_is_dropped():
    encoder, record, block = fit([f"row {i}" for i in range(50)])
    assert record.kind == "identifier"
    assert block.shape == (50, 0)
    assert later(encoder, [None]).shape == (1, 0)


def test_the_distance_of_rare_levels_is_bounded():
    """Rows of different levels are at most 8 apart in squared distance, and balanced ones 2 apart on average."""
    rare = ["a"] * 999 + ["b"]
    encoder, _, block = fit(rare)
    scaled = (block - encoder.centers_[:1]) / encoder.scales_[:1]
    assert np.isclose(((scaled[0] - scaled[-1]) ** 2).sum(), 8)
    encoder, _, block = fit([*["a"] * 997, "b", "c", None])
    scaled = (block - encoder.centers_[:4]) / encoder.scales_[:4]
    assert np.isclose(((scaled[0] - scaled[-1]) ** 2).sum(), 8)
    balanced = list("abcd") * 25
    encoder, _, block = fit(balanced)
    scaled = (block - encoder.centers_[:4]) / encoder.scales_[:4]
    assert np.allclose(scaled.mean(axis=0), 0)
    assert np.isclose(((scaled[:, None] - scaled[None]) ** 2).sum(axis=2).mean(), 2)
    assert np.isnan(encoder.scales_[4])
    assert np.isnan(encoder.centers_[4])


@pytest.mark.parametrize("values", [[2.5] * 4, ["a"] * 4, [True] * 4, ["2024-01-01"] * 4])
def test_constant_columns_are_dropped(values):
    _, record, block = fit(values)
    assert record.kind == "constant"
    assert block.shape == (4, 0)


def test_a_constant_with_gaps_keeps_its_indicator():
    _, record, block = fit([2.5, None, 2.5])
    assert record.encoded == ("c__missing",)
    assert block.ravel().tolist() == [0, 1, 0]


@pytest.mark.parametrize("values", [[None] * 3, [NAN] * 3, [pd.NA, None, NAN], [pd.NaT] * 3, ["", " ", "nan"]])
def test_empty_columns_are_dropped(values):
    _, record, _ = fit(values)
    assert record.kind == "empty"
