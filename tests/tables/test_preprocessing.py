"""Tables to standardised numbers: errors name the estimator, and a row's numbers do not depend on its batch."""

import pickle
import warnings
from decimal import Decimal

import numpy as np
import pytest

from gramian.tables import TableEncoder
from gramian.tables.preprocessing import Preprocessing, TableReader
from gramian.tables.scaling import Scaler

pd = pytest.importorskip("pandas")

MIXED = pd.DataFrame(
    {"age": [20.0, 31.0, None, 45.0, 52.0], "city": ["Bonn", "Rome", "Rome", None, "Oslo"], "rent": [1.0, 2, 4, 8, 16]}
)
NUMBERS = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.5, 0.5, 3.0]})


def fitted(table, owner="RFMRegressor", encoder="auto"):
    reader, X = TableReader.fit(table, encoder, owner)
    weights = np.ones(len(X))
    scaler = reader.column_scaler(Scaler.fit(X, weights), standardize=True)
    return Preprocessing(reader, scaler, X.mean(axis=0))


def test_complete_numbers_are_used_as_they_are():
    reader, rows = TableReader.fit(NUMBERS, "auto", "RFMRegressor")
    assert reader.encoder is None
    assert rows.dtype == np.float64
    assert np.array_equal(rows, NUMBERS.to_numpy())
    assert (reader.n_features, reader.feature_names.tolist()) == (2, ["a", "b"])
    assert TableReader.fit(NUMBERS.to_numpy(), "auto", "RFMRegressor")[0].feature_names is None


def test_other_tables_are_encoded():
    reader, rows = TableReader.fit(MIXED, "auto", "RFMRegressor")
    assert np.array_equal(rows, TableEncoder().fit_transform(MIXED))
    assert np.array_equal(reader.encode(MIXED), rows)


def test_a_given_encoder_is_cloned():
    mine = TableEncoder(rank_gauss=True)
    reader, rows = TableReader.fit(NUMBERS, mine, "RFMRegressor")
    assert reader.encoder is not mine
    assert not hasattr(mine, "records_")
    assert rows.shape[1] > 2
    with pytest.raises(ValueError, match="encoder must be \"auto\" or a TableEncoder, got 'one-hot'"):
        TableReader.fit(NUMBERS, "one-hot", "RFMRegressor")


@pytest.mark.parametrize("owner", ["RFMRegressor", "RFMClassifier"])
@pytest.mark.parametrize("table", [NUMBERS, MIXED], ids=["numbers", "mixed"])
def test_error_messages_name_the_estimator(owner, table):
    reader, _ = TableReader.fit(table.to_numpy(), "auto", owner)
    with pytest.raises(ValueError, match=f"X has 1 features, but {owner} is expecting {table.shape[1]} features"):
        reader.encode(table.to_numpy()[:, :1])
    named, _ = TableReader.fit(table, "auto", owner)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        named.encode(table.to_numpy())
    assert any(f"X does not have valid feature names, but {owner} was fitted" in str(w.message) for w in caught)


def test_columns_of_other_names_are_refused():
    reader, _ = TableReader.fit(MIXED, "auto", "RFMRegressor")
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time.*- town"):
        reader.encode(MIXED.rename(columns={"city": "town"}))


@pytest.mark.parametrize("table", [NUMBERS, MIXED], ids=["numbers", "mixed"])
def test_infinity_is_refused_with_the_name_of_the_column(table):
    name = table.columns[0]
    bad = table.copy()
    bad.loc[1, name] = np.inf
    with pytest.raises(ValueError, match=f"infinity in column '{name}'"):
        TableReader.fit(bad, "auto", "RFMRegressor")
    with pytest.raises(ValueError, match=f"infinity in column '{name}'"):
        TableReader.fit(table, "auto", "RFMRegressor")[0].encode(bad)


def test_many_columns_with_infinity_are_abbreviated():
    with pytest.raises(ValueError, match=r"in columns 0, 1, 2, 3, 4 and 3 more \(16 entries\)"):
        TableReader.fit(np.full((2, 8), np.inf), "auto", "RFMRegressor")


@pytest.mark.parametrize("table", [NUMBERS, MIXED], ids=["numbers", "mixed"])
def test_a_row_does_not_depend_on_its_batch(table):
    preprocessing = fitted(table)
    whole = preprocessing.transform(table)
    for i in range(len(table)):
        assert np.array_equal(preprocessing.transform(table.iloc[i : i + 1]), whole[i : i + 1])
    order = np.arange(len(table))[::-1]
    assert np.array_equal(preprocessing.transform(table.iloc[order]), whole[order])


