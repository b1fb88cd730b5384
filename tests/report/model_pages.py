"""Rows for models and their pages, for tests of pages about models."""

import numpy as np

from gramian.report import write_report
from html_checks import check


def rows(n=90, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + np.sin(2 * X[:, -1]) + 0.1 * rng.normal(size=n)


def read(model, tmp_path, **options):
    text = write_report(model, tmp_path / "folder" / "page.html", **options).read_text(encoding="utf-8")
    return text, check(text)
