"""Saved models: the same predictions in a fresh process, small files, and everything else a model can do."""

import inspect
import io
import os
import pickle
import subprocess
import sys
from dataclasses import is_dataclass, replace

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.exceptions import NotFittedError

import gramian
from gramian.core.options import Options
from gramian.datasets import diamonds
from gramian.features import Agop
from gramian.files import ModelFileError, read, registered, write
from gramian.kernels import BY_NAME as KERNELS
from gramian.kernels import Gaussian, KernelOperator, Laplace, Metric
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import Ensemble
from gramian.tables import TableEncoder
from gramian.tables.encodings import Encoding

IRIS = load_iris(return_X_y=True)
FRIEDMAN = make_friedman1(n_samples=150, random_state=0)
QUICK = {"n_rounds": 1, "ridge": 1e-2, "kernel": Laplace(5.0), "update": "agop", "select_round": "last"}


def regressor(**options):
    return gramian.RFMRegressor(**{**QUICK, **options}).fit(*FRIEDMAN)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.gramian"


def through(model, path, **options):
    model.save(path)
    return gramian.load(path, **options)


@pytest.fixture(scope="module")
def two_targets():
    return gramian.RFMRegressor(**QUICK).fit(FRIEDMAN[0], np.column_stack([FRIEDMAN[1], -FRIEDMAN[1]]))


LABELS = {
    "integers": IRIS[1] + 7,
    "text": np.array(["setosa", "äöü", ""])[IRIS[1]],
    "objects": np.array(["z", "a", "m"], dtype=object)[IRIS[1]],
    "booleans": IRIS[1] == 1,
    "floats": IRIS[1] - 1.0,
}


@pytest.mark.parametrize("kind", LABELS)
def test_classifiers_keep_labels_and_probabilities(path, kind):
    y = LABELS[kind]
    model = gramian.RFMClassifier(**QUICK).fit(IRIS[0], y)
    back = through(model, path)
    assert type(back) is gramian.RFMClassifier
    assert back.classes_.dtype == model.classes_.dtype
    assert np.array_equal(back.predict(IRIS[0]), model.predict(IRIS[0]))
    assert np.array_equal(back.predict_proba(IRIS[0]), model.predict_proba(IRIS[0]))


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_predicts_the_same_bits(path, kernel):
    update = Agop(diagonal=True) if KERNELS[kernel].needs_axis_aligned_metric else "agop"
    model = regressor(kernel=kernel, update=update)
    assert np.array_equal(through(model, path).predict(FRIEDMAN[0]), model.predict(FRIEDMAN[0]))


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": "float32"},
        {"solver": "cg"},
        {"feature_threshold": 0.05},
        {"n_rounds": 0},
        {"ridge": "auto", "select_round": "best", "update": "auto"},
        {"kernel": Gaussian("median", bandwidth_scale=2.0), "update": "fact"},
        {"standardize": False, "fit_intercept": False},
    ],
    ids=str,
)
def test_every_setting_predicts_the_same_bits(path, options):
    model = regressor(**options)
    back = through(model, path)
    X = FRIEDMAN[0] + 0.01
    assert np.array_equal(back.predict(X), model.predict(X))
    assert np.array_equal(back.gradients(X[:5]), model.gradients(X[:5]))
    assert np.array_equal(back.transform(X), model.transform(X))
    np.testing.assert_array_equal(back.feature_importances_, model.feature_importances_)
    assert repr(back.rounds_) == repr(model.rounds_)
    assert repr(back.get_params()) == repr(model.get_params())
    assert back.machine_ is back.ensemble_.best