def test_numbers_are_standardised_and_levels_have_the_scale_of_the_encoder():
    preprocessing = fitted(MIXED)
    Z = preprocessing.transform(MIXED)
    encoder = preprocessing.reader.encoder
    prescribed = ~np.isnan(encoder.scales_)
    assert np.array_equal(preprocessing.scaler.scale[prescribed], encoder.scales_[prescribed])
    assert np.allclose(Z[:, ~prescribed].mean(axis=0), 0)
    assert np.allclose(Z[:, ~prescribed].std(axis=0), 1)
    plain = Scaler.fit(preprocessing.encode(MIXED), np.ones(5), center=False, scale=False)
    assert preprocessing.reader.column_scaler(plain, standardize=False) is plain


def test_column_means_replace_unexpected_gaps_with_a_warning():
    preprocessing = fitted(NUMBERS)
    gap = NUMBERS.copy()
    gap.loc[1, "b"] = np.nan
    with pytest.warns(UserWarning, match=r"1 entries of X are missing in column 'b', where no training row has"):
        encoded = preprocessing.encode(gap)
    assert encoded[1].tolist() == [2.0, 4 / 3]
    block = preprocessing.reader.encode_block(gap, preprocessing.column_means)
    assert np.array_equal(block, encoded)


def test_the_column_map_has_the_names_of_the_user():
    assert fitted(NUMBERS).columns.names == ("a", "b")
    assert fitted(NUMBERS.to_numpy()).columns.names == ("x0", "x1")
    columns = fitted(MIXED).columns
    assert columns.names == ("age", "city", "rent")
    assert columns.numeric == (True, False, True)
    assert len(columns.encoded) == fitted(MIXED).n_columns


def test_a_copy_gives_the_same_numbers():
    preprocessing = fitted(MIXED)
    _ = preprocessing.columns
    again = pickle.loads(pickle.dumps(preprocessing))
    assert set(vars(again)) == {"reader", "scaler", "column_means"}
    assert np.array_equal(again.transform(MIXED), preprocessing.transform(MIXED))


def test_missing_entries_of_the_training_table_are_filled_and_marked():
    holes = np.random.default_rng(0).normal(size=(30, 3))
    holes[::7, 2] = np.nan
    made = fitted(holes)
    assert made.reader.encoder.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x2__missing"]
    assert made.columns.names == ("x0", "x1", "x2")
    assert np.isfinite(made.transform(holes)).all()


class TestLaterRows:
    """Later rows of a table of complete numbers are read as those of any other table."""

    reader = TableReader.fit(NUMBERS, "auto", "RFMRegressor")[0]
    other = TableReader.fit(NUMBERS, TableEncoder(), "RFMRegressor")[0]

    def test_masked_entries_are_missing(self):
        unnamed = TableReader.fit(NUMBERS.to_numpy(), "auto", "RFMRegressor")[0]
        masked = np.ma.masked_array([[-999.0, 2.0], [3.0, 4.0]], [[True, False], [False, False]])
        np.testing.assert_array_equal(unnamed.encode(masked), [[np.nan, 2.0], [3.0, 4.0]])

    def test_texts_are_read_and_blanks_are_missing(self):
        rows = pd.DataFrame({"a": ["1", "", "2.5", "NA", " "], "b": [True, "True", Decimal("0.5"), None, "1e3"]})
        expected = [[1, 1], [np.nan, 1], [2.5, 0.5], [np.nan, np.nan], [np.nan, 1000]]
        np.testing.assert_array_equal(self.reader.encode(rows), expected)
        np.testing.assert_array_equal(self.reader.encode_block(rows, np.full(2, np.nan)), expected)

    @pytest.mark.parametrize(
        ("entry", "words"),
        [
            ("hello", "the value 'hello'"),
            (pd.Timestamp("2020-01-01"), "dates"),
            (pd.Timedelta(days=2), "durations"),
            (1j, "the value '1j'"),
        ],
    )
    def test_what_is_no_number_is_refused_by_name(self, entry, words):
        rows = NUMBERS.assign(a=entry)
        for reader in (self.reader, self.other):
            with pytest.raises(ValueError, match=f"column 'a' holds {words}.*and it was fitted as number"):
                reader.encode(rows)
        with pytest.raises(ValueError, match="column 'a' holds"):
            self.reader.encode(rows.astype(object))

    def test_all_columns_of_dates_are_refused(self):
        with pytest.raises(ValueError, match="column 'a' holds dates"):
            self.reader.encode(NUMBERS.assign(a=pd.Timestamp("2020"), b=pd.Timestamp("2021")))

    def test_no_rows_are_refused(self):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            self.reader.encode(NUMBERS[:0])

    def test_one_row_must_be_a_table(self):
        for table in (NUMBERS, MIXED):
            reader = TableReader.fit(table, "auto", "RFMRegressor")[0]
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with pytest.raises(ValueError, match=r"X is a single series.*X.to_frame\(\).T, or frame.iloc\[\[0\]\]"):
                    reader.encode(table.iloc[0])
                for row in (table.iloc[0].to_numpy(), table.iloc[0].tolist()):
                    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
                        reader.encode(row)
