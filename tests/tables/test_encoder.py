"""Laws of the encoder: containers, row order, batches, names, dropped columns, scikit-learn's contract."""

import datetime as dt
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian.tables import TableEncoder, needs_encoding

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
WORDS = st.sampled_from(["a", "b", "c d", "", " ", "1", "nan", "2024-01-01"])
KINDS = [
    st.floats(-1e6, 1e6),
    st.integers(-5, 5),
    st.booleans(),
    WORDS,
    st.sampled_from(["1", "2.5", "-3"]),
    st.dates(dt.date(1950, 1, 1), dt.date(2050, 1, 1)),
    st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2050, 1, 1)),
    st.timedeltas(dt.timedelta(days=-9), dt.timedelta(days=9)),
    st.floats(-1e6, 1e6).map(lambda x: f"({-x:,.2f})" if x < 0 else f"${x:,.2f}"),
    st.dates(dt.date(1970, 1, 1), dt.date(2050, 1, 1)).map(lambda day: day.strftime("%d/%m/%Y")),
    st.sampled_from(["<1", "1", "2", "3", ">3", "never", "NA", "5-7", "10+"]),
    st.tuples(*[st.sampled_from(["red", "old", "chair", "sofa", "größe"])] * 3).map(" ".join),
]


@st.composite
def tables(draw):
    n = draw(st.integers(2, 12))
    column = st.sampled_from(KINDS).flatmap(lambda kind: st.lists(kind | st.none(), min_size=n, max_size=n))
    return {"first": [0.25 * i * i for i in range(n)]} | {f"c{j}": draw(column) for j in range(draw(st.integers(1, 4)))}


def object_array(table):
    return np.array([np.fromiter(column, dtype=object, count=len(column)) for column in table.values()]).T


@settings(max_examples=60)
@given(tables())
def test_the_container_does_not_matter(table):
    encoders = {}
    frames = {
        "pandas": pd.DataFrame(table),
        "nullable": pd.DataFrame(table).convert_dtypes(),
        "polars": pl.DataFrame(table, strict=False),
        "objects": object_array(table),
        "rows": [list(row) for row in zip(*table.values(), strict=True)],
    }
    for name, frame in frames.items():
        encoders[name] = TableEncoder(rank_gauss=True).fit(frame)
    expected = encoders["pandas"].transform(frames["pandas"])
    assert not np.isnan(expected).any()
    for name, frame in frames.items():
        assert encoders[name].kinds_ == encoders["pandas"].kinds_, name
        assert np.array_equal(encoders[name].transform(frame), expected), name
        assert np.array_equal(encoders[name].scales_, encoders["pandas"].scales_, equal_nan=True)
        assert needs_encoding(frame) == needs_encoding(frames["pandas"]), name


@settings(max_examples=40)
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(table, random):
    X = object_array(table)
    order = list(range(len(X)))
    random.shuffle(order)
    encoder = TableEncoder(max_categories=3).fit(X)
    again = TableEncoder(max_categories=3).fit(X[order])
    assert again.kinds_ == encoder.kinds_
    assert np.array_equal(again.transform(X), encoder.transform(X))
    assert np.array_equal(encoder.transform(X[order]), encoder.transform(X)[order])


@settings(max_examples=40)
@given(tables())
def test_a_row_is_encoded_alone_as_among_others(table):
    X = object_array(table)
    encoder = TableEncoder(max_categories=3)
    together = encoder.fit_transform(X)
    assert np.array_equal(encoder.transform(X), together)
    for i, row in enumerate(together):
        assert np.array_equal(encoder.transform(X[i : i + 1])[0], row)
        assert np.array_equal(encoder.transform(pd.DataFrame(X[i : i + 1]))[0], row)


