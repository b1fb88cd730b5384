"""Layers of the blocks of a network are grouped by their names."""

import math

from gramian.report.network.families import families, over_blocks


def test_the_first_number_of_a_name_is_that_of_the_block():
    names = [f"model.layers.{i}.{part}" for i in (10, 2, 0) for part in ("q", "mlp.1.w")] + ["head", "a.0.x", "a.1.x"]
    found = families(names)
    assert list(found) == ["model.layers.*.q", "model.layers.*.mlp.1.w"], "two are no family"
    assert [number for number, _ in found["model.layers.*.q"]] == [0, 2, 10]


def test_numbers_inside_of_words_do_not_count():
    assert families(["conv1.w", "conv2.w", "conv3.w"]) == {}


def test_seven_families_are_two_charts_of_nearly_one_size():
    names = [f"h.{i}.{part}" for i in range(3) for part in "abcdefg"]
    html = over_blocks(names, lambda name: math.nan if name == "h.1.a" else 1.0, "norm")
    first, second = html.split("</figure>")[:2]
    assert first.count('class="line"') == 4
    assert second.count('class="line"') == 3
    assert html.count("<circle") == 20
    assert over_blocks(["a", "b"], lambda name: 1.0, "norm") == ""
