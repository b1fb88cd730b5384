"""Operators from standardised rows to outputs, labels and probabilities."""

from __future__ import annotations

import math

import numpy as np

from gramian.predictor import CenterSum, LeafShares, Predictor
from gramian.rfm.export.columns import NotExportableError
from gramian.rfm.export.onnx_nodes import INT64, Body, Nodes


def outputs(nodes: Nodes, predictor: Predictor, rows: str) -> str:
    """Add the kernel sums; return the outputs ``(n, c)`` in the units of the target codes."""
    # Scales are factors of the constants: onnxruntime would fuse a scaled product, and round the scale to float32.
    shares = [] if predictor.shares is None else _shares(nodes, predictor.shares, rows)
    parts = []
    for part in predictor.sums:
        coef = nodes.constant(part.coef * predictor.out_scale)
        value = nodes.add("MatMul", _kernel(nodes, part, _coordinates(nodes, part, rows)), coef)
        parts.append(value if part.leaf is None else nodes.add("Mul", value, shares[part.leaf]))
    total = parts[0] if len(parts) == 1 else nodes.add("Sum", *parts)
    return nodes.add("Add", total, nodes.constant(predictor.out_center))


def _coordinates(nodes: Nodes, part: CenterSum, rows: str) -> str:
    if part.scores:
        scored = {j: (knots, values) for j, knots, values in part.scores}
        columns = [nodes.column(rows, j) for j in range(len(part.shift))]
        rows = nodes.add(
            "Concat",
            *(nodes.interpolate(x, *scored[j]) if j in scored else x for j, x in enumerate(columns)),
            axis=1,
        )
    u = nodes.add("Sub", rows, nodes.constant(part.shift))
    if part.factor is None:
        return u
    return nodes.add("Mul" if part.factor.ndim == 1 else "MatMul", u, nodes.constant(part.factor))


def _kernel(nodes: Nodes, part: CenterSum, u: str) -> str:
    """Add the kernel values ``(n, centres)`` of rows in kernel coordinates."""
    options = part.options
    if part.kernel == "exponential-dot":
        return nodes.add("Exp", nodes.add("MatMul", u, nodes.constant(part.points / options["scale"])))
    points = nodes.constant(part.points)
    if part.kernel == "polynomial":
        t = nodes.add("Add", nodes.add("MatMul", u, points), nodes.number(options["offset"]))
        return nodes.add("Pow", t, nodes.number(options["degree"]))
    if part.kernel == "network":
        raise NotExportableError(
            "the kernels of wide networks (ntk, nngp) need an arccosine in float64, which onnxruntime does not have: "
            "export to .npz, or fit another kernel"
        )
    length, p = options["length"], options.get("p", 2.0)
    D = _power_sums(nodes, u, points, part.points.shape[1], p)
    if part.kernel == "matern":
        a = nodes.add("Mul", nodes.add("Sqrt", D), nodes.number(math.sqrt(2 * options["nu"]) / length))
        poly = nodes.add("Add", a, nodes.number(1.0))
        if options["nu"] == 2.5:
            poly = nodes.add("Add", poly, nodes.add("Div", nodes.add("Mul", a, a), nodes.number(3.0)))
        return nodes.add("Mul", poly, nodes.add("Exp", nodes.add("Neg", a)))
    if part.kernel == "gaussian":
        return nodes.add("Exp", nodes.add("Mul", D, nodes.number(-0.5 / length**2)))
    q = options.get("exponent", 1.0)  # Laplace, Exponential, Lp: exp(−(D^{1/p}/L)^q)
    power = D if q == p else nodes.add("Sqrt", D) if 2 * q == p else nodes.add("Pow", D, nodes.number(q / p))
    return nodes.add("Exp", nodes.add("Mul", power, nodes.number(-(length**-q))))


