"""The table of errata that the documentation shows."""

import re
from pathlib import Path

import pytest
import torch

from gramian.theory import errata

PAGE = Path(__file__).parents[2] / "docs" / "theory.md"


@pytest.fixture(scope="module")
def rows():
    return errata(torch.Generator().manual_seed(0))


def test_each_correction_is_nearer_the_measurement_than_the_print(rows):
    for row in rows:
        assert abs(row.corrected - row.measured) < 0.5 * abs(row.printed - row.measured), row


def test_all_papers_with_misprints_are_covered(rows):
    assert {row.paper for row in rows} == {"A", "B", "C", "D"}
    assert len({(row.where, row.quantity) for row in rows}) == len(rows)


def test_the_page_shows_these_numbers(rows):
    """Same generator, same table; 1 % is left for sums that another machine may order otherwise."""
    section = PAGE.read_text().split("## Errata")[1]
    lines = [line for line in section.splitlines() if re.match(r"\| (?!paper)", line)]
    shown = [[float(cell) for cell in line.strip("| ").split(" | ")[-3:]] for line in lines]
    assert len(shown) == len(rows)
    for cells, row in zip(shown, rows, strict=True):
        assert cells == pytest.approx([row.printed, row.corrected, row.measured], rel=1e-2, abs=1e-5)
