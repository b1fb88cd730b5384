"""Forecasts of memory: fits side by side, the budget they share, and blocks that the C library holds."""

import pytest

from gramian.core.freed_memory import TIGHT_BYTES
from gramian.core.memory_forecast import MemoryForecast, fits_within, freed_bytes

ONE = MemoryForecast(reading=0, rows=10**6, solver=10**8, features=10**6, tiles=10**6)
PLENTY = 10**11


def test_more_fits_side_by_side_never_need_less():
    peaks = [ONE.side_by_side(ONE, workers).peak for workers in (1, 2, 3, 8)]
    assert peaks == sorted(peaks)
    assert peaks[0] == ONE.peak


def test_wide_solves_come_on_top_and_are_at_most_one_per_fit():
    peaks = [ONE.side_by_side(ONE, 2, wide).peak for wide in (0, 1, 2, 9)]
    assert peaks == sorted(peaks)
    assert peaks[-1] == peaks[-2]


@pytest.mark.parametrize("budget", [TIGHT_BYTES // 8, TIGHT_BYTES // 3, TIGHT_BYTES, PLENTY])
def test_as_many_workers_as_the_budget_allows(budget):
    memory, workers = fits_within(ONE, ((1000, ONE, 6, 1), (5000, ONE, 2, 1)), budget)
    assert memory.process <= budget or workers == 1
    more, _ = fits_within(ONE, ((1000, ONE, workers + 1, 1), (5000, ONE, 2, 1)), PLENTY)
    assert workers == 6 or more.process > budget


def test_within_a_small_budget_copies_of_rows_are_returned():
    stages = ((1000, ONE, 2, 1),)
    tight, ample = (fits_within(ONE, stages, budget, columns=50)[0].freed for budget in (TIGHT_BYTES - 1, PLENTY))
    assert tight < ample


def test_blocks_of_one_stage_are_returned_before_the_next():
    """A screening of small matrices leaves freed blocks, and the large solves after it do not come on top of them."""
    small = MemoryForecast(reading=0, rows=10**6, solver=10**7, features=10**6, tiles=10**6)
    both = fits_within(ONE, ((1600, small, 2, 1), (5000, ONE, 2, 1)), PLENTY)[0].process
    alone = fits_within(ONE, ((5000, ONE, 2, 1),), PLENTY)[0].process
    assert both == alone
    assert fits_within(ONE, ((1600, ONE, 2, 1),), PLENTY)[0].process > both


def test_blocks_that_are_mapped_are_returned_at_once():
    assert freed_bytes(2000, 1, 5) > freed_bytes(1000, 1, 5) > freed_bytes(4000, 1, 0)
    one, two, three = (freed_bytes(1000, workers, 5) for workers in (1, 2, 3))
    assert three - two == two - one > 4 * 1000**2


def test_rows_of_wide_tables_are_returned_after_every_round():
    assert freed_bytes(100, 1, 99) > freed_bytes(100, 1, 10) > freed_bytes(100, 1, 500)
