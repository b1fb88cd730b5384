"""The printed tables and their claims."""

import math

from gramian.experiments.c_deep_nfa.printed_tables import COLUMNS, PRINTED
from gramian.experiments.c_deep_nfa.setting import DECAYS, DEPTHS
from gramian.experiments.c_deep_nfa.tables import NOISES, cell_name, claims, specs


def test_every_printed_cell_is_claimed_and_has_a_spec():
    for rank, cells in PRINTED.items():
        assert len(cells) == len(COLUMNS) * len(DEPTHS) * len(DECAYS) * len(NOISES)
        made = [
            cell_name(spec.optimiser, depth, decay, noise)
            for spec in specs(rank)["paper"]
            for depth in spec.depths
            for decay in spec.decays
            for noise in spec.noises
        ]
        assert len(made) == len(set(made))
        assert {claim.key for claim in claims(rank) if claim.scales == ("paper",)} == set(made)
    failed = {(rank, cell) for rank, cells in PRINTED.items() for cell, value in cells.items() if math.isnan(value)}
    assert {(rank, cell[:2]) for rank, cell in failed} == {(20, ("gdm", 5))}
    assert len(failed) == 5
