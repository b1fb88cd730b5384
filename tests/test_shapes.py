"""The checker of the test run refuses what jaxtyping's own refuses."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from jaxtyping import Float, TypeCheckError, config
from torch import Tensor

from gramian.features import agop
from gramian.kernels import Laplace
from shapes import checked


@checked
def product(A: Float[Tensor, "n d"], B: Float[Tensor, "d m"], scale: float = 1.0) -> Float[Tensor, "n m"]:
    """Multiply two matrices."""
    return scale * (A @ B)


@checked
def transposed(A: Float[Tensor, "n d"]) -> Float[Tensor, "d n"]:
    return A


@checked
def rows(A: Float[Tensor, "n d"], weights: Float[Tensor, "n"]) -> Iterator[Tensor]:
    yield from weights[:, None] * A


@checked
@dataclass(frozen=True)
class Pair:
    A: Float[Tensor, "n d"]
    y: Float[Tensor, "n"]
    later: "NotYetDefined"


A = torch.ones(3, 2)


def test_an_axis_has_one_size_in_all_arguments():
    torch.testing.assert_close(product(A, A.T), A @ A.T)
    with pytest.raises(TypeCheckError):
        product(A, A)


def test_the_result_is_compared_with_the_arguments():
    transposed(torch.ones(2, 2))
    with pytest.raises(TypeCheckError):
        transposed(A)


def test_a_call_does_not_remember_the_sizes_of_another():
    product(A, A.T)
    product(A[:2], A.T)


def test_the_type_of_numbers_is_compared():
    product(A, A.T, scale=2)
    with pytest.raises(TypeCheckError):
        product(A, A.T.long())
    with pytest.raises(TypeCheckError):
        product(A, A.T, scale="2")


def test_a_generator_is_checked_by_its_call():
    assert len(list(rows(A, torch.ones(3)))) == 3
    with pytest.raises(TypeCheckError):
        rows(A, torch.ones(2))


def test_fields_of_a_dataclass_are_checked_and_names_nobody_can_look_up_are_not():
    Pair(A, torch.ones(3), later=None)
    with pytest.raises(TypeCheckError):
        Pair(A, torch.ones(2), later=None)


def test_the_signature_and_the_docstring_stay():
    assert list(inspect.signature(product).parameters) == ["A", "B", "scale"]
    assert inspect.getdoc(product) == "Multiply two matrices."


def test_switched_off_nothing_is_compared(monkeypatch):
    monkeypatch.setattr(config, "jaxtyping_disable", True)
    assert transposed(A) is A


def test_functions_and_methods_of_the_library_are_checked():
    with pytest.raises(TypeCheckError):
        agop(torch.ones(3))
    with pytest.raises(TypeCheckError):
        Laplace(bandwidth=[1.0])