@pytest.mark.slow
def test_diamonds_in_a_fresh_process(path, tmp_path, data_dir):
    """10,000 rows of mixed types, a fast fit."""
    pandas = pytest.importorskip("pandas")
    data = diamonds()
    at = np.random.default_rng(0).permutation(len(data.y))[:12_000]
    X, y = data.X.iloc[at], np.asarray(data.y)[at]
    model = gramian.RFMRegressor(preset="fast").fit(X[:10_000], y[:10_000])
    model.save(path)
    assert path.stat().st_size < 5e6
    X[10_000:].to_csv(tmp_path / "new.csv", index=False)
    new = pandas.read_csv(tmp_path / "new.csv")
    script = (
        "import sys, numpy as np, pandas, gramian\n"
        "folder = sys.argv[1]\n"
        "new = pandas.read_csv(folder + '/new.csv')\n"
        "np.save(folder + '/out.npy', gramian.load(folder + '/m.gramian').predict(new))\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, env=os.environ)
    assert np.array_equal(np.load(tmp_path / "out.npy"), model.predict(new))


def test_a_fresh_process_predicts_the_same_bits(path, tmp_path, two_targets):
    two_targets.save(path)
    np.save(tmp_path / "X.npy", FRIEDMAN[0] + 0.01)
    script = (
        "import sys, numpy as np, gramian\n"
        "folder = sys.argv[1]\n"
        "np.save(folder + '/out.npy', gramian.load(folder + '/m.gramian').predict(np.load(folder + '/X.npy')))\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, env=os.environ)
    assert np.array_equal(np.load(tmp_path / "out.npy"), two_targets.predict(FRIEDMAN[0] + 0.01))


def test_frames_keep_their_names(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(FRIEDMAN[0], columns=[f"column {i}" for i in range(10)])
    model = gramian.RFMRegressor(**QUICK).fit(frame, FRIEDMAN[1])
    back = through(model, path)
    assert list(back.feature_names_in_) == list(frame.columns)
    assert np.array_equal(back.predict(frame), model.predict(frame))


def mixed_frame(pandas):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "size": rng.normal(size=80),
            "colour": rng.choice(["red", "blue", "größe"], size=80),
            "when": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(rng.integers(0, 500, 80), unit="D"),
            "grade": pandas.Categorical(rng.choice(["low", "mid", "high"], 80), ["low", "mid", "high"], ordered=True),
            "sold": rng.random(80) < 0.5,
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::9, "colour"] = None
    return frame


def test_raw_frames_intervals_and_sets(path):
    pandas = pytest.importorskip("pandas")
    frame = mixed_frame(pandas)
    y = np.exp(frame["size"].fillna(0) + (frame["colour"] == "red"))
    model = gramian.RFMRegressor(**QUICK, target_transform="log").fit(frame, y)
    back = through(model, path)
    new = frame.sample(30, random_state=0).assign(colour="never seen")
    assert np.array_equal(back.predict(new), model.predict(new))
    assert np.array_equal(back.predict_interval(new, 0.8), model.predict_interval(new, 0.8))
    labels = np.where(y > y.median(), "dear", "cheap")
    classifier = gramian.RFMClassifier(**QUICK, class_weight={"dear": 2.0, "cheap": 1.0}).fit(frame, labels)
    back = through(classifier, path)
    assert back.class_weight == {"dear": 2.0, "cheap": 1.0}
    assert np.array_equal(back.predict_proba(new), classifier.predict_proba(new))
    assert np.array_equal(back.predict_set(new, 0.8), classifier.predict_set(new, 0.8))


def test_an_encoder_of_every_kind_of_column(path):
    rows = np.array(
        [
            [1.5, "red", True, np.datetime64("2024-01-01"), "z"],
            [None, "blue", False, np.datetime64("2024-05-07"), "é"],
            [0.5, None, None, np.datetime64("NaT"), ""],
            [2.5, "red", True, np.datetime64("2023-01-01"), "y"],
        ],
        dtype=object,
    )
    for options in ({}, {"rank_gauss": True}, {"missing": "fill", "max_categories": 2}):
        encoder = TableEncoder(**options).fit(rows)
        write(encoder, path)
        back = read(path)
        assert np.array_equal(back.transform(rows), encoder.transform(rows))
        assert back.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
        assert back.kinds_ == encoder.kinds_
        assert np.array_equal(
            back.transform([[9.0, "new", True, None, "z"]]), encoder.transform([[9.0, "new", True, None, "z"]])
        )


def test_the_members_of_an_ensemble_share_their_rows_in_the_file_and_after_it(path):
    X, y = make_friedman1(n_samples=2000, n_features=40, random_state=0)
    model = gramian.RFMRegressor(**QUICK, dtype="float32").fit(X, y)
    one = model.machine_
    model.save(path)
    alone = path.stat().st_size
    other = KernelMachine(KernelOperator(Gaussian(3.0), one.X), one.coef.clone())
    model.model_ = replace(model.model_, ensemble=Ensemble((one, other), (0.6, 0.4)))
    back = through(model, path)
    assert path.stat().st_size < alone + 5_000
    assert path.stat().st_size < 1.5 * one.X.numel() * 4
    first, second = back.ensemble_.machines
    assert first.X is second.X
    assert first.X.dtype == torch.float32
    assert np.array_equal(back.predict(X[:50]), model.predict(X[:50]))


def test_what_was_computed_on_the_way_is_not_saved(path):
    model = regressor()
    model.save(path)
    before = path.stat().st_size
    assert model.agop_.shape == (10, 10)
    model.predict(FRIEDMAN[0])
    model.save(path)
    assert path.stat().st_size == before


def test_a_loaded_model_can_be_cloned_and_fitted_again(path):
    model = regressor(random_state=3)
    back = through(model, path)
    assert repr(clone(back).get_params()) == repr(clone(model).get_params())
    back.fit(*FRIEDMAN)
    np.testing.assert_allclose(back.predict(FRIEDMAN[0]), model.predict(FRIEDMAN[0]), rtol=1e-12)
    back.set_params(kernel__bandwidth=2.0).fit(*FRIEDMAN)
    assert back.kernel_.bandwidth == 2.0


def test_saving_a_loaded_model_gives_the_same_file(path, tmp_path):
    back = through(regressor(), path)
    back.save(tmp_path / "again.gramian")
    assert (tmp_path / "again.gramian").read_bytes() == path.read_bytes()


def test_device(path):
    model = regressor(device="auto")
    back = through(model, path, device="cpu")
    assert back.device == "cpu"
    assert back.machine_.X.device.type == "cpu"
    assert gramian.load(path).device == "auto"
    if not torch.cuda.is_available():
        model.device = "cuda"  # fitted on a machine that had one
        back = through(model, path)
        assert back.device == "auto"
        assert np.array_equal(back.fit(*FRIEDMAN).predict(FRIEDMAN[0]), regressor().predict(FRIEDMAN[0]))


def test_an_unfitted_model_is_refused(path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        gramian.RFMRegressor().save(path)
    assert not path.exists()


def test_what_cannot_be_kept_is_named(path):
    with pytest.raises(ValueError, match=r"model.random_state is a numpy.random.*RandomState"):
        regressor(random_state=np.random.RandomState(0)).save(path)


def test_a_file_that_holds_no_model(path):
    write({"a": 1}, path)
    with pytest.raises(ModelFileError, match="holds a dict, not a model"):
        gramian.load(path)


@pytest.mark.parametrize("dump", [pickle.dumps, lambda m: joblib_bytes(m)], ids=["pickle", "joblib"])
def test_pickle_and_joblib_work_too(dump, two_targets):
    content = dump(two_targets)
    back = joblib.load(io.BytesIO(content))
    assert np.array_equal(back.predict(FRIEDMAN[0]), two_targets.predict(FRIEDMAN[0]))
    assert len(content) < 20 * FRIEDMAN[0].nbytes


def joblib_bytes(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    return buffer.getvalue()


def subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses(sub)


def test_every_kernel_metric_update_solver_and_encoding_may_stand_in_a_file():
    concrete = {
        c
        for base in (Options, Metric, Encoding)
        for c in subclasses(base)
        if c.__module__.startswith("gramian.") and not inspect.isabstract(c)
    }
    assert len(concrete) > 15
    assert concrete <= set(registered().values())


def test_nothing_in_the_list_can_do_harm():
    """Only gramian's own types stand in the allow-list: frozen records, and classes made without arguments."""
    for cls in registered().values():
        assert cls.__module__.startswith("gramian.")
        if not is_dataclass(cls):
            cls()
