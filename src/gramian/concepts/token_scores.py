"""Scores of single tokens, shown as a text with coloured tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gramian.display import style_sheet, tag, text
from gramian.display.style import CLASS

_FULL_COLOUR = 3.0
"""Score, in standard deviations, that has the full colour."""


@dataclass(frozen=True, eq=False)
class TokenScores:
    """Tokens of one text, each with the strength of a concept at it.

    A score is the coordinate of the token's hidden state along the concept's direction, averaged over layers, in
    standard deviations of the training rows; 0 is their mean. A notebook shows blue tokens above and orange tokens
    below the mean; hover over a token to see its score.

    >>> found = TokenScores("joy", ("good", " day"), np.array([2.0, -0.5]))
    >>> print(found)
    good[+2.0] day[-0.5]
    """

    concept: str
    tokens: tuple[str, ...]
    scores: Float[np.ndarray, " t"]

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.scores):
            raise ValueError(f"{len(self.tokens)} tokens need as many scores, got {len(self.scores)}")

    def __str__(self) -> str:
        return "".join(f"{token}[{score:+.1f}]" for token, score in zip(self.tokens, self.scores, strict=True))

    def html(self) -> str:
        """Return the coloured text as an HTML element, for pages that have the style sheet already."""
        return tag("p", "".join(map(_span, self.tokens, self.scores)), class_="tokens")

    def _repr_html_(self) -> str:
        return tag("style", style_sheet()) + tag("div", self.html(), class_=CLASS)


def _span(token: str, score: float) -> str:
    share = 70 * min(abs(float(score)) / _FULL_COLOUR, 1.0)
    colour = "blue" if score > 0 else "orange"
    style = f"background-color:color-mix(in srgb,var(--{colour}) {share:.0f}%,transparent);white-space:pre-wrap"
    return tag("span", text(token), style=style, title=f"{score:+.2f}")