def _power_sums(nodes: Nodes, u: str, points: str, n: int, p: float) -> str:
    """Add ``Σ_k |u_k − v_k|^p`` of all pairs, one coordinate after the other: exact for near rows, without a cube."""
    count = nodes.add("Gather", nodes.add("Shape", u), nodes.integers(0), axis=0)
    shape = nodes.add("Concat", count, nodes.integers(n), axis=0)
    start = nodes.add("Expand", nodes.number(0.0), shape)
    inner = Nodes(prefix=f"{nodes.prefix}s{len(nodes.nodes)}_")
    total, mine, other = (f"{inner.prefix}{name}" for name in ("total", "row", "center"))
    column = inner.add("Unsqueeze", mine, nodes.integers(1))
    delta = inner.add("Sub", column, other)
    if p == 2:
        power = inner.add("Mul", delta, delta)
    else:
        size = inner.add("Abs", delta)
        power = size if p == 1 else inner.add("Pow", size, nodes.number(p))
    summed = inner.add("Add", total, power)
    body = Body(inner.nodes, {total: 2, mine: 1, other: 1}, {summed: 2})
    return nodes.add("Scan", start, nodes.add("Transpose", u, perm=[1, 0]), points, num_scan_inputs=2, body=body)


def _shares(nodes: Nodes, tree: LeafShares, rows: str) -> list[str]:
    """Add the share ``(n, 1)`` of each leaf."""
    past = nodes.add("MatMul", rows, nodes.constant(np.ascontiguousarray(tree.directions.T)))
    past = nodes.add("Sub", past, nodes.constant(tree.thresholds))
    soft = tree.widths > 0
    ramp = nodes.add("Div", past, nodes.constant(2 * np.where(soft, tree.widths, 1.0)))
    ramp = nodes.add("Add", ramp, nodes.number(0.5))
    ramp = nodes.add("Min", nodes.add("Max", ramp, nodes.number(0.0)), nodes.number(1.0))
    hard = nodes.floats(nodes.add("Greater", past, nodes.number(0.0)))
    right = nodes.add("Where", nodes.constant(soft), ramp, hard)
    left = nodes.add("Sub", nodes.number(1.0), right)
    found = []
    for path in tree.paths:
        share = nodes.number(1.0)
        for node, side in path:
            share = nodes.add("Mul", share, nodes.column(right if side else left, node))
        found.append(share)
    return found


def predictions(nodes: Nodes, predictor: Predictor, out: str, floats: int) -> None:
    """Add the map from outputs to numbers (``variable``), or to ``label`` and ``probabilities``.

    ``floats`` is the number of the type of the results.
    """
    if predictor.labels is None:
        nodes.name(nodes.add("Cast", _numbers(nodes, predictor, out), to=floats), "variable")
        return
    two = len(predictor.out_center) == 1
    if two:
        first = nodes.add("Cast", nodes.add("Greater", out, nodes.number(0.0)), to=INT64)
        at = nodes.add("Squeeze", first, nodes.integers(1))
    else:
        at = nodes.add("ArgMax", out, axis=1, keepdims=0)
    if predictor.labels.dtype.kind == "O" and not all(isinstance(value, str) for value in predictor.labels):
        raise NotExportableError("the labels are of several types, and an ONNX graph has text or numbers: use .npz")
    nodes.name(nodes.add("Gather", nodes.constant(predictor.labels), at, axis=0), "label")
    f = out
    if two:
        half, middle = nodes.add("Mul", out, nodes.number(0.5)), nodes.number(0.5)
        f = nodes.add("Concat", nodes.add("Sub", middle, half), nodes.add("Add", middle, half), axis=1)
    link = predictor.target
    if link["name"] == "softmax":
        f = nodes.add("Div", f, nodes.number(link["temperature"]))
    else:
        f = nodes.add("Add", nodes.add("Max", f, nodes.number(0.0)), nodes.number(link["offset"]))
        f = nodes.add("Mul", nodes.add("Log", f), nodes.number(link["exponent"]))
    nodes.name(nodes.add("Cast", nodes.add("Softmax", f, axis=1), to=floats), "probabilities")


def _numbers(nodes: Nodes, predictor: Predictor, y: str) -> str:
    to = predictor.target
    if to["name"] == "log":
        y = nodes.add("Exp", y)
    elif to["name"] == "shifted-log":  # sign · (shift + scale · (exp(sign · y) − 1))
        grown = nodes.add("Exp", nodes.add("Mul", y, nodes.number(to["sign"])))
        y = nodes.add("Mul", nodes.add("Sub", grown, nodes.number(1.0)), nodes.number(to["sign"] * to["scale"]))
        y = nodes.add("Add", y, nodes.number(to["sign"] * to["shift"]))
    if to["low"] is not None:
        y = nodes.add("Max", y, nodes.number(to["low"]))
    return y if to["high"] is None else nodes.add("Min", y, nodes.number(to["high"]))
