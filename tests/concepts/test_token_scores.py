"""Coloured tokens: text is escaped, colours follow the sign, and text and HTML show the same tokens."""

import re

import numpy as np
import pytest

from gramian.concepts.token_scores import TokenScores


def test_tokens_are_coloured_by_sign_and_size_and_escaped():
    found = TokenScores("joy", ("<b>", " bad", " fine"), np.array([1.5, -6.0, 0.0]))
    html = found._repr_html_()
    assert "<b>" not in html
    spans = re.findall(r"var\(--(\w+)\) (\d+)%[^>]*>([^<]*)</span>", html)
    assert spans == [("blue", "35", "&lt;b&gt;"), ("orange", "70", " bad"), ("orange", "0", " fine")]
    assert found.html() in html
    assert 'title="-6.00"' in html
    assert str(found) == "<b>[+1.5] bad[-6.0] fine[+0.0]"


def test_each_token_needs_a_score():
    with pytest.raises(ValueError, match="2 tokens"):
        TokenScores("joy", ("a", "b"), np.array([1.0]))
