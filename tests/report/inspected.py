"""Small networks and their reports, for tests of pages about networks."""

import warnings

import torch

from gramian.nets import inspect

X = torch.randn(30, 5, generator=torch.Generator().manual_seed(0))


def build(make, seed=0):
    """A network made with a fixed seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make()


def quiet_inspect(model, *args, **options):
    """The report on a network, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return inspect(model, *args, **options)
