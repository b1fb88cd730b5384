"""Experiments of paper A, on the alignment of weights and gradients; importing the package registers them."""

from gramian.experiments.a_alignment import (
    appendix_f_why,
    fig1,
    fig2_why,
    fig3,
    fig3_why,
    fig6,
    fig8_why,
    fig9,
    fig9_why,
    fig45,
    fig278,
    lemmas,
    propositions,
)

__all__ = [
    "appendix_f_why",
    "fig1",
    "fig2_why",
    "fig3",
    "fig3_why",
    "fig6",
    "fig8_why",
    "fig9",
    "fig9_why",
    "fig45",
    "fig278",
    "lemmas",
    "propositions",
]
