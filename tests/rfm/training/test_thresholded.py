"""Columns that M selects; their refit is tested with the estimator."""

import pytest
import torch

from gramian.rfm.training.thresholded import select_columns


class TestColumns:
    def test_columns_above_the_threshold_of_the_scaled_diagonal_are_selected(self):
        M = torch.tensor([1.0, 1.5, 3.0])
        assert select_columns(M, 0.2).tolist() == [False, True, True]
        assert select_columns(M, 0.25).tolist() == [False, False, True]

    def test_equal_columns_are_all_selected(self):
        assert bool(select_columns(torch.ones(3), 0.5).all())

    def test_a_threshold_that_leaves_no_column_is_refused(self):
        with pytest.raises(ValueError, match=r"feature_threshold=1\.0 leaves no column: lower it"):
            select_columns(torch.tensor([0.0, 1.0]), 1.0)
