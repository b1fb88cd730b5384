"""A description holds what a prediction needs and nothing of its columns' names is lost; other parts are refused."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from exported_models import ONE, fitted, rows
from gramian import RFMRegressor
from gramian.kernels import Laplace
from gramian.rfm.export import NotExportableError, describe
from gramian.rfm.model import Ensemble
from gramian.tables.links import Link


@dataclass(frozen=True)
class OtherKernel(Laplace):
    """A kernel that nobody has told the predictor of."""


class OtherLink(Link):
    def log_probabilities(self, scores):
        return scores

    def description(self):
        return "none"


def test_it_is_plain_json_and_arrays_of_numbers():
    for name in ("frame, classes", "tree", "scores of long tails", "several targets", "shifted log"):
        found = describe(fitted(name)[0].model_)
        json.dumps(found.manifest, allow_nan=False)
        assert {array.dtype.kind for array in found.arrays.values()} <= set("fi")


def test_rows_that_several_models_share_are_stored_once():
    found = describe(fitted("bagging")[0].model_)
    parts = found.manifest["sums"]
    assert len(parts) > 1
    assert len({part["rows"] for part in parts}) == 1
    assert len({part["coef"] for part in parts}) == len(parts)


def test_unknown_kernels_links_and_several_trees_are_refused_by_name():
    with pytest.raises(NotExportableError, match="OtherKernel"):
        describe(RFMRegressor(kernel=OtherKernel(2.0), **ONE).fit(*rows(40)).model_)
    model = fitted("two classes")[0].model_
    with pytest.raises(NotExportableError, match="OtherLink"):
        describe(replace(model, fitted_link=OtherLink()))
    tree = fitted("tree")[0].model_
    with pytest.raises(NotExportableError, match="several trees"):
        describe(replace(tree, ensemble=Ensemble(tree.ensemble.machines * 2, (0.5, 0.5))))


def test_labels_that_a_file_cannot_hold_are_refused():
    model = fitted("two classes")[0].model_
    target = replace(model.target, classes=np.array([(1, 2), (3, 4), None], dtype=object)[:2])
    with pytest.raises(NotExportableError, match="tuple"):
        describe(replace(model, target=target))
