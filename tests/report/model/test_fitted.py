"""The rows that a model was really fitted to, and its kernels."""

import dataclasses

import numpy as np
import pytest
import torch

from gramian import RFMRegressor
from gramian.report.model.fitted import FittedRows, fitted_rows, selected_kernels
from gramian.rfm import TreePartition
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import Ensemble
from gramian.solvers import Nystrom
from report.model_pages import rows

LARGE = {"kernel": "laplace", "update": "agop", "n_rounds": 1, "ridge": 1e-3}


def test_all_rows_also_if_some_are_equal():
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(np.r_[X, X[:20]], np.r_[y, y[:20]]).model_
    assert model.history.plan.n == 90, "equal rows are merged"
    assert fitted_rows(model) == FittedRows(110, 110, 110)


def test_a_large_fit_holds_rows_out():
    X, y = rows(n=700)
    nystrom = RFMRegressor(solver=Nystrom(centers=100), **LARGE).fit(X, y).model_
    assert fitted_rows(nystrom) == FittedRows(700, 630, 100)
    tree = RFMRegressor(solver=TreePartition(leaf_rows=200), **LARGE).fit(X, y).model_
    assert fitted_rows(tree) == FittedRows(700, 630, 630)


@pytest.mark.parametrize("embedded", [True, False])
def test_a_model_from_the_screening_is_fitted_to_a_part_of_the_rows(embedded):
    """After a time limit the model of a split is the result: with coefficients 0 for other rows, or without them."""
    X, y = rows()
    model = RFMRegressor(kernel="laplace", n_rounds=0).fit(X, y).model_
    machine, few = model.machine, torch.arange(40)
    part = KernelMachine(dataclasses.replace(machine.operator, X=machine.X[:40]), machine.coef[:40])
    if embedded:
        part = part.embedded(machine.X, few, None)
    index = model.row_index if embedded else model.row_index[:40]
    ended = dataclasses.replace(model, ensemble=Ensemble((part,), (1.0,)), row_index=index)
    assert fitted_rows(ended).description == "40 of 90 rows"
    assert fitted_rows(ended, 120).description == "40 of 120 rows"


def test_a_compressed_model_has_fewer_centres():
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y)
    assert fitted_rows(model.compressed(30).model_).description == "all 90 rows, with 30 of them as centres"


def test_kernels_of_an_average_have_shares():
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y).model_
    names = selected_kernels(model)
    assert len(names) == len(model.ensemble.machines)
    assert all(("%" in name) == (len(names) > 1) for name in names)
