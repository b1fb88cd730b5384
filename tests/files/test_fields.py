"""The fields of a dataclass are checked against their annotations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from gramian.files.fields import check_fields


def record(annotation, value):
    cls = dataclass(type("Record", (), {"__annotations__": {"x": annotation}}))
    return cls(value)


GOOD_AND_BAD = [
    (int, [1, np.int64(2)], [1.0, "1", None, True]),
    (float, [1, 2.5, np.float32(1), float("nan")], ["1", None, True, 1j]),
    (bool, [True, np.bool_(False)], [1, "True"]),
    (str, ["a"], [b"a", 1]),
    (str | None, ["a", None], [1]),
    (Literal["a", 1], ["a", 1], ["b", True, 1.0]),
    (tuple[str, ...], [(), ("a", "b")], [["a"], ("a", 1)]),
    (tuple[int, float], [(1, 2.5)], [(1,), (2.5, 1), 1]),
    (Mapping[str, float], [{}, {"a": 1}], [{"a": "b"}, {1: 1.0}, []]),
    (NDArray[np.float64], [np.zeros(1), np.zeros(1, np.float32)], [np.zeros(1, int), [0.0], np.array(["a"])]),
    (NDArray[Any], [np.zeros(1), np.array(["a"])], [[1.0]]),
    (Float[Tensor, "n d"], [torch.zeros(2, 3)], [torch.zeros(2), torch.zeros(2, 3).int(), np.zeros((2, 3))]),
    (Float[Tensor, " n"] | None, [None, torch.zeros(3)], [torch.zeros(3, 1), 3]),
    (torch.dtype, [torch.float32], ["float32"]),
    (Any, [1, None], []),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "good", "bad"), GOOD_AND_BAD, ids=[str(case[0]) for case in GOOD_AND_BAD])
def test_values_of_the_annotated_type_only(annotation, good, bad):
    for value in good:
        check_fields(record(annotation, value))
    for value in bad:
        with pytest.raises(TypeError, match=r"Record\.x is not of type"):
            check_fields(record(annotation, value))


def test_a_named_axis_has_one_length():
    @dataclass
    class Pair:
        a: Float[Tensor, "n d"]
        b: Float[Tensor, " n"] | None

    check_fields(Pair(torch.zeros(2, 3), torch.zeros(2)))
    with pytest.raises(TypeError, match=r"Pair\.b has 3 for n, and another field 2"):
        check_fields(Pair(torch.zeros(2, 3), torch.zeros(3)))
