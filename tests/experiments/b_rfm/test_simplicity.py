"""Fig. 8 and 9: halves, shuffled and replaced columns."""

import torch

from gramian.experiments.b_rfm.simplicity import (
    contrast,
    digits_over_photographs,
    replaced_columns,
    right_half,
    shuffled,
)


def test_shuffling_a_half_keeps_the_other_and_its_own_rows():
    X = torch.rand(20, 4 * 8 * 3, generator=torch.Generator().manual_seed(0))
    half = right_half(4)
    new = shuffled(X, half, seed=1)
    assert torch.equal(new[:, ~half], X[:, ~half])
    assert not torch.equal(new[:, half], X[:, half])
    assert torch.equal(new[:, half].sort(0).values, X[:, half].sort(0).values)


def test_the_masks_of_fig9_lie_where_they_should():
    side = 8
    diagonal = torch.rand(side * 2 * side * 3, generator=torch.Generator().manual_seed(0))
    masks = replaced_columns(diagonal, side, seed=2)
    assert diagonal[masks["top"]].min() >= diagonal[~masks["top"]].max()
    assert not (masks["photo"] & right_half(side)).any()
    centre = masks["photo"].reshape(side, 2 * side, 3).any(2).nonzero()
    assert ((centre - 3.5).abs() <= 1.5).all()
    assert {int(mask.sum()) for mask in masks.values()} == {19}


def test_an_untrained_network_shows_no_reliance():
    numbers = {f"{key}/{half} shuffled": 0.1 for key in ("nn", "rfm") for half in ("photo", "digit")}
    relying = numbers | {"nn/photo shuffled": 0.9}
    found = digits_over_photographs([{"numbers": relying}])
    assert found == {"nn/digits over photographs": 0.8, "rfm/digits over photographs": 0.0}
    assert contrast([{"numbers": {"drop/top": 0.0, "drop/photo": 0.0}}]) == {"drop/contrast": 0.0}
