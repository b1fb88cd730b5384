"""The UCI data sets of papers B and D, by size, and their folds."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold

from gramian.datasets import Dataset, Split, uci

_LIST = """
    trains balloons lenses lung-cancer spect spectf post-operative pittsburg-bridges-SPAN fertility zoo
    pittsburg-bridges-T-OR-D pittsburg-bridges-REL-L pittsburg-bridges-TYPE breast-tissue molec-biol-promoter
    pittsburg-bridges-MATERIAL acute-inflammation acute-nephritis monks-3 heart-switzerland monks-1 echocardiogram
    hayes-roth lymphography iris teaching hepatitis monks-2 audiology-std wine planning flags parkinsons
    breast-cancer-wisc-prog heart-va conn-bench-sonar-mines-rocks image-segmentation seeds glass statlog-heart
    breast-cancer heart-hungarian horse-colic heart-cleveland haberman-survival soybean vertebral-column-2clases
    vertebral-column-3clases primary-tumor ecoli ionosphere libras dermatology congressional-voting arrhythmia musk-1
    cylinder-bands conn-bench-vowel-deterding low-res-spect breast-cancer-wisc-diag ilpd-indian-liver synthetic-control
    hill-valley balance-scale credit-approval statlog-australian-credit breast-cancer-wisc blood energy-y1 energy-y2
    pima annealing statlog-vehicle oocytes_trisopterus_nucleus_2f oocytes_trisopterus_states_5b tic-tac-toe
    mammographic led-display statlog-german-credit oocytes_merluccius_nucleus_4d oocytes_merluccius_states_2f contrac
    yeast semeion plant-texture wine-quality-red plant-margin plant-shape car steel-plates cardiotocography-10clases
    cardiotocography-3clases titanic statlog-image ozone molec-biol-splice chess-krvkp thyroid optical abalone
    statlog-landsat bank spambase wine-quality-white waveform waveform-noise wall-following page-blocks musk-2 ringnorm
    twonorm pendigits mushroom nursery magic letter chess-krvk adult statlog-shuttle connect-4
"""
UCI_SETS = tuple(_LIST.split())
"""The 120 data sets at hand, fewest rows first."""
SMALL_SETS = UCI_SETS[: UCI_SETS.index("oocytes_merluccius_states_2f") + 1]
"""The data sets with at most 1,100 rows."""
LARGE_SETS = UCI_SETS[UCI_SETS.index("wall-following") :]
"""The data sets with more than 5,000 rows."""
BUILT_IN = "iris (scikit-learn)"


def read_uci(name: str) -> Dataset:
    """Return a data set with its tuning split and four folds; scikit-learn's iris has folds of our own.

    >>> data = read_uci(BUILT_IN)
    >>> len(data.splits), data.tuning is not None
    (4, True)
    """
    if name != BUILT_IN:
        return uci(name)
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    tuning, *splits = (Split(train.astype(np.int64), test.astype(np.int64)) for train, test in folds)
    return Dataset(X, y.astype(np.int64), tuple("abcd"), "iris", splits=tuple(splits), tuning=tuning)
