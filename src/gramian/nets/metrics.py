"""The numbers of one layer, computed when they are asked for. A number that was not measured is NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import effective_rank
from gramian.nets.alignment import centered_nfa, ptk_centered_nfa
from gramian.nets.chance import RandomKernel, random_eigenvectors_of_power, random_kernel_cosine
from gramian.nets.columns import GROUPS, columns
from gramian.nets.decompositions import Decompositions, agop_error, small_gram
from gramian.nets.fact_columns import fact_columns
from gramian.nets.feature_matrix import Unavailable
from gramian.nets.matrices import MATRICES, find_matrix
from gramian.nets.record import LayerRecord, Numbers
from gramian.nets.similarity import similarity


class LayerRow(Mapping[str, float | int | str]):
    """The row of one layer: a mapping from columns to numbers, each computed at its first use.

    ``dict(row)`` computes all of them; :meth:`load` computes several at once, which shares decompositions.

    >>> from torch import nn
    >>> from gramian.nets import inspect
    >>> row = inspect(nn.Linear(3, 2), torch.eye(3)).rows[0]
    >>> row["shape"], round(row["nfa_cos"], 6)
    ('2×3', 1.0)
    """

    def __init__(self, record: LayerRecord):
        g, m, k = record.shape
        self._record = record
        self._found: Numbers = {
            "layer": record.name,
            "kind": record.kind,
            "shape": f"{m}×{k}" + (f" ×{g}" if g > 1 else ""),
            "depth": record.depth,
            **record.geometry,
            **record.numbers,
        }

    def load(self, names: Iterable[str]) -> None:
        """Compute some columns together."""
        missing = [name for name in names if name not in self._found]
        if missing:
            self._found |= measure(self._record, missing)

    def __getitem__(self, name: str) -> float | int | str:
        if name not in self._found:
            if name not in columns():
                raise KeyError(name)
            self.load([name])
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(columns())

    def __len__(self) -> int:
        return len(columns())

    def __repr__(self) -> str:
        self.load(self)
        return repr(dict(self))


def measure(record: LayerRecord, names: Iterable[str]) -> Numbers:
    """Compute the groups to which some columns belong; columns that were not measured are NaN."""
    wanted = list(names)
    found: Numbers = {}
    layer = None if record.kept is None else Decompositions(record.sums)
    for group, members in GROUPS.items():
        compute = _COMPUTED.get(group)
        if layer is not None and compute is not None and not members.keys().isdisjoint(wanted):
            found |= compute(layer, record.depth)
    for name, matrix in MATRICES.items():
        for column in matrix.columns if layer is not None else ():
            if column.name in wanted and column.name not in found:
                found[column.name] = _or_nan(
                    record, column.beside, name, power=column.power, measure=column.measure
                )  # fmt: skip
    return found | {name: found.get(name, math.nan) for name in wanted}


def _or_nan(record: LayerRecord, a: str, b: str, **how: object) -> float:
    try:
        return similarity(record.sums, a, b, **how)  # type: ignore[arg-type]
    except Unavailable:
        return math.nan


def _nfa(layer: Decompositions, depth: int) -> Numbers:
    agop = layer.family("agop")
    power, best = agop.best()
    return {
        "nfa_cos": agop.cosine(1.0),
        "nfa_pearson": agop.pearson(1.0),
        "nfa_half_cos": agop.cosine(0.5),
        "nfa_half_pearson": agop.pearson(0.5),
        "nfa_depth_cos": agop.cosine(1 / depth),
        "best_power": power,
        "nfa_best_cos": best,
        "nfa_random": random_eigenvectors_of_power(agop, 1.0).mean,
        "nfa_half_random": random_eigenvectors_of_power(agop, 0.5).mean,
        "nfa_depth_random": random_eigenvectors_of_power(agop, 1 / depth).mean,
        "agop_effective_rank": effective_rank(agop.values),
    }


def _chance(layer: Decompositions, depth: int) -> Numbers:
    if layer.sums.stored_side != "output":
        return {}  # the kernel of a layer with more outputs than max_dim is not known
    drawn = RandomKernel.draw(layer.spectra, list(layer.kernels("agop")))
    cosine = layer.family("agop").cosine(0.5)
    chances = {
        "nfa_half": drawn.cosine(0.5),
        "nfa": drawn.cosine(1.0),
        "nfa_depth": drawn.cosine(1 / depth),
        "nfa_best": drawn.best(),
    }
    half = chances["nfa_half"].mean
    found: Numbers = {"nfa_half_excess": (cosine - half) / (1 - half) if half < 1 - 1e-9 else math.nan}
    for name, chance in chances.items():
        found |= {f"{name}_chance": chance.mean, f"{name}_chance_sd": chance.sd}
    return found


def _untrained(layer: Decompositions, depth: int) -> Numbers:
    start = layer.sums.at_start()
    if start is None:
        return {}
    agop = Decompositions(start).family("agop")
    return {
        "nfa_untrained": agop.cosine(1.0),
        "nfa_half_untrained": agop.cosine(0.5),
        "nfa_depth_untrained": agop.cosine(1 / depth),
        "nfa_best_untrained": agop.best()[1],
    }


def _projections(layer: Decompositions, depth: int) -> Numbers:
    return {"agop_error": agop_error(layer)}


def _enfa(layer: Decompositions, depth: int) -> Numbers:
    if layer.sums.loss is None:
        return {}
    enfa = layer.family("enfa")
    return {
        "enfa_half_cos": enfa.cosine(0.5),
        "enfa_half_pearson": enfa.pearson(0.5),
        "enfa_half_random": random_eigenvectors_of_power(enfa, 0.5).mean,
    }


def _enfa_chance(layer: Decompositions, depth: int) -> Numbers:
    if layer.sums.loss is None or layer.sums.stored_side != "output":
        return {}
    chance = RandomKernel.draw(layer.spectra, list(layer.kernels("enfa"))).cosine(0.5)
    return {"enfa_half_chance": chance.mean, "enfa_half_chance_sd": chance.sd}


def _fact(layer: Decompositions, depth: int) -> Numbers:
    try:
        return dict(fact_columns(layer))
    except Unavailable:
        return {}


def _centered(layer: Decompositions, depth: int) -> Numbers:
    sums = layer.sums
    if sums.initial is None or sums.change is None:
        return {}
    W, W0 = sums.W, sums.initial_W
    K, K_bar = find_matrix("ptk").blocks(sums), find_matrix("ptk_change").blocks(sums)
    found: Numbers = {
        "c_nfa_cos": _centered_or_nan(W, W0, K),
        "double_centered_nfa_cos": _centered_or_nan(W, W0, K_bar),
        "ptk_centered_nfa_cos": ptk_centered_nfa(W0, K_bar) if K_bar.any() else math.nan,
    }
    if bool((W != W0).any()):
        spectra = [torch.linalg.eigvalsh(small_gram(w)).flip(0).clamp_min(0) for w in W - W0]
        chance = random_kernel_cosine(spectra, list(K))
        found |= {"c_nfa_chance": chance.mean, "c_nfa_chance_sd": chance.sd}
    return found


def _centered_or_nan(W: Float[Tensor, "g m k"], W0: Float[Tensor, "g m k"], K: Float[Tensor, "g m m"]) -> float:
    return centered_nfa(W, W0, K) if bool((W != W0).any()) and bool(K.any()) else math.nan


def _spectrum(layer: Decompositions, depth: int) -> Numbers:
    values = torch.cat(layer.spectra)
    total = values.sum()
    return {
        "effective_rank": effective_rank(values),
        "top_share": float(values.max() / total) if total > 0 else math.nan,
    }


_COMPUTED: dict[str, Callable[[Decompositions, int], Numbers]] = {
    "nfa": _nfa,
    "chance": _chance,
    "untrained": _untrained,
    "projections": _projections,
    "enfa": _enfa,
    "enfa_chance": _enfa_chance,
    "fact": _fact,
    "centered": _centered,
    "spectrum": _spectrum,
}
"""Group of columns → the function that computes it from a layer and its depth."""
