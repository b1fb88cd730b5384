"""Arguments of the estimators: names are resolved, and wrong values are named in errors."""

import inspect
import math
from dataclasses import FrozenInstanceError
from typing import get_args, get_type_hints

import numpy as np
import pytest
import torch

from gramian import RFMClassifier, RFMRegressor
from gramian.core.compute import Compute
from gramian.core.pool import Serial, Threads
from gramian.features import BY_NAME as UPDATES
from gramian.features import Agop
from gramian.kernels import BY_NAME as KERNELS
from gramian.kernels import Gaussian, Laplace
from gramian.rfm.options import (
    PRESETS,
    SOLVERS,
    FitOptions,
    KernelName,
    PresetName,
    SolverName,
    TreePartition,
    UpdateName,
    nested_options,
    nested_params,
    preset,
    resolve_kernels,
    resolve_seed,
    resolve_solver,
    resolve_updates,
)
from gramian.solvers import BY_NAME as EXACT_SOLVERS
from gramian.solvers import Direct, Nystrom
from gramian.tables import TableEncoder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] - 2 * X[:, 1]


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"kernel": "cubic"}, 'kernel must be one of "laplace"'),
        ({"update": "magic"}, "update must be one of"),
        ({"solver": "qr"}, "solver must be one of"),
        ({"ridge": -1.0}, "ridge"),
        ({"ridge": "some"}, "ridge"),
        ({"ridge": np.nan}, "ridge"),
        ({"n_rounds": -1}, "n_rounds"),
        ({"n_rounds": 1.5}, "n_rounds"),
        ({"select_round": "first"}, "select_round"),
        ({"ridge_scaling": "d"}, "ridge_scaling"),
        ({"feature_threshold": 1.0}, "feature_threshold"),
        ({"dtype": "float16"}, "dtype"),
        ({"device": "abacus"}, "device"),
        ({"max_memory": "lots"}, "memory"),
        ({"max_memory": 10}, "raise max_memory"),
        ({"n_threads": 0}, "n_threads"),
        ({"n_threads": 1.5}, "n_threads"),
        ({"ridge": None}, "ridge"),
        ({"feature_threshold": "a"}, "feature_threshold"),
        ({"device": "meta"}, "holds no numbers"),
        ({"max_memory": float("inf")}, "memory"),
        ({"random_state": -1}, "random_state"),
        ({"time_limit": 0}, "time_limit must be a positive number"),
        ({"preset": "quick"}, "'fast', 'default', 'best'"),
        ({"encoder": "one-hot"}, 'encoder must be "auto" or a TableEncoder'),
    ],
)
def test_bad_parameters_are_named(params, word):
    with pytest.raises(ValueError, match=word):
        RFMRegressor(**params).fit(X, Y)


def test_names_of_presets_are_listed():
    assert list(PRESETS) == ["fast", "default", "best"]
    with pytest.raises(ValueError, match="'fast', 'default', 'best'"):
        preset("quick")


def test_options_of_an_encoder_can_be_set():
    model = RFMRegressor(encoder=TableEncoder()).set_params(encoder__max_categories=5)
    assert model.encoder.max_categories == 5
    assert model.set_params(**model.get_params()).encoder.max_categories == 5


@pytest.mark.parametrize(
    ("literal", "registry"),
    [(KernelName, KERNELS), (UpdateName, UPDATES), (SolverName, SOLVERS)],
    ids=["kernel", "update", "solver"],
)
def test_the_names_an_editor_shows_are_those_of_the_registry(literal, registry):
    names = get_args(literal)
    assert len(set(names)) == len(names)
    assert set(names) == {"auto", *registry}


def test_presets_and_solvers_are_named_completely():
    assert set(get_args(PresetName)) == set(PRESETS)
    assert set(SOLVERS) == {*EXACT_SOLVERS, "tree"}
    assert SOLVERS["tree"] == TreePartition()


@pytest.mark.parametrize("estimator", [RFMRegressor, RFMClassifier])
def test_every_argument_of_a_constructor_is_keyword_only_typed_and_documented(estimator):
    parameters = list(inspect.signature(estimator.__init__).parameters.values())[1:]
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters)
    hints = get_type_hints(estimator.__init__)
    for parameter in parameters:
        assert parameter.name in hints
        assert f"\n    {parameter.name} : " in estimator.__doc__, parameter.name


