"""The page about weights says what they show, and no more."""

import math

import pytest
import torch

from gramian.nets import inspect_weights
from gramian.report import write_report
from gramian.report.network.weights import describe_weights, weight_page
from html_checks import check
from nets.checkpoints.made import state


def test_random_weights_are_said_to_show_nothing():
    rng = torch.Generator().manual_seed(0)
    random = {f"{i}.weight": torch.randn(60, 40, generator=rng) for i in range(3)}
    (words,) = describe_weights(inspect_weights(random).rows)
    assert words.startswith("In 3 of 3 matrices the effective rank is within 5%")
    assert "do not show that anything was learned" in words
    low = {"a.weight": torch.outer(torch.arange(1.0, 9), torch.arange(1.0, 7))}
    (words,) = describe_weights(inspect_weights(low).rows)
    assert words.startswith("In 0 of 1 matrices")
    assert "learned" not in words
    assert "layer a uses the fewest directions" in words


def test_a_change_of_few_directions():
    rng = torch.Generator().manual_seed(0)
    W = torch.randn(30, 20, generator=rng)
    step = torch.outer(torch.ones(30), torch.ones(20))
    _, moved, few = describe_weights(inspect_weights({"a.weight": W + step}, initial={"a.weight": W}).rows)
    assert "most in layer a" in moved
    assert few.startswith("In 1 of 1 matrices the change has fewer than half")


def test_sections_and_layers(tmp_path):
    alone = weight_page(inspect_weights(state(blocks=3)))
    assert "What changed" not in alone
    assert "Across the blocks" in alone
    both = weight_page(inspect_weights(state(1, blocks=3), initial=state(blocks=3)), layers=["lm_head"])
    assert "What changed" in both
    assert "Principal angles" in both
    assert "10 more matrices are in the table only" in both
    with pytest.raises(ValueError, match="must be a list of names among"):
        weight_page(inspect_weights(state()), layers="lm_head")
    with pytest.raises(ValueError, match="image_shape is for the page of a network that was measured on data"):
        write_report(inspect_weights(state()), tmp_path / "x.html", image_shape=(2, 2))
    for html in (alone, both):
        check(html)


def test_names_are_escaped_and_zero_weights_have_a_page():
    html = weight_page(inspect_weights({"<b>.weight": torch.zeros(3, 3), "q": torch.ones(2, 2, dtype=torch.int8)}))
    assert "<b>" not in html.replace("<body>", "")
    assert "&lt;b&gt;" in html
    assert "stored as int8" in html


def test_a_ratio_that_does_not_exist_is_left_out():
    assert describe_weights([{"layer": "a", "effective_rank": math.nan, "random_rank": 1.0}]) == []
