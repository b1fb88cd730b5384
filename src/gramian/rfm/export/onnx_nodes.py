"""A graph of ONNX operators as plain values, which needs no package until it is written."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

ML = "ai.onnx.ml"
"""The domain of the operators for machine learning."""
FLOAT32, INT64, TEXT, BOOLEAN, FLOAT64 = 1, 7, 8, 9, 11
"""Numbers of the element types in ONNX."""


@dataclass(frozen=True, eq=False)
class Body:
    """The graph inside a loop: its nodes, and its inputs and outputs by name, each with its number of dimensions."""

    nodes: list[Node]
    inputs: dict[str, int]
    outputs: dict[str, int]


Attribute = int | float | str | list[int] | list[float] | list[str] | Body


@dataclass(frozen=True, eq=False)
class Node:
    """One operator, with the names of what it reads and writes."""

    op: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, Attribute]
    domain: str


@dataclass(eq=False)
class Nodes:
    """Nodes in the order of their evaluation, and constants; all floating-point numbers are float64.

    >>> nodes = Nodes()
    >>> nodes.add("Add", "x", nodes.number(1.0))
    'v1'
    >>> [(node.op, node.inputs) for node in nodes.nodes]
    [('Add', ('x', 'c0'))]
    """

    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, NDArray[np.generic]] = field(default_factory=dict)
    prefix: str = ""

    def add(self, op: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """Add an operator with one output; return the name of the output."""
        output = f"{self.prefix}v{len(self.nodes) + 1}"
        self.nodes.append(Node(op, inputs, output, attributes, domain))
        return output

    def name(self, value: str, output: str) -> None:
        """Give a value a name by which it can be read as an output of the graph."""
        self.nodes.append(Node("Identity", (value,), output, {}, ""))

    def constant(self, array: NDArray[np.generic]) -> str:
        """Store an array."""
        name = f"{self.prefix}c{len(self.constants)}"
        self.constants[name] = array.astype(np.float64) if array.dtype.kind == "f" else array
        return name

    def number(self, value: float) -> str:
        """Store a floating-point number."""
        return self.constant(np.array(value, dtype=np.float64))

    def integers(self, *values: int) -> str:
        """Store integers as a vector."""
        return self.constant(np.array(values, dtype=np.int64))

    def column(self, rows: str, j: int) -> str:
        """Return column j ``(n, 1)`` of rows ``(n, d)``."""
        return self.add("Gather", rows, self.integers(j), axis=1)

    def floats(self, value: str) -> str:
        """Convert numbers or booleans to float64."""
        return self.add("Cast", value, to=FLOAT64)

    def interpolate(self, x: str, knots: NDArray[np.float64], values: NDArray[np.float64]) -> str:
        """Return ``np.interp(x, knots, values)`` of a column ``(n, 1)``."""
        if len(knots) == 1:
            return self.add("Add", self.add("Mul", x, self.number(0.0)), self.number(float(values[0])))
        past = self.add("GreaterOrEqual", x, self.constant(knots))
        count = self.add("ReduceSum", self.add("Cast", past, to=INT64), self.integers(1), keepdims=1)
        at = self.add("Max", self.add("Sub", count, self.integers(1)), self.integers(0))
        at = self.add("Min", at, self.integers(len(knots) - 2))
        after = self.add("Add", at, self.integers(1))
        left, right = (self.add("Gather", self.constant(knots), index, axis=0) for index in (at, after))
        low, high = (self.add("Gather", self.constant(values), index, axis=0) for index in (at, after))
        width = self.add("Sub", right, left)
        apart = self.add("Greater", width, self.number(0.0))
        part = self.add("Div", self.add("Sub", x, left), self.add("Where", apart, width, self.number(1.0)))
        part = self.add("Where", apart, part, self.number(1.0))
        part = self.add("Min", self.add("Max", part, self.number(0.0)), self.number(1.0))
        return self.add("Add", low, self.add("Mul", part, self.add("Sub", high, low)))