class TestNames:
    def test_auto_means_the_kernels_and_updates_of_the_preset(self):
        fast = PRESETS["fast"]
        assert resolve_kernels("auto", fast) == fast.kernels
        assert resolve_updates("auto", fast, d=5, agop_rows=None) == fast.updates
        assert resolve_updates("auto", fast, d=1, agop_rows=None) == (Agop(),), "one column has one direction"
        assert {u.max_rows for u in resolve_updates("auto", fast, d=5, agop_rows=100)} == {100}

    def test_a_name_or_an_object_stands_for_itself(self):
        default = PRESETS["default"]
        assert resolve_kernels("gaussian", default) == (KERNELS["gaussian"],)
        assert resolve_kernels(Gaussian(3.0), default) == (Gaussian(3.0),)
        assert resolve_updates(Agop(power=0.5), default, d=5, agop_rows=100) == (Agop(power=0.5),)
        assert resolve_solver("nystrom") == EXACT_SOLVERS["nystrom"]
        assert resolve_solver(Nystrom(centers=7)) == Nystrom(centers=7)
        assert resolve_solver("tree") == TreePartition()

    def test_the_owner_of_nested_options_has_a_default(self):
        assert nested_options("kernel", "auto", {}) == Laplace()
        assert nested_options("update", "auto", {}) == Agop()
        assert nested_options("solver", "auto", {}) == Direct()
        assert nested_options("solver", "tree", {"leaf_rows": 9}) == TreePartition(leaf_rows=9)
        encoder = nested_options("encoder", "auto", {"rank_gauss": True})
        assert isinstance(encoder, TableEncoder)
        assert encoder.rank_gauss
        assert nested_params({"a": 1, "kernel__bandwidth": 2.0}) == {"kernel": {"bandwidth": 2.0}}


class TestFitOptions:
    def resolve(self, **params):
        return FitOptions.resolve(RFMRegressor(**params).get_params(deep=False))

    def test_presets_fill_what_is_automatic(self):
        best = self.resolve(preset="best")
        assert (best.n_rounds, best.bagging, len(best.kernels)) == (5, True, 6)
        mine = self.resolve(preset="best", n_rounds=1, bagging=False, kernel="laplace")
        assert (mine.n_rounds, mine.bagging, mine.kernels) == (1, False, (Laplace(),))

    def test_means_are_subtracted_where_columns_are_scaled_or_only_differences_count(self):
        assert self.resolve().center
        assert self.resolve(standardize=False, kernel="laplace").center
        assert not self.resolve(standardize=False, kernel="polynomial").center

    def test_it_is_frozen(self):
        with pytest.raises(FrozenInstanceError):
            self.resolve().n_rounds = 3

    def test_a_random_state_becomes_a_seed(self):
        assert resolve_seed(7) == resolve_seed(np.int64(7)) == 7
        one, same = (resolve_seed(np.random.RandomState(0)) for _ in range(2))
        assert one == same
        assert 0 <= resolve_seed(None) < 2**31


class TestCompute:
    def test_arguments_are_resolved(self):
        compute = Compute.resolve("cpu", "float32", "2GB", 2, None)
        assert compute.device == torch.device("cpu")
        assert (compute.max_bytes, compute.on_cluster) == (2 * 10**9, False)
        assert compute.pool() == Threads(2)
        assert Compute.resolve("cpu", "auto", "1GB", None, None).pool() == Serial()

    def test_a_cluster_is_automatic_or_not_used(self):
        with pytest.raises(ValueError, match='cluster must be "auto" or None'):
            Compute.resolve("cpu", "auto", "1GB", None, "everywhere")


class TestTreePartition:
    @pytest.mark.parametrize(
        "options", [{"leaf_rows": 1}, {"overlap": 0.5}, {"overlap": -0.1}, {"workers": 0}, {"features": "own"}]
    )
    def test_a_tree_that_makes_no_sense_is_refused(self, options):
        with pytest.raises(ValueError, match=next(iter(options))):
            TreePartition(**options)

    def test_rows_in_bands_are_counted_in_each_of_their_leaves(self):
        assert TreePartition(leaf_rows=2000, overlap=0.0).n_centers(10**6) == 10**6
        assert TreePartition(leaf_rows=100).n_centers(100) == 100
        tree = TreePartition(leaf_rows=100, overlap=0.1)
        depth = math.ceil(math.log(10) / math.log(2 / 1.1))
        assert tree.n_centers(1000) == int(1000 * 1.1**depth)
        assert tree.splits(101)
        assert not tree.splits(100)

    def test_as_many_leaves_at_a_time_as_torch_has_threads(self):
        assert TreePartition().at_once == torch.get_num_threads()
        assert TreePartition(workers=3).at_once == 3

    def test_its_options_can_be_set_through_the_estimator(self):
        model = RFMRegressor(solver="tree").set_params(solver__leaf_rows=500)
        assert model.solver == TreePartition(leaf_rows=500)