@parametrize_with_checks([TableEncoder(), TableEncoder(rank_gauss=True), TableEncoder(missing="fill")])
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def ugly():
    return pd.DataFrame(
        {
            "n": [1.0, None, 2.5, 4.0],
            "when": pd.to_datetime(["2024-01-01", "2024-05-05", None, "2023-01-01"]),
            "word": ["x", None, "y", "z"],
            "size": pd.Categorical(["S", "L", "M", None], ["S", "M", "L"], ordered=True),
        }
    )


def test_columns_of_polars_are_recognised():
    frame = pl.DataFrame(
        {
            "level": pl.Series(["b", "a", None, "c"]).cast(pl.Enum(["c", "b", "a"])),
            "category": pl.Series(["u", "v", "v", "w"]).cast(pl.Categorical),
            "price": pl.Series(["1.50", None, "3.00", "2.00"]).cast(pl.Decimal(10, 2)),
            "clock": [dt.time(6), None, dt.time(12), dt.time(18)],
            "zone": pl.Series([dt.datetime(2024, 1, 1, 1)] * 2 + [dt.datetime(2024, 1, 9)] * 2).dt.replace_time_zone(
                "Europe/Berlin"
            ),
            "huge": pl.Series([1, 2, 3, 9], dtype=pl.Int128),
            "nothing": [None] * 4,
        }
    )
    encoder = TableEncoder().fit(frame)
    assert encoder.kinds_ == ("category", "category", "number", "duration", "date", "number", "empty")
    assert encoder.records_[0].encoded == ("level=a", "level=b", "level=c", "level__missing")
    assert np.isfinite(encoder.transform(frame)).all()
    with pytest.raises(ValueError, match="column 'l' holds values of type list"):
        TableEncoder().fit(pl.DataFrame({"l": [[1], [2]]}))
    with pytest.raises(ValueError, match="collect"):
        TableEncoder().fit(frame.lazy())


def test_fitted_in_one_container_used_in_another():
    frame = ugly()
    encoder = TableEncoder().fit(frame)
    other = pl.DataFrame({name: frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame})
    assert np.array_equal(encoder.transform(other), encoder.transform(frame))


def test_groups_and_records_agree():
    encoder = TableEncoder().fit(ugly())
    names = encoder.get_feature_names_out()
    assert len(names) == len(encoder.groups_) == len(encoder.scales_) == len(encoder.centers_)
    for j, record in enumerate(encoder.records_):
        assert tuple(names[encoder.groups_ == j]) == record.encoded
        assert all(name.startswith(record.name) for name in record.encoded)
    with pytest.raises(ValueError, match="input_features"):
        encoder.get_feature_names_out(["a"])


def test_the_output_is_a_frame_if_requested():
    frame = ugly()
    out = TableEncoder().set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == list(TableEncoder().fit(frame).get_feature_names_out())
    out = TableEncoder().set_output(transform="polars").fit_transform(frame)
    assert isinstance(out, pl.DataFrame)


def test_rank_gauss_is_the_normal_score_of_the_middle_rank():
    values = np.array([10.0, -5.0, 1e9, 10.0, 3.0])
    out = TableEncoder(rank_gauss=True).fit_transform(values[:, None])
    below = np.array([(values < v).sum() + 0.5 * (values == v).sum() for v in values]) / 5
    assert np.array_equal(out[:, 0], values)
    assert np.allclose(out[:, 1], ndtri(below))
    only = TableEncoder(rank_gauss="only").fit(values[:, None])
    assert only.get_feature_names_out().tolist() == ["x0__gauss"]
    assert np.array_equal(only.transform([[1e30], [1e9]])[:, 0], out[[2, 2], 1])  # flat beyond what was seen


def test_rank_gauss_of_many_values_keeps_its_shape():
    values = np.random.default_rng(0).lognormal(size=(5000, 1))
    out = TableEncoder(rank_gauss="only").fit_transform(values)[:, 0]
    exact = ndtri((values[:, 0].argsort().argsort() + 0.5) / 5000)
    assert np.abs(out - exact).max() < 0.02


