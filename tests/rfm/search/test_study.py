"""Folds and studies of a search, without the search."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import check_scoring

from gramian import RFMRegressor
from gramian.features import Agop
from gramian.kernels import Laplace
from gramian.rfm.search import published_space
from gramian.rfm.search.space import FIRST_TRIALS
from gramian.rfm.search.study import Fold, digest, open_study
from gramian.solvers import Workspace

pytest.importorskip("optuna")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] * X[:, 1]
TRAIN, HELD_OUT = np.arange(40), np.arange(40, 60)
ESTIMATOR = RFMRegressor(
    kernel=Laplace("median"), update=Agop(), ridge=1e-2, n_rounds=2, select_round="last", target_transform=None
)


def fold(X=X, y=Y, weights=None):
    return Fold.of(clone(ESTIMATOR), (X, y, weights), TRAIN, HELD_OUT, check_scoring(ESTIMATOR))


@pytest.mark.parametrize("weights", [None, RNG.integers(1, 4, size=60)])
def test_scores_after_each_round_are_those_of_fits(weights):
    part = None if weights is None else weights[TRAIN]
    fits = [
        clone(ESTIMATOR).set_params(n_rounds=k).fit(X[TRAIN], Y[TRAIN], part).score(X[HELD_OUT], Y[HELD_OUT])
        for k in range(3)
    ]
    one = fold(weights=weights)
    assert list(one.scores(ESTIMATOR, Workspace())) == pytest.approx(fits, abs=1e-12)
    assert one.score_of_fit(ESTIMATOR) == pytest.approx(fits[-1], abs=1e-12)


def test_the_digest_identifies_inputs_targets_and_weights():
    assert digest([fold()]) == digest([fold()])
    weights = np.arange(1.0, 61.0)
    others = [fold(X=X + (np.arange(60) == 3)[:, None]), fold(y=-Y), fold(weights=weights)]
    assert len({digest([one]) for one in [fold(), *others]}) == 4


def test_a_study_is_continued_only_with_the_same_description(tmp_path):
    def study(**about):
        return open_study(tmp_path / "study.log", "a", about, published_space, prune=True, seed=0)

    assert len(study(space="x", n_rounds=1).trials) == len(FIRST_TRIALS)
    assert len(study(space="x", n_rounds=1).trials) == len(FIRST_TRIALS), "the first trials are added once"
    with pytest.raises(ValueError, match="the study 'a' in this storage was made with other n_rounds: use another"):
        study(space="x", n_rounds=2)
