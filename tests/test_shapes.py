"""The checker of the test run refuses what jaxtyping's own refuses."""

import inspect
import itertools
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass

import pytest
import torch
from jaxtyping import AnnotationError, Float, Int, TypeCheckError, config
from jaxtyping._storage import get_shape_memo
from torch import Tensor

from gramian.features import agop
from gramian.kernels import Laplace
from shapes import _SIZES, _by_jaxtyping_compared, _matches, calls, checked


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


def test_a_hundred_calls_are_checked_and_every_tenth_of_those_that_follow():
    square = torch.ones(2, 2)
    for call in range(1, 131):
        with pytest.raises(TypeCheckError) if call > 100 and call % 10 == 0 else nullcontext():
            transposed(square if call <= 100 else A)
    with pytest.raises(TypeCheckError):
        list(map(rows, [A] * 111, [torch.ones(3)] * 101 + [torch.ones(2)] * 10))


@pytest.mark.parametrize("again", range(2))
def test_a_test_does_not_count_the_calls_of_another(again):
    for _ in range(100):
        transposed(torch.ones(2, 2))
    assert calls[transposed.__wrapped__.__code__] == 100


def test_switched_off_nothing_is_compared(monkeypatch):
    monkeypatch.setattr(config, "jaxtyping_disable", True)
    assert transposed(A) is A


def test_functions_and_methods_of_the_library_are_checked():
    with pytest.raises(TypeCheckError):
        agop(torch.ones(3))
    with pytest.raises(TypeCheckError):
        Laplace(bandwidth=[1.0])


HINTS = [Float[Tensor, "n d"], Float[Tensor, " n"], Float[Tensor, "n n"], Float[Tensor, "n 2"], Float[Tensor, "n _k"],
         Float[Tensor, "*batch d"], Float[Tensor, "n+1"], Float[Tensor, ""], Int[Tensor, "n d"]]  # fmt: skip
THINGS = [torch.ones(2, 2), torch.ones(2, 3), torch.ones(3, 2), torch.ones(2), torch.ones(3), torch.tensor(1.0),
          torch.ones(2, 2).long(), torch.ones(2, 2, 3), None, 1.0]  # fmt: skip


@pytest.mark.parametrize("hint", HINTS, ids=lambda hint: f"{hint.dtype.__name__} {hint.dim_str}")
def test_one_comparison_gives_the_answer_of_jaxtyping_and_remembers_the_same_sizes(hint):
    """In each pair the second comparison depends on the sizes that the first has left."""
    for first, second in itertools.product(THINGS, THINGS):
        answers = []
        for compared in (_matches, _by_jaxtyping_compared):
            with _SIZES:
                found = [compared(Float[Tensor, "n d"], first)]
                with suppress(AnnotationError):  # n + 1 where no n is known
                    found.append(compared(hint, second))
                answers.append((found, dict(get_shape_memo()[0])))
        assert answers[0] == answers[1], (first, second)
