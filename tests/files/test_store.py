"""Values are the same after writing and reading."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gramian.files import read, write
from model_files import Box, Counted, Leaf, forge


@pytest.fixture
def again(tmp_path):
    def through(value):
        write(value, tmp_path / "v.gramian")
        return read(tmp_path / "v.gramian")

    return through


def same(a, b) -> bool:
    """Equal in type, value and, for arrays, format and order of memory; NaN equals NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape or a.flags.c_contiguous != b.flags.c_contiguous:
            return False
        return all(map(same, a.ravel().tolist(), b.ravel().tolist()))
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and (a.stride() == b.stride() or not a.numel()) and same(a.numpy(), b.numpy())
    if isinstance(a, dict):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a.items(), b.items(), strict=True))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return bool(a == b) or bool(a != a and b != b)


VALUES = [
    None, True, -3, 2**70, 0.1, -0.0, math.inf, -math.inf, math.nan, "", "naïve 🦆", "half a pair \ud83e", "a\x00b",
    [], [1, [2.0, "x"]], (), (1, (2,)), {}, {"a": 1, 2: (3,), (4, 5): None, None: True}, {1, 2}, frozenset({"x"}),
    slice(1, None, -2), slice(None),
    np.float32(0.1), np.float64("nan"), np.int8(-5), np.uint64(2**64 - 1), np.bool_(True), np.str_("text"),
    np.datetime64("2024-02-29T12:00:00.123456789"), np.datetime64("NaT"), np.timedelta64(5, "D"),
    np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0, dtype=np.float32).reshape(2, 3)),
    np.arange(24.0).reshape(2, 3, 4)[:, ::2, ::-1].copy(), np.arange(24).reshape(2, 3, 4).T, np.array(7.0),
    np.zeros((0, 3)), np.array([True, False]), np.array([np.nan, np.inf, -0.0]), np.arange(3, dtype=np.uint16),
    np.array(["b", "äöü", ""]), np.array([["b"], ["cc"]]), np.array(["a", None, 1, 2.5, True, math.nan], dtype=object),
    np.array(["2020-01-01", "NaT"], dtype="M8[s]"), np.array([1, 2], dtype="m8[ns]"),
    np.dtype("float32"), np.dtype("M8[ns]"), torch.float32,
    torch.arange(6.0).reshape(2, 3), torch.arange(6.0, dtype=torch.float64).reshape(2, 3).mT, torch.tensor(3),
    torch.tensor([True, False]), torch.zeros(0, 4), torch.arange(10.0)[::3].clone(),
]  # fmt: skip


@pytest.mark.parametrize(
    "value", VALUES, ids=lambda v: f"{type(v).__name__}:{v!r}"[:40].encode("ascii", "replace").decode()
)
def test_a_value_is_read_as_it_was_written(again, value):
    back = again({"it": value})["it"]
    assert same(value, back)


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)
arrays = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_]) | st.just(np.dtype("U3")),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@settings(max_examples=60)
@given(st.tuples(nested, arrays))
def test_any_mixture_is_read_as_it_was_written(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "mixture.gramian"
    write(value, path)
    assert same(value, read(path))


@pytest.mark.parametrize("dtype", [">i4", ">f8", ">M8[s]", ">U3"])
def test_foreign_byte_orders_become_native(again, dtype):
    value = np.array([1, 2, 3]).astype(dtype)
    assert again(value).tolist() == value.tolist()


def test_views_are_stored_alone_and_broadcasts_become_arrays(tmp_path, again):
    big = torch.zeros(1000, 1000)
    write(big[:2, :2], tmp_path / "small.gramian")
    assert (tmp_path / "small.gramian").stat().st_size < 2000
    assert again(torch.ones(1, 3).expand(4, 3)).tolist() == [[1.0] * 3] * 4
    assert again(np.broadcast_to(np.arange(2.0), (3, 2))).tolist() == [[0.0, 1.0]] * 3


def test_shared_arrays_are_stored_once_and_shared_after_reading(known, again, tmp_path):
    X = torch.randn(300, 20, generator=torch.Generator().manual_seed(0))
    leaf = Leaf(X)
    back = again([leaf, leaf, Leaf(X, "other"), X, X.clone()])
    assert back[0] is back[1]
    assert back[0].X is back[2].X is back[3]
    assert back[4] is not back[3], "equal but not the same before, so not the same after"
    assert torch.equal(back[4], back[3])
    write([leaf, Leaf(X), X.clone()], tmp_path / "s.gramian")
    assert (tmp_path / "s.gramian").stat().st_size < 1.1 * X.numel() * 4 + 2000


def test_objects_are_created_from_fields_or_from_their_state(known, again):
    box = Box("blue")
    box.content = [Counted((1, 2))]
    back = again(box)
    assert type(back) is Box
    assert back.colour == "blue"
    assert back.content == box.content


def test_arguments_that_the_file_does_not_contain_have_their_defaults(known, tmp_path):
    box = Box()
    del box.colour
    box.size = 3
    write(box, tmp_path / "b.gramian")
    assert vars(read(tmp_path / "b.gramian")) == {"colour": "red", "size": 3}


def test_loaded_arrays_are_independent_copies(again):
    X = np.arange(4.0)
    back, other = again([X, X.copy()])
    back[0] = 9.0
    assert other[0] == 0.0


def test_the_same_value_gives_the_same_bytes(tmp_path):
    for name in "ab":
        write({"x": np.arange(3.0), "y": torch.ones(2)}, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_tensors_are_loaded_to_the_requested_device(path):
    assert read(path, device="cpu")["t"].device.type == "cpu"
    with pytest.raises(ValueError, match="device='nowhere' cannot be used here"):
        read(path, device="nowhere")


def test_tensors_of_a_missing_device_are_loaded_to_the_cpu(path):
    if torch.cuda.is_available():
        pytest.skip("there is one here")
    forge(path, lambda m: m.update(device="cuda"))
    assert read(path)["t"].device.type == "cpu"
