"""The draws of the notebook, each in the place of the printed one."""

import pytest

from gramian.experiments import papers
from gramian.experiments.b_rfm import lowrank_notebook as w


def records(*values):
    return [{"numbers": {f"round/{t}": value * x for t, x in enumerate(w._NOTEBOOK)}} for value in values]


def test_equal_draws_pass_and_a_draw_half_as_large_fails():
    claims = {claim.key: claim for claim in papers.find("b/lowrank-notebook").claims}
    same, other = w.repeats(records(2.0, 2.0, 2.0)), w.repeats(records(1.0, 2.0, 2.0))
    for key, claim in claims.items():
        assert same[key] == pytest.approx([w._NOTEBOOK[int(key[-1])]] * 3)
        assert other[key][0] == pytest.approx(2 * same[key][0])
        assert not claim.admits(other[key][0])
    assert w.repeats(records(1.0)) == {}
