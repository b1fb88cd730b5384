"""The compared learners."""

import numpy as np
import pytest

from gramian.bench.methods import METHODS, Method, find_method


@pytest.mark.parametrize("name", [n for n, m in METHODS.items() if not m.paper and m.package == "scikit-learn"])
def test_methods_of_scikit_learn_take_arrays_and_frames(name):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 120
    frame = pandas.DataFrame({"x": rng.normal(size=n), "c": pandas.Categorical(rng.choice(["u", "v", "w"], n))})
    y = 1000 + 5 * frame["x"].to_numpy() + 10 * (frame["c"] == "u").to_numpy()
    method = find_method(name)
    model = method.make("regression", frame[:80], 0).fit(frame[:80], y[:80])
    assert model.score(frame[80:], y[80:]) > 0.5
    labels = (y > np.median(y)).astype(int)
    X = np.column_stack([frame["x"], frame["c"] == "u"])
    assert method.make("classification", X, 0).fit(X[:80], labels[:80]).score(X[80:], labels[80:]) > 0.7


@pytest.mark.parametrize("name", ["LightGBM", "XGBoost", "CatBoost", "xRFM", "RealMLP"])
def test_peers_are_missing_or_make_an_estimator(name):
    method = find_method(name)
    if method.missing:
        assert "pip install" in method.missing
        pytest.skip(f"{name}: {method.missing}")
    assert hasattr(method.make("regression", np.zeros((3, 2)), 0), "fit")


def test_a_package_that_is_not_installed_is_reported():
    ghost = Method("ghost", "no-such-distribution", METHODS["SVM"].make)
    assert ghost.missing == "not installed (pip install no-such-distribution)"
    with pytest.raises(ValueError, match="'ghost' is not a method; the methods are gramian"):
        find_method("ghost")
