"""The table :data:`MATRICES` of all feature matrices of a layer, one frozen entry each.

Signs and normalisation come from :mod:`gramian.features`, which the kernel machines call too. To add a matrix, add an
entry: the report, the similarities and the columns of the report read this table only.

>>> MATRICES["agop"].side, MATRICES["ptk"].side
('input', 'output')
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.features import (
    agop_from_moments,
    enfa_from_moments,
    fact_from_moments,
    fact_symmetric,
    nfm,
    vcs_from_moments,
)
from gramian.nets.alignment import congruence
from gramian.nets.feature_matrix import Blocks, FeatureMatrix, Need, SimilarityColumn, psd_factor
from gramian.nets.sums import LayerSums


def find_matrix(name: str) -> FeatureMatrix:
    """The entry of a name; an unknown name raises a ValueError that lists all.

    >>> find_matrix("nfm").psd
    True
    """
    if name not in MATRICES:
        raise ValueError(f"there is no matrix {name!r}; choose one of {', '.join(MATRICES)}")
    return MATRICES[name]


# What matrices need.


_PASS_LOSS = "pass loss= to inspect, and data with targets (and columns= that include it, if any)"


def _loss_missing(sums: LayerSums) -> str | None:
    return None if sums.loss is not None else f"needs the loss: {_PASS_LOSS}"


def _gradient_missing(sums: LayerSums) -> str | None:
    if sums.gradient is not None or sums.no_fact_reason is not None:  # then that reason counts
        return None
    return f"needs the gradient of the loss: {_PASS_LOSS}"


def _decay_missing(sums: LayerSums) -> str | None:
    reason = sums.no_fact_reason or sums.decay.reason
    return None if reason is None else f"cannot be formed: {reason}"


def _initial_missing(sums: LayerSums) -> str | None:
    if sums.initial is not None:
        return None
    return "needs the initial weights: pass initial=state_dict (or the untrained model)"


def _mean_missing(sums: LayerSums) -> str | None:
    if sums.mean is not None:
        return None
    return (
        "needs the mean gradient of every output, which projections drawn for each sample separately lack: pass "
        "options=InspectOptions(projections='shared'), outputs='all' or a list of outputs"
    )


def _one_use_missing(sums: LayerSums) -> str | None:
    if sums.gradient is None and sums.loss is not None:
        return "is not known: the layer multiplies by a matrix that is no parameter, so it has no gradient"
    if sums.tied_to is None:
        return None
    return f"is not known: its weight is tied to {sums.tied_to!r}, and the gradient of the weight covers both uses"


def _pairs_missing(sums: LayerSums) -> str | None:
    if sums.change is not None or sums.stored_side != "output":
        return None
    return (
        "was not measured: include 'centered' in columns=, if any; rows that are routed have no change, because other "
        "rows are routed with the initial weights"
    )


def _kernel_missing(sums: LayerSums) -> str | None:
    if sums.stored_side != "input" or sums.weight.shape[1] > sums.max_dim:  # a layer that is too wide has its own error
        return None
    return "was not measured: include 'output' or 'chance' in columns="


LOSS = Need("loss", _loss_missing)
KERNEL = Need("kernel at the output", _kernel_missing)
PAIRED_ROWS = Need("rows of both passes", _pairs_missing)
GRADIENT = Need("gradient of the loss", _gradient_missing)
ONE_USE = Need("gradient of one use", _one_use_missing)
WEIGHT_DECAY = Need("weight decay", _decay_missing)
INITIAL_WEIGHTS = Need("initial weights", _initial_missing)
MEAN_GRADIENTS = Need("mean gradients", _mean_missing)


# Gram matrices of the weights.


def _grams(W: Float[Tensor, "g m k"]) -> Float[Tensor, "g k k"]:
    return torch.stack([nfm(w) for w in W])


def _nfm_probed(sums: LayerSums) -> Tensor:
    W = sums.W[0]
    return W.mT @ (W @ sums.probe("input"))


def _bnfm_probed(sums: LayerSums) -> Tensor:
    W = sums.W[0]
    return W @ (W.mT @ sums.probe("output"))


# Second moments of gradients: K (m, m) on the layer's output, WᵀKW (k, k) on its input.

Moment = Callable[[LayerSums], Blocks]
"""A normalised second moment on the side on which the sums are stored."""


def _agop_moment(sums: LayerSums) -> Blocks:
    return agop_from_moments(sums.agop_second, None, sums.samples)


def _centered_agop_moment(sums: LayerSums) -> Blocks:
    means = sums.mean_gradients()
    return torch.stack([
        agop_from_moments(second, means[:, g], sums.rows, center=True, samples=sums.samples)
        for g, second in enumerate(sums.agop_second)
    ])  # fmt: skip


def _enfa_moment(sums: LayerSums) -> Blocks:
    return enfa_from_moments(sums.loss_second, sums.samples)


def _ptk_change(sums: LayerSums) -> Blocks:
    assert sums.change is not None
    return agop_from_moments(sums.change.total, None, sums.projection_count * sums.samples)


def _at_output(moment: Moment) -> Moment:
    def dense(sums: LayerSums) -> Blocks:
        assert sums.stored_side == "output"  # KERNEL, or more inputs than outputs: the smaller side is the stored one
        return moment(sums)

    return dense


def _at_input(moment: Moment) -> Moment:
    def dense(sums: LayerSums) -> Blocks:
        return congruence(sums.W, moment(sums)) if sums.stored_side == "output" else moment(sums)

    return dense


def _through_weights(moment: Moment) -> Callable[[LayerSums], Float[Tensor, "g m k"]]:
    return lambda sums: torch.stack([K @ W for K, W in zip(_at_output(moment)(sums), sums.W, strict=True)])


def _factor_through_weights(moment: Moment) -> Callable[[LayerSums], Float[Tensor, "r k"] | None]:
    def factor(sums: LayerSums) -> Tensor | None:
        _, m, k = sums.weight.shape
        if sums.sketched or k <= m:
            return None
        return psd_factor(_at_output(moment)(sums)[0]) @ sums.W[0]

    return factor


def _input_probes(sums: LayerSums, sketch: Float[Tensor, "m p"]) -> Tensor:
    """``WᵀKW Ω`` from the sketch ``K [WΩ, Ω']``."""
    return sums.W[0].mT @ sketch[:, : sums.probe("input").shape[1]]


def _output_probes(sums: LayerSums, sketch: Float[Tensor, "m p"]) -> Tensor:
    """``K Ω'`` from the sketch ``K [WΩ, Ω']``."""
    return sketch[:, sums.probe("input").shape[1] :]


def _agop_sketch(sums: LayerSums) -> Float[Tensor, "m p"]:
    return agop_from_moments(sums.agop_second[0], None, sums.samples, probed=True)


def _enfa_sketch(sums: LayerSums) -> Float[Tensor, "m p"]:
    return enfa_from_moments(sums.loss_second[0], sums.samples)


# FACT and the virtual covariance shift, from the gradient of the mean loss: Wᵀ∇_W L = (1/n) Σ ∇ₕℓ hᵀ.


def _fact_of(sums: LayerSums, cross: Tensor) -> Tensor:
    # The gradient of the mean loss is already divided by n, so it counts as one sample.
    return fact_from_moments(cross, samples=1, weight_decay=sums.decay.weight_decay)


def _stationary_gradient(sums: LayerSums) -> Float[Tensor, "g m k"]:
    assert sums.stationary_gradient is not None
    return sums.stationary_gradient


def _fact(sums: LayerSums) -> Blocks:
    pairs = zip(sums.W, _stationary_gradient(sums), strict=True)
    return torch.stack([_fact_of(sums, w.mT @ g) for w, g in pairs])


def _bfact(sums: LayerSums) -> Blocks:
    pairs = zip(sums.W, _stationary_gradient(sums), strict=True)
    return torch.stack([_fact_of(sums, w @ g.mT) for w, g in pairs])


def _fact_symmetric(how: Literal["average", "polar"]) -> Callable[[LayerSums], Blocks]:
    return lambda sums: torch.stack([fact_symmetric(F, how) for F in _fact(sums)])


def _fact_thin(sums: LayerSums) -> Float[Tensor, "g m k"]:
    return _fact_of(sums, _stationary_gradient(sums))


def _fact_probed(sums: LayerSums) -> Tensor:
    return _fact_of(sums, sums.W[0].mT @ (_stationary_gradient(sums)[0] @ sums.probe("input")))


def _bfact_probed(sums: LayerSums) -> Tensor:
    return _fact_of(sums, sums.W[0] @ (_stationary_gradient(sums)[0].mT @ sums.probe("output")))


def _vcs(sums: LayerSums) -> Blocks:
    assert sums.gradient is not None
    n, scale = sums.samples, sums.loss_scale
    second = _at_input(lambda s: s.loss_second)(sums)
    return vcs_from_moments(n * (sums.W.mT @ sums.gradient), scale**2 * second, n, sums.step)


_TABLE = (
    FeatureMatrix(
        "nfm", "input", lambda s: _grams(s.W), thin=lambda s: s.W, factor=lambda s: s.W[0], probed=_nfm_probed
    ),
    FeatureMatrix(
        "agop",
        "input",
        _at_input(_agop_moment),
        thin=_through_weights(_agop_moment),
        factor=_factor_through_weights(_agop_moment),
        probed=lambda s: _input_probes(s, _agop_sketch(s)),
    ),
    FeatureMatrix(
        "agop_centered",
        "input",
        _at_input(_centered_agop_moment),
        needs=(MEAN_GRADIENTS,),
        thin=_through_weights(_centered_agop_moment),
        factor=_factor_through_weights(_centered_agop_moment),
    ),
    FeatureMatrix(
        "enfa",
        "input",
        _at_input(_enfa_moment),
        needs=(LOSS,),
        thin=_through_weights(_enfa_moment),
        factor=_factor_through_weights(_enfa_moment),
        probed=lambda s: _input_probes(s, _enfa_sketch(s)),
    ),
    FeatureMatrix(
        "fact",
        "input",
        _fact,
        needs=(GRADIENT, WEIGHT_DECAY),
        psd=False,
        power_of_modulus=True,
        thin=_fact_thin,
        probed=_fact_probed,
    ),
    FeatureMatrix("fact_sym", "input", _fact_symmetric("average"), needs=(GRADIENT, WEIGHT_DECAY), psd=False),
    FeatureMatrix(
        "fact_polar",
        "input",
        _fact_symmetric("polar"),
        needs=(GRADIENT, WEIGHT_DECAY),
        columns=(SimilarityColumn("fact_polar_pearson", "Pearson of WᵀW and (FACT FACTᵀ)^(1/2)", measure="pearson"),),
    ),
    FeatureMatrix("vcs", "input", _vcs, needs=(LOSS, GRADIENT, ONE_USE), psd=False),
    FeatureMatrix(
        "nfm_initial", "input", lambda s: _grams(s.initial_W), needs=(INITIAL_WEIGHTS,), factor=lambda s: s.initial_W[0]
    ),
    FeatureMatrix(
        "nfm_change", "input", lambda s: _grams(s.W) - _grams(s.initial_W), needs=(INITIAL_WEIGHTS,), psd=False
    ),
    FeatureMatrix("bnfm", "output", lambda s: _grams(s.W.mT), factor=lambda s: s.W[0].mT, probed=_bnfm_probed),
    FeatureMatrix(
        "ptk",
        "output",
        _at_output(_agop_moment),
        needs=(KERNEL,),
        probed=lambda s: _output_probes(s, _agop_sketch(s)),
        columns=(SimilarityColumn("bnfa_half_cos", "cosine of WWᵀ and bAGOP^(1/2) = PTK^(1/2)", "bnfm", 0.5),),
    ),
    FeatureMatrix(
        "bagop",
        "output",
        _at_output(_agop_moment),
        needs=(KERNEL,),
        probed=lambda s: _output_probes(s, _agop_sketch(s)),
    ),
    FeatureMatrix(
        "benfa",
        "output",
        _at_output(_enfa_moment),
        needs=(LOSS, KERNEL),
        probed=lambda s: _output_probes(s, _enfa_sketch(s)),
        columns=(SimilarityColumn("benfa_half_cos", "cosine of WWᵀ and beNFA^(1/2)", "bnfm", 0.5),),
    ),
    FeatureMatrix(
        "bfact",
        "output",
        _bfact,
        needs=(GRADIENT, WEIGHT_DECAY),
        psd=False,
        power_of_modulus=True,
        probed=_bfact_probed,
        columns=(SimilarityColumn("bfact_cos", "cosine of WWᵀ and bFACT", "bnfm"),),
    ),
    FeatureMatrix("ptk_change", "output", _ptk_change, needs=(INITIAL_WEIGHTS, KERNEL, PAIRED_ROWS)),
)

MATRICES: dict[str, FeatureMatrix] = {matrix.name: matrix for matrix in _TABLE}
"""Every feature matrix by its name."""
