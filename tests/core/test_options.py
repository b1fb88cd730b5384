"""Frozen objects that carry options."""

from dataclasses import FrozenInstanceError

import pytest
from sklearn.base import clone

from gramian.core.options import named
from gramian.kernels import BY_NAME, Kernel, Laplace


def test_options_are_read_and_replaced_by_name():
    kernel = Laplace(2.0)
    assert kernel.get_params() == {"bandwidth": 2.0, "bandwidth_scale": 1.0}
    assert kernel.with_params(bandwidth_scale=3.0) == Laplace(2.0, bandwidth_scale=3.0)
    assert kernel.with_params() == kernel
    with pytest.raises(ValueError, match="Laplace has no option 'width'; it has bandwidth, bandwidth_scale"):
        kernel.with_params(width=1.0)


def test_options_are_frozen_and_cloned_as_they_are():
    kernel = Laplace(2.0)
    assert clone(kernel) is kernel
    with pytest.raises(FrozenInstanceError):
        kernel.bandwidth = 3.0


def test_a_name_gives_the_registered_object_and_an_object_itself():
    assert named("laplace", BY_NAME, "kernel", Kernel) is BY_NAME["laplace"]
    mine = Laplace(2.0)
    assert named(mine, BY_NAME, "kernel", Kernel) is mine
    with pytest.raises(ValueError, match=r'kernel must be one of "laplace", .*, or a Kernel object; got 3'):
        named(3, BY_NAME, "kernel", Kernel)
