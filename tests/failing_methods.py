"""Methods that fail in different ways, for tests of the benchmark; importable by worker processes."""

import os
import time

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from gramian.bench.methods import Method


class Broken(DummyClassifier):
    """Raise, exit or sleep in ``fit``, or predict NaN."""

    def __init__(self, how="raise"):
        super().__init__()
        self.how = how

    def fit(self, X, y):
        if self.how == "raise":
            raise RuntimeError("no luck\ntoday")
        if self.how == "die":
            os._exit(3)
        if self.how == "sleep":
            time.sleep(60)
        return super().fit(X, y)

    def predict(self, X):
        return np.full(len(X), np.nan) if self.how == "nan" else super().predict(X)


def tree(kind, X, seed):
    return DecisionTreeClassifier(random_state=seed)


def dummy(kind, X, seed):
    return DummyClassifier()


def raises(kind, X, seed):
    return Broken("raise")


def dies(kind, X, seed):
    return Broken("die")


def sleeps(kind, X, seed):
    return Broken("sleep")


def gives_nan(kind, X, seed):
    return Broken("nan")


MADE = {f.__name__: Method(f.__name__, "scikit-learn", f) for f in (tree, dummy, raises, dies, sleeps, gives_nan)}


def find(name):
    return MADE[name.partition("@")[0]]
