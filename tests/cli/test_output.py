"""Standard output: one valid JSON document whatever the values are."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from gramian.cli.output import emit, to_json_types


def test_numbers_that_json_does_not_know_are_null():
    odd = {"a": [math.nan, math.inf, -math.inf], "b": np.float32("nan"), "c": (np.bool_(True), np.arange(2))}
    assert to_json_types(odd) == {"a": [None] * 3, "b": None, "c": [True, [0, 1]]}


def test_a_record_is_printed_as_one_document(capsys):
    emit({"ä": math.nan, "path": Path("a")})
    assert json.loads(capsys.readouterr().out) == {"ä": None, "path": "a"}


def test_dates_of_any_type_are_json():
    pd = pytest.importorskip("pandas")
    moments = np.array(["2024-05-01T12", "NaT"], dtype="datetime64[ns]")
    assert to_json_types(moments) == to_json_types(list(moments)) == ["2024-05-01T12:00:00.000000000", None]
    assert to_json_types([pd.Timestamp("2024-05-01 12:00"), pd.NaT]) == ["2024-05-01T12:00:00", None]
    assert to_json_types(np.datetime64("9999-12-31", "D")) == "9999-12-31"
