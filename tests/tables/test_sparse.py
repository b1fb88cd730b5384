"""Sparse matrices as tables: the same model as of the dense table, or a message with the numbers."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from gramian import RFMClassifier, RFMRegressor, RFMSearch
from gramian.tables.blocks import SparseBlocks, as_blocks
from gramian.tables.sparse import check_sparse

RNG = np.random.default_rng(0)
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
DENSE = np.where(RNG.random((60, 5)) < 0.4, RNG.normal(size=(60, 5)), 0.0)
Y = DENSE[:, 0] + 0.1 * RNG.normal(size=60)
OPTIONS = {"preset": "fast", "n_rounds": 1}


@pytest.fixture(scope="module")
def model():
    return RFMRegressor(**OPTIONS).fit(scipy.sparse.csr_array(DENSE), Y)


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("container", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_every_format_is_read_as_its_dense_table(model, kind, container):
    table = container(DENSE).asformat(kind)
    dense = RFMRegressor(**OPTIONS).fit(DENSE, Y)
    np.testing.assert_array_equal(model.predict(table), dense.predict(DENSE))
    np.testing.assert_array_equal(model.gradients(table), dense.gradients(DENSE))
    np.testing.assert_array_equal(model.transform(table), dense.transform(DENSE))


def test_fits_of_sparse_and_dense_tables_are_the_same_model(model):
    dense = RFMRegressor(**OPTIONS).fit(DENSE, Y)
    np.testing.assert_array_equal(model.dual_coef_, dense.dual_coef_)
    weights = np.arange(60) % 3.0  # rows of weight 0 are dropped before all else
    table = scipy.sparse.coo_matrix(DENSE)
    sparse, plain = (RFMRegressor(**OPTIONS).fit(X, Y, sample_weight=weights) for X in (table, DENSE))
    np.testing.assert_array_equal(sparse.predict(DENSE), plain.predict(DENSE))
    judged = RFMRegressor(**OPTIONS).fit(table, Y, eval_set=(table, Y))
    np.testing.assert_array_equal(
        judged.predict(table), RFMRegressor(**OPTIONS).fit(DENSE, Y, eval_set=(DENSE, Y)).predict(DENSE)
    )


def test_explanations_take_sparse_rows(model):
    table = scipy.sparse.csr_matrix(DENSE)
    one, same = model.explain(table[:1]), model.explain(DENSE[0])
    np.testing.assert_array_equal(one.contributions, same.contributions)
    assert len(model.explain(table[:3])) == 3
    assert model.refit_on_top_columns(table, Y, k=2).n_features_in_ == 2


def test_a_pipeline_with_a_sparse_encoder():
    frame = pd.DataFrame({"city": RNG.choice(list("abcdefgh"), 120), "size": RNG.choice(list("xyz"), 120)})
    y = np.where(frame["city"].isin(["a", "b"]), "yes", "no")
    sparse = ColumnTransformer([("levels", OneHotEncoder(), ["city", "size"])], sparse_threshold=1.0)
    pipeline = make_pipeline(sparse, RFMClassifier(**OPTIONS)).fit(frame, y)
    assert scipy.sparse.issparse(pipeline[0].transform(frame))
    dense = make_pipeline(sparse.set_params(sparse_threshold=0.0), RFMClassifier(**OPTIONS)).fit(frame, y)
    np.testing.assert_array_equal(pipeline.predict_proba(frame), dense.predict_proba(frame))
    assert pipeline.score(frame, y) > 0.9
    assert RFMClassifier().__sklearn_tags__().input_tags.sparse


def test_a_search_takes_a_sparse_table():
    pytest.importorskip("optuna")
    search = RFMSearch(RFMRegressor(**OPTIONS), n_trials=1, n_rounds=0, cv=2)
    assert search.fit(scipy.sparse.csr_array(DENSE), Y).n_features_in_ == 5


def test_a_table_that_does_not_fit_is_refused_with_the_numbers_and_the_way_out():
    table = scipy.sparse.csr_array((300, 5000))
    with pytest.raises(
        ValueError, match=r"300 rows × 5,000 columns.*48\.0 MB.*max_memory is 1\.0 MB.*raise max_memory"
    ):
        RFMRegressor(max_memory="1MB").fit(table, RNG.normal(size=300))
    assert check_sparse(table, 48_000_000) is table
    with pytest.raises(ValueError, match="max_memory"):
        check_sparse(table, 47_999_999)
    assert check_sparse(DENSE, 1) is DENSE, "a dense table is in memory already"


def test_blocks_are_dense_and_cover_all_rows_in_order():
    blocks = as_blocks(scipy.sparse.csc_matrix(DENSE), Y)
    assert isinstance(blocks, SparseBlocks)
    assert (blocks.n_rows, blocks.n_columns) == DENSE.shape
    small = SparseBlocks(scipy.sparse.csc_matrix(DENSE), Y, size=7)
    parts = list(small.each(lambda block: block))
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), DENSE)
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), Y)
    np.testing.assert_array_equal(small.rows(np.array([3, 40])).X, DENSE[[3, 40]])
