"""Readers for public tables and text on the local disk."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from gramian.datasets.base import Dataset, Split, names
from gramian.datasets.folder import find
from gramian.datasets.images import check_split

_COVERTYPE = (
    "elevation",
    "aspect",
    "slope",
    "horizontal distance to hydrology",
    "vertical distance to hydrology",
    "horizontal distance to roadways",
    "hillshade 9am",
    "hillshade noon",
    "hillshade 3pm",
    "horizontal distance to fire points",
    *(f"wilderness area {i}" for i in range(1, 5)),
    *(f"soil type {i}" for i in range(1, 41)),
)
_DIAMONDS = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "color": ["J", "I", "H", "G", "F", "E", "D"],
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}
"""Ordered categories, worst first."""


def covertype(folder: str | Path | None = None) -> Dataset:
    """Forest cover type from maps: 581,012 rows, 54 columns, classes 1 … 7.

    Parameters
    ----------
    folder : path, optional
        Holds ``covertype/covertype.npz`` with X and y; the folder GRAMIAN_DATA by default.

    Returns
    -------
    Dataset
        ``X (n, 54)`` float32, labels ``y (n,)``.

    >>> covertype(folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no covertype/covertype.npz in nowhere: ...
    """
    with np.load(find("covertype/covertype.npz", folder)) as stored:
        X, y = stored["X"].astype(np.float32), stored["y"].astype(np.int64)
    if X.shape[1] != len(_COVERTYPE):
        raise ValueError(f"covertype has {len(_COVERTYPE)} columns, this file {X.shape[1]}")
    return Dataset(X, y, _COVERTYPE, f"Covertype: {len(X)} patches of forest, seven kinds of trees")


def diamonds(folder: str | Path | None = None) -> Dataset:
    """Prices of 53,940 diamonds with six numbers and three ordered categories; needs pandas.

    Parameters
    ----------
    folder : path, optional
        Holds ``diamonds/diamonds.csv.gz``; the folder GRAMIAN_DATA by default.

    Returns
    -------
    Dataset
        ``X`` a frame (n, 9) whose cut, color and clarity are ordered categories, worst first; ``y (n,)`` the price.

    >>> diamonds(folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no diamonds/diamonds.csv.gz in nowhere: ...
    """
    path = find("diamonds/diamonds.csv.gz", folder)
    pandas = _pandas()
    frame = pandas.read_csv(path)
    for column, order in _DIAMONDS.items():
        frame[column] = pandas.Categorical(frame[column], categories=order, ordered=True)
    X = frame.drop(columns="price")
    y = frame["price"].to_numpy(dtype=np.float64)
    return Dataset(X, y, tuple(X.columns), f"Diamonds: {len(X)} prices in dollars")


def grinsztajn_names(kind: str = "reg_num", folder: str | Path | None = None) -> list[str]:
    """Names of the tables of Grinsztajn et al. (2022) in the folder, those with the fewest rows first.

    Parameters
    ----------
    kind : str
        ``"reg_num"`` (regression) or ``"clf_num"`` (two classes). Folders such as ``"clf_num_60pct"`` hold random parts
        of the benchmark's version: scores on them cannot be compared with published ones.
    folder : path, optional
        Holds ``grinsztajn/manifest.json``; the folder GRAMIAN_DATA by default.

    >>> grinsztajn_names(folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no grinsztajn/manifest.json in nowhere: ...
    """
    entries = json.loads(find("grinsztajn/manifest.json", folder).read_text())
    found = sorted((e["rows"], e["name"]) for e in entries if e["kind"] == kind)
    if not found:
        kinds = ", ".join(sorted({e["kind"] for e in entries}))
        raise ValueError(f"kind={kind!r} is not among the folders here: {kinds}")
    return [name for _, name in found]


def grinsztajn(name: str, kind: str = "reg_num", folder: str | Path | None = None) -> Dataset:
    """A table of the benchmark of Grinsztajn et al. (2022): numbers only, nothing missing, target in the last column.

    Parameters
    ----------
    name : str
        One of :func:`grinsztajn_names`.
    kind : str
        As there.
    folder : path, optional
        Holds ``grinsztajn/<kind>/<name>.csv.gz``; the folder GRAMIAN_DATA by default.

    Returns
    -------
    Dataset
        ``X (n, d)`` float64; ``y (n,)`` float64 values, transformed as the benchmark does, or int64 labels.

    >>> grinsztajn("pol", folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no grinsztajn/reg_num/pol.csv.gz in nowhere: ...
    """
    path = find(f"grinsztajn/{kind}/{name}.csv.gz", folder)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        header = next(csv.reader(file))
        table = np.loadtxt(file, delimiter=",", ndmin=2)
    if table.shape[1] != len(header):
        raise ValueError(f"{path}: {len(header)} names in the first line but {table.shape[1]} numbers in the others")
    X, y = table[:, :-1], table[:, -1]
    if kind.startswith("clf"):
        y = y.astype(np.int64)
    return Dataset(X, y, tuple(header[:-1]), f"Grinsztajn {kind} {name}: {len(X)} rows, {X.shape[1]} columns")


def uci_regression_names(folder: str | Path | None = None) -> list[str]:
    """Names of the UCI regression tables in the folder, the smallest files first.

    Parameters
    ----------
    folder : path, optional
        Holds ``uci_regression/<name>/data.csv.gz``: the folder ``uci_datasets`` of the public repository
        treforevans/uci_datasets. The folder GRAMIAN_DATA by default.

    >>> uci_regression_names(folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no uci_regression/yacht/data.csv.gz in nowhere: ...
    """
    root = find(_uci_regression_file("yacht"), folder).parent.parent
    found = sorted((path.stat().st_size, path.parent.name) for path in root.glob("*/data.csv.gz"))
    return [name for _, name in found]


def uci_regression(name: str, folder: str | Path | None = None) -> Dataset:
    """A regression table of the UCI repository, as prepared in treforevans/uci_datasets: numbers, nothing missing.

    Parameters
    ----------
    name : str
        One of :func:`uci_regression_names`.
    folder : path, optional
        As there.

    Returns
    -------
    Dataset
        ``X (n, d)`` and ``y (n,)``, float64; columns have no names, and those of the table are centred.

    >>> uci_regression("yacht", folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no uci_regression/yacht/data.csv.gz in nowhere: ...
    """
    with gzip.open(find(_uci_regression_file(name), folder), "rt", encoding="utf-8") as file:
        table = np.loadtxt(file, delimiter=",", ndmin=2)
    X, y = table[:, :-1], table[:, -1]
    return Dataset(X, y, names(X.shape[1]), f"UCI {name}: {len(X)} rows, {X.shape[1]} columns")


def _uci_regression_file(name: str) -> str:
    return f"uci_regression/{name}/data.csv.gz"


def uci_names(folder: str | Path | None = None, small: bool = False, by_rows: bool = False) -> list[str]:
    """Names of the UCI classification sets in the folder.

    Parameters
    ----------
    folder : path, optional
        Holds ``uci121/manifest.json``; the folder GRAMIAN_DATA by default.
    small : bool
        Only those with at most 5,000 rows and no second file: the "small" subset of papers B and D.
    by_rows : bool
        Those with the fewest rows first, instead of the order of the file.

    >>> uci_names(folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no uci121/manifest.json in nowhere: ...
    """
    entries = json.loads(find("uci121/manifest.json", folder).read_text())
    if by_rows:
        entries.sort(key=lambda e: (e["n1"], e["name"]))
    return [e["name"] for e in entries if e["ok"] and not (small and (e["n2"] or e["n1"] > 5000))]


def uci(name: str, folder: str | Path | None = None) -> Dataset:
    """One of the UCI classification sets of Fernández-Delgado et al. (2014), with the authors' own index files.

    Parameters
    ----------
    name : str
        One of :func:`uci_names`.
    folder : path, optional
        Holds ``uci121/uci121.npz``; the folder GRAMIAN_DATA by default.

    Returns
    -------
    Dataset
        ``X (n, d)`` float64, z-scored by the authors; labels ``y (n,)``; ``tuning`` their training and validation
        rows; ``splits`` their four training and test parts, which overlap and are not a partition.

    >>> uci("iris", folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no uci121/uci121.npz in nowhere: ...
    """
    with np.load(find("uci121/uci121.npz", folder)) as stored:
        if f"{name}/X" not in stored.files:
            known = sorted(key.removesuffix("/X") for key in stored.files if key.endswith("/X"))
            near = [k for k in known if name[:4] in k] or known[:5]
            raise ValueError(f"name={name!r} is not among the {len(known)} sets here; near it: {', '.join(near)}")

        def rows(key: str) -> np.ndarray:
            return stored[f"{name}/{key}"].astype(np.int64)

        X, y = stored[f"{name}/X"].astype(np.float64), rows("y")
        tuning = Split(rows("fold0"), rows("fold1"))
        splits = tuple(Split(rows(f"kfold{2 * i}"), rows(f"kfold{2 * i + 1}")) for i in range(4))
    text = f"UCI {name}: {len(X)} rows, {X.shape[1]} columns, {len(np.unique(y))} classes"
    return Dataset(X, y, names(X.shape[1]), text, splits=splits, tuning=tuning)


def sst2(split: str = "train", folder: str | Path | None = None) -> Dataset:
    """Sentences from film reviews, bad (0) or good (1): 6,920 to train on, 872 to develop, 1,821 to test.

    Parameters
    ----------
    split : "train", "dev" or "test"
    folder : path, optional
        Holds ``text/sst2_{train,dev,test}.tsv.gz``; the folder GRAMIAN_DATA by default.

    Returns
    -------
    Dataset
        ``X (n,)`` strings, labels ``y (n,)``.

    >>> sst2("dev", folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no text/sst2_dev.tsv.gz in nowhere: ...
    """
    check_split(split, ("train", "dev", "test"))
    path = find(f"text/sst2_{split}.tsv.gz", folder)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").rpartition("\t") for line in file]
    wrong = [i for i, (_, tab, label) in enumerate(lines, 1) if not tab or label not in ("0", "1")]
    if wrong:
        raise ValueError(f"{path}, line {wrong[0]}: expected a sentence, a tab and 0 or 1")
    X = np.array([sentence for sentence, _, _ in lines], dtype=object)
    y = np.array([int(label) for _, _, label in lines], dtype=np.int64)
    return Dataset(X, y, ("sentence",), f"SST-2, {split}: {len(X)} sentences from film reviews")


def _pandas() -> Any:
    try:
        import pandas  # an extra: only this reader returns a frame
    except ImportError as error:
        raise ImportError("diamonds() returns a pandas frame: install pandas first (pip install pandas)") from error
    return pandas