def test_state_is_plain_and_survives_a_copy():
    encoder = TableEncoder(rank_gauss=True).fit(ugly())
    again = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(again.transform(ugly()), encoder.transform(ugly()))
    plain = (str, int, float, bool, type(None), np.ndarray)
    for record in encoder.records_:
        for value in vars(record.encoding).values():
            assert isinstance(value, plain) or all(isinstance(each, str) for each in value)


def test_the_target_is_not_looked_at():
    y = np.array([0, 1, 0, 1])
    assert np.array_equal(TableEncoder().fit_transform(ugly(), y), TableEncoder().fit(ugly()).transform(ugly()))


def test_masked_entries_are_missing():
    X = np.ma.masked_array([[1.0], [5.0], [9.0], [2.0]], [[False], [True], [False], [False]])
    assert TableEncoder().fit_transform(X).tolist() == [[1, 0], [2, 1], [9, 0], [2, 0]]


@pytest.mark.parametrize("bad", [{"max_categories": 1}, {"max_categories": 2.5}, {"rank_gauss": 3}, {"missing": "no"}])
def test_bad_options_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        clone(TableEncoder(**bad)).fit([[1.0], [2.0]])


def test_the_first_of_equal_columns_is_used():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [1, 2, 4], "c": ["1", "2", "4"], "d": [1.0, 2.0, 5.0]})
    encoder = TableEncoder().fit(frame)
    assert encoder.kinds_ == ("number", "duplicate", "duplicate", "number")
    assert encoder.groups_.tolist() == [0, 3]
    assert "'a'" in encoder.records_[1].done


def test_columns_missing_together_share_one_indicator():
    frame = pd.DataFrame({"a": [1, None, 3.0, 4], "b": [5, None, 2.0, 9], "c": [None, 1, 2.0, 0]})
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["a", "a__missing", "b", "c", "c__missing"]
    assert np.isfinite(encoder.transform(frame)).all()


def test_a_table_without_varying_columns_is_refused():
    with pytest.raises(ValueError, match=r"no column varies.*'a' is constant.*'b' is empty"):
        TableEncoder().fit(pd.DataFrame({"a": [1, 1], "b": [None, None]}))


def test_a_missing_or_foreign_column_is_named():
    frame = pd.DataFrame({"a": [1, 2, 4], "b": ["x", "y", "x"]})
    encoder = TableEncoder().fit(frame)
    with pytest.raises(ValueError, match=r"(?s)missing.*- b"):
        encoder.transform(frame[["a"]])
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time.*- z"):
        encoder.transform(frame.assign(z=1))
    with pytest.raises(ValueError, match="same order"):
        encoder.transform(frame[["b", "a"]])


def test_encoded_names_differ_even_from_the_users():
    frame = pd.DataFrame({"a__missing": [1.0, 2.0, 5.0], "a": [1.0, None, 3.0]})
    assert TableEncoder().fit(frame).get_feature_names_out().tolist() == ["a__missing", "a", "a__missing_"]


def test_numbers_as_column_names_become_text():
    encoder = TableEncoder().fit(pd.DataFrame({0: [1, 2], 1: ["a", "b"]}))
    assert encoder.columns_ == ("0", "1")


@pytest.mark.parametrize(
    ("fitted", "later", "form"),
    [
        (["$5", "$6,100", "$7.50"], "€5", r"money in \$ with commas between thousands"),
        (["24.12.2020", "13.01.2021", "1.2.2021"], "yesterday", r"date \("),
        (["1", "2", "4"], "large", "numbers"),
    ],
)
def test_a_later_entry_in_another_form_is_refused_with_the_form_of_the_fitted_rows(fitted, later, form):
    pd = pytest.importorskip("pandas")
    encoder = TableEncoder().fit(pd.DataFrame({"x": fitted * 5}))
    with pytest.raises(ValueError, match=rf"column 'x' holds the value '{later}'.*{form}.*leave it empty"):
        encoder.transform(pd.DataFrame({"x": [fitted[0], later]}))
