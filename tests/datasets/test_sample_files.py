"""Samples for a network: the same inputs and targets from every kind of file, and a random part of large files."""

import numpy as np
import pytest

from gramian.datasets.sample_files import SampleOptions, read_samples

X = np.arange(60.0).reshape(20, 3)
Y = np.arange(20) % 3
ALL = SampleOptions(n_samples=100)


def test_arrays_are_found_by_their_usual_names(tmp_path):
    np.savez(tmp_path / "a.npz", images=X, labels=Y, other=np.zeros(2))
    found = read_samples(tmp_path / "a.npz", ALL)
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.y, Y)
    assert (found.classes, found.total) == ((), 20)


def test_targets_of_an_npy_are_in_a_file_of_their_own(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", Y)
    assert read_samples(tmp_path / "X.npy", ALL).y is None
    found = read_samples(tmp_path / "X.npy", SampleOptions(100, target=str(tmp_path / "y.npy")))
    np.testing.assert_array_equal(found.y, Y)


def test_words_become_classes_in_alphabetical_order(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=np.array(["dog", "cat"] * 10))
    found = read_samples(tmp_path / "a.npz", ALL)
    assert found.classes == ("cat", "dog")
    assert found.y.tolist() == [1, 0] * 10


def test_a_table_gives_numbers_without_the_dropped_columns(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "t.csv").write_text("id,a,b,y\nn1,1,2,0\nn2,3,?,1\n".replace("?", "4.5"))
    found = read_samples(tmp_path / "t.csv", SampleOptions(10, target="y", drop=("id",)))
    assert found.X.tolist() == [[1, 2], [3, 4.5]]
    assert found.y.tolist() == [0, 1]
    assert found.y.dtype.kind == "i"


def test_a_part_is_drawn_without_replacement_and_by_the_seed(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=X[:, 0])
    first, again, other = (read_samples(tmp_path / "a.npz", SampleOptions(7, seed)) for seed in (0, 0, 1))
    assert len(np.unique(first.y)) == len(first.X) == 7
    np.testing.assert_array_equal(first.X[:, 0], first.y)
    np.testing.assert_array_equal(first.X, again.X)
    assert set(first.y) != set(other.y)
    assert first.total == 20


def test_a_file_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"samples are read from \.npz, \.npy"):
        read_samples(tmp_path / "zzz.npz", ALL)
