"""Values that a file cannot hold are named."""

import io

import numpy as np
import pytest
import torch

from gramian.files import write
from model_files import Box


class Stranger:
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, Stranger()]}, r"model\['a'\]\[1\] is a .*\.Stranger, which a model file cannot hold"),
        ((lambda: 0), "model is a builtins.function"),
        ({"f": io.BytesIO()}, "_io.BytesIO"),
        ([np.random.RandomState(0)], r"model\[0\] is a numpy.random.*RandomState"),
        (np.array([1j]), "model has the format complex128"),
        (np.zeros(2, dtype=[("a", float)]), "has the format"),
        (np.array([Stranger()], dtype=object), r"model\[0\] is a .*Stranger"),
        (np.ma.masked_array([1.0]), "MaskedArray"),
        (torch.zeros(2, dtype=torch.bfloat16), "has the format torch.bfloat16"),
        (torch.eye(2).to_sparse(), "has the format"),
        (np.longdouble(1), "has the format"),
    ],
    ids=lambda v: None if isinstance(v, str) else type(v).__name__,
)
def test_what_cannot_be_saved_is_named_and_leaves_no_file(tmp_path, value, message):
    with pytest.raises(ValueError, match=message):
        write(value, tmp_path / "v.gramian")
    assert list(tmp_path.iterdir()) == []


def test_an_object_that_contains_itself_is_an_error(known, tmp_path):
    box = Box()
    box.me = [box]
    with pytest.raises(ValueError, match=r"model.me\[0\] contains itself"):
        write(box, tmp_path / "b.gramian")
