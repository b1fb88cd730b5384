"""Predictions of theory about feature learning, each with the sampler that checks it.

May import ``core`` and ``features`` only: pure functions of tensors, randomness passed in as a
``torch.Generator``.

- Early training, the alignment paper (A): ``early``, ``free_probability``, ``deep``; its data in ``tasks``,
  ``sampling``, ``reversing``.
- Closed forms of the RFM paper (B): ``closed_forms``.
- Linear networks, the paper on the neural feature ansatz (C): ``balanced``, ``flow``.
- Counter-examples of C and of the FACT paper (D): ``counterexamples``, ``separation``, ``quadratic_network``.
- Linearisation and its moving target, the weight-Gram paper (E): ``linearization``, ``interpolation``.
- Misprints: ``printed``, and ``misprints`` with the printed and the corrected number.

>>> import torch
>>> from gramian.theory import balanced_init, nfa_gap
>>> weights = balanced_init((4, 8, 8, 6), torch.Generator().manual_seed(0))
>>> nfa_gap(weights) < 1e-6
True
"""

from gramian.core import haar
from gramian.theory.balanced import (
    balanced_init,
    balanced_scale,
    end_to_end,
    imbalance,
    linear_agop,
    nfa_exponent,
    nfa_gap,
    uniform_gram_norm,
)
from gramian.theory.closed_forms import (
    TwoLayerLinear,
    deep_relu_gop,
    ideal_kernel,
    joint_activity,
    linear_gd_features,
    linear_target_kernel,
    regression_iterate,
    relu_expected_gop,
    relu_gop,
    relu_gradients,
    train_two_layer_linear,
    two_step_features,
)
from gramian.theory.counterexamples import (
    ReluPair,
    relu_pair,
    relu_pair_egop,
    relu_pair_with_silent_neuron,
    ripple,
    ripple_egop,
)
from gramian.theory.deep import alignment_from_dual_ptk, expected_dual_ptk, sample_dual_ptk
from gramian.theory.early import (
    QuadraticWeights,
    early_agop,
    early_alignment,
    early_nfm,
    expected_early_agop,
    expected_early_nfm,
    label_moment,
    sample_quadratic,
)
from gramian.theory.flow import gradient_flow, linear_gradients
from gramian.theory.free_probability import (
    DataMoments,
    WeightMoments,
    data_moments,
    first_denominator,
    limiting_weight_moments,
    moments_of,
    numerator,
    predicted_alignment,
    sampled_weight_moments,
    second_denominator,
    weight_moments,
)
from gramian.theory.interpolation import (
    InterpolationSplit,
    beta_vae_loss,
    interpolation_bound,
    interpolation_gap,
    interpolation_split,
    ols_decoder,
)
from gramian.theory.linearization import (
    MovingTarget,
    best_linear_predictor,
    linearity_bound,
    moving_target,
    surrogate_growth,
)
from gramian.theory.misprints import Erratum, errata
from gramian.theory.quadratic_network import minimum_norm_cost, minimum_norm_network, quadratic_form
from gramian.theory.reversing import alignment_reversing
from gramian.theory.sampling import decaying_gaussian, decaying_spectrum, same_spectrum
from gramian.theory.separation import DecayRow, Minimiser, Separation, minimise, random_start, separation_by_decay
from gramian.theory.tasks import chain_monomial, chain_monomial_egop, sum_of_squares

__all__ = [
    "DataMoments",
    "DecayRow",
    "Erratum",
    "InterpolationSplit",
    "Minimiser",
    "MovingTarget",
    "QuadraticWeights",
    "ReluPair",
    "Separation",
    "TwoLayerLinear",
    "WeightMoments",
    "alignment_from_dual_ptk",
    "alignment_reversing",
    "balanced_init",
    "balanced_scale",
    "best_linear_predictor",
    "beta_vae_loss",
    "chain_monomial",
    "chain_monomial_egop",
    "data_moments",
    "decaying_gaussian",
    "decaying_spectrum",
    "deep_relu_gop",
    "early_agop",
    "early_alignment",
    "early_nfm",
    "end_to_end",
    "errata",
    "expected_dual_ptk",
    "expected_early_agop",
    "expected_early_nfm",
    "first_denominator",
    "gradient_flow",
    "haar",
    "ideal_kernel",
    "imbalance",
    "interpolation_bound",
    "interpolation_gap",
    "interpolation_split",
    "joint_activity",
    "label_moment",
    "limiting_weight_moments",
    "linear_agop",
    "linear_gd_features",
    "linear_gradients",
    "linear_target_kernel",
    "linearity_bound",
    "minimise",
    "minimum_norm_cost",
    "minimum_norm_network",
    "moments_of",
    "moving_target",
    "nfa_exponent",
    "nfa_gap",
    "numerator",
    "ols_decoder",
    "predicted_alignment",
    "quadratic_form",
    "random_start",
    "regression_iterate",
    "relu_expected_gop",
    "relu_gop",
    "relu_gradients",
    "relu_pair",
    "relu_pair_egop",
    "relu_pair_with_silent_neuron",
    "ripple",
    "ripple_egop",
    "same_spectrum",
    "sample_dual_ptk",
    "sample_quadratic",
    "sampled_weight_moments",
    "second_denominator",
    "separation_by_decay",
    "sum_of_squares",
    "surrogate_growth",
    "train_two_layer_linear",
    "two_step_features",
    "uniform_gram_norm",
    "weight_moments",
]
