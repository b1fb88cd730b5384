"""Values as strict JSON."""

import json
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

from gramian.records import from_json, to_json


@dataclass(frozen=True)
class Named:
    """A spec class that was renamed."""

    size: int
    record_name: ClassVar[str] = "OldName"


@dataclass(frozen=True)
class Child(Named):
    """A subclass without a record name of its own."""


def test_floats_that_are_not_finite_survive():
    values = {"a": [math.inf, -math.inf, 1.5], "b": math.nan, "c": np.float32("nan"), "d": torch.tensor([math.inf])}
    text = json.dumps(to_json(values), allow_nan=False)
    restored = from_json(json.loads(text))
    assert restored["a"] == [math.inf, -math.inf, 1.5]
    assert math.isnan(restored["b"])
    assert math.isnan(restored["c"])
    assert restored["d"] == [math.inf]


def test_other_types_are_refused():
    with pytest.raises(ValueError, match="got a value of type set"):
        to_json({"a": {1, 2}})


def test_a_renamed_class_keeps_the_name_of_its_records_and_a_subclass_does_not_inherit_it():
    assert to_json(Named(3)) == {"class": "OldName", "size": 3}
    assert to_json(Child(3)) == {"class": "Child", "size": 3}
