"""Choices of which a case is made: by hypothesis, which shrinks a failure, or by a seed, for long runs."""

import random

from hypothesis import strategies as st


class Drawn:
    """Choices of a hypothesis strategy."""

    def __init__(self, draw):
        self._draw = draw

    def one(self, options):
        return self._draw(st.sampled_from(list(options)))

    def whole(self, low, high):
        return self._draw(st.integers(low, high))


class Seeded:
    """Choices of a private generator: the same seed makes the same case."""

    def __init__(self, *seed):
        self._random = random.Random(repr(seed))

    def one(self, options):
        return self._random.choice(list(options))

    def whole(self, low, high):
        return self._random.randint(low, high)


def strategy(make):
    """Return the hypothesis strategy of a function that makes a case from choices."""
    return st.composite(lambda draw: make(Drawn(draw)))()
