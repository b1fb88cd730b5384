"""Operators from the columns of a table to standardised numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gramian.predictor import ColumnCode, Predictor
from gramian.rfm.export.onnx_nodes import ML, Nodes


@dataclass(frozen=True)
class GraphInput:
    """An input of the graph: its name, its number of columns, and True for text."""

    name: str
    width: int
    text: bool = False


def table_inputs(predictor: Predictor) -> list[GraphInput]:
    """Return the inputs: one matrix ``X`` for a table of complete numbers, else one input per column in use."""
    if predictor.plain:
        return [GraphInput("X", len(predictor.names))]
    used = [(name, code) for name, code in zip(predictor.names, predictor.columns, strict=True) if code is not None]
    return [GraphInput(name, 1, code.kind != "number") for name, code in used]


def standardised(nodes: Nodes, predictor: Predictor) -> str:
    """Add the operators from the inputs to the standardised columns in use ``(n, d)``."""
    if predictor.plain:
        means = np.array([code.fill for code in predictor.columns if code is not None])
        rows = nodes.floats("X")
        rows = nodes.add("Where", nodes.add("IsNaN", rows), nodes.constant(means), rows)
    else:
        parts = [
            _encoded(nodes, name, code, predictor.blanks)
            for name, code in zip(predictor.names, predictor.columns, strict=True)
            if code is not None
        ]
        rows = nodes.add("Concat", *parts, axis=1)
    rows = nodes.add("Sub", rows, nodes.constant(predictor.center))
    rows = nodes.add("Div", rows, nodes.constant(predictor.scale))
    return nodes.add("Gather", rows, nodes.integers(*predictor.support.tolist()), axis=1)


def _is_blank(nodes: Nodes, name: str, code: ColumnCode, blanks: frozenset[str]) -> str:
    """Add the operators that find the texts of missing entries; a text that is a level of the column is none."""
    pattern = rf"\s*({'|'.join(re.escape(text) for text in sorted(blanks))})\s*"
    blank = nodes.add("RegexFullMatch", name, pattern=pattern)
    words = sorted(text for text in {*code.levels, *code.counted} if text.strip() in blanks)
    if not words:
        return blank
    level = _lookup(nodes, name, words, [1] * len(words), 0)
    return nodes.add("And", blank, nodes.add("Equal", level, nodes.integers(0)))


def _encoded(nodes: Nodes, name: str, code: ColumnCode, blanks: frozenset[str]) -> str:
    if code.kind == "category":
        parts = _category(nodes, name, code, _is_blank(nodes, name, code, blanks))
    else:
        if code.kind == "number":
            x = nodes.floats(name)
            gone = nodes.add("IsNaN", x)
        else:
            at = _lookup(nodes, name, code.levels, range(len(code.levels)), -1)
            unknown = nodes.add("Less", at, nodes.integers(0))
            gone = nodes.add("Or", unknown, _is_blank(nodes, name, code, blanks))
            x = nodes.add("Div", nodes.floats(at), nodes.number(float(max(len(code.levels) - 1, 1))))
        x = nodes.add("Where", gone, nodes.number(code.fill), x)
        parts = [x] if code.value else []
        if code.knots is not None and code.scores is not None:
            parts.append(nodes.interpolate(x, code.knots, code.scores))
        parts += [nodes.floats(gone)] if code.indicator else []
    whole = nodes.add("Concat", *parts, axis=1)
    return nodes.add("Gather", whole, nodes.integers(*code.kept), axis=1)


def _category(nodes: Nodes, name: str, code: ColumnCode, gone: str) -> list[str]:
    slots, unknown, missing = code.slots
    at = _lookup(nodes, name, code.levels, range(len(code.levels)), unknown)
    at = nodes.add("Where", gone, nodes.integers(missing), at)
    if slots == 2:
        other = nodes.add("Equal", at, nodes.integers(2))
        parts = [nodes.add("Where", other, nodes.number(0.5), nodes.floats(at))]
    else:
        parts = [nodes.floats(nodes.add("Equal", at, nodes.integers(*range(slots))))]
    if code.other:
        counts = _lookup(nodes, name, list(code.counted), code.counted.values(), 1)
        counts = nodes.floats(nodes.add("Where", gone, nodes.integers(0), counts))
        parts.append(nodes.add("Log", nodes.add("Add", counts, nodes.number(1.0))))
    return parts


def _lookup(nodes: Nodes, name: str, texts: list[str], values: Iterable[int], default: int) -> str:
    keys, found = (texts, [int(value) for value in values]) if texts else ([""], [default])
    return nodes.add("LabelEncoder", name, domain=ML, keys_strings=keys, values_int64s=found, default_int64=default)
