"""Training images."""

import pytest
import torch

from gramian.core import cosine
from gramian.experiments.d_fact.images import images


def test_images_are_drawn_by_the_seed():
    one, two = (images("digits", 30, torch.Generator().manual_seed(seed))[0] for seed in (0, 1))
    assert cosine(one, two) < 0.99
    with pytest.raises(ValueError, match="name must be one of digits, mnist, cifar10"):
        images("faces", 3, torch.Generator())
