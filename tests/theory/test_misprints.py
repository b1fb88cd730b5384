"""The table of errata that the documentation shows."""

import pytest
import torch

from gramian.theory import errata


@pytest.fixture(scope="module")
def rows():
    return errata(torch.Generator().manual_seed(0))


def test_each_correction_is_nearer_the_measurement_than_the_print(rows):
    for row in rows:
        assert abs(row.corrected - row.measured) < 0.3 * abs(row.printed - row.measured), row


def test_all_papers_with_misprints_are_covered(rows):
    assert {row.paper for row in rows} == {"A", "B", "C", "D"}
    assert len({(row.where, row.quantity) for row in rows}) == len(rows)
