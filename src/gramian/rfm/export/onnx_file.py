"""An exported model as an ONNX file, which onnxruntime and others evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gramian.core.atomic import atomic_write
from gramian.core.version import __version__
from gramian.predictor import Predictor
from gramian.rfm.export.columns import NotExportableError
from gramian.rfm.export.description import FloatFormat, predictor_of
from gramian.rfm.export.onnx_columns import standardised, table_inputs
from gramian.rfm.export.onnx_nodes import BOOLEAN, FLOAT32, FLOAT64, INT64, ML, TEXT, Body, Node, Nodes
from gramian.rfm.export.onnx_sums import outputs, predictions
from gramian.rfm.model import FittedRFM

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto

OPSET, ML_OPSET, IR_VERSION = 20, 3, 9
"""Versions of the operators and of the file format: those of onnx 1.15, tested with onnxruntime 1.20 and 1.31."""
_KINDS = {"U": TEXT, "O": TEXT, "i": INT64, "u": INT64, "b": BOOLEAN, "f": FLOAT64}
"""Types of labels, by the kind of their array."""


def write_onnx(model: FittedRFM, path: Path, dtype: FloatFormat = "auto") -> None:
    """Write a fitted model as an ONNX graph; with ``dtype="float32"`` its inputs and outputs are float32.

    All arithmetic is in float64: coefficients of smooth kernels are large and cancel, and float32 would lose digits.

    The input is a matrix ``X (n, d)`` where all columns are complete numbers, else one input ``(n, 1)`` per column:
    numbers, with NaN where missing, or text. A regression has the output ``variable (n, c)``, a classifier ``label
    (n,)`` and ``probabilities (n, classes)``, as those of skl2onnx.
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError('an ONNX file needs the package onnx: pip install "gramian[onnx]"') from error
    proto = _model(predictor_of(model), FLOAT32 if dtype == "float32" else FLOAT64)
    onnx.checker.check_model(proto)
    atomic_write(path, proto.SerializeToString())


def _model(predictor: Predictor, floats: int) -> ModelProto:
    from onnx import helper

    table = table_inputs(predictor)
    nodes = Nodes(prefix=_prefix([each.name for each in table]))
    predictions(nodes, predictor, outputs(nodes, predictor, standardised(nodes, predictor)), floats)
    inputs = [
        helper.make_tensor_value_info(each.name, TEXT if each.text else floats, [None, each.width]) for each in table
    ]
    results: dict[str, tuple[int, list[int | None]]] = {"variable": (floats, [None, len(predictor.out_center)])}
    if predictor.labels is not None:
        label = _KINDS[predictor.labels.dtype.kind]
        results = {"label": (label, [None]), "probabilities": (floats, [None, len(predictor.labels)])}
    if taken := [each.name for each in table if each.name in results]:
        raise NotExportableError(
            f"column {taken[0]!r} has the name of an output of the graph: give it another name before the fit"
        )
    constants = [_tensor(name, array) for name, array in nodes.constants.items()]
    infos = [helper.make_tensor_value_info(name, *kind) for name, kind in results.items()]
    graph = helper.make_graph([_node(node) for node in nodes.nodes], "predictor", inputs, infos, initializer=constants)
    operators = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    return helper.make_model(
        graph,
        opset_imports=operators,
        ir_version=IR_VERSION,
        producer_name="gramian",
        producer_version=__version__,
        doc_string="A recursive feature machine. The constants of the graph are rows of the training table.",
    )


def _prefix(columns: Sequence[str]) -> str:
    """Return the beginning of all names inside the graph, one that no column has: inputs have the columns' names.

    >>> _prefix(["a", "v1"]), _prefix(["_", "__init"])
    ('_', '___')
    """
    prefix = "_"
    while any(name.startswith(prefix) for name in columns):
        prefix += "_"
    return prefix


def _node(node: Node) -> NodeProto:
    from onnx import helper

    made = helper.make_node(node.op, list(node.inputs), [node.output], node.output, domain=node.domain)
    for name, value in node.attributes.items():
        made.attribute.append(helper.make_attribute(name, _body(value) if isinstance(value, Body) else value))
    return made


def _body(body: Body) -> GraphProto:
    from onnx import helper

    inputs, results = (
        [helper.make_tensor_value_info(name, FLOAT64, [None] * dimensions) for name, dimensions in names.items()]
        for names in (body.inputs, body.outputs)
    )
    return helper.make_graph([_node(node) for node in body.nodes], "coordinate", inputs, results)


def _tensor(name: str, array: NDArray[np.generic]) -> TensorProto:
    from onnx import numpy_helper

    formats = {"U": object, "i": np.int64, "u": np.int64}
    return numpy_helper.from_array(array.astype(formats.get(array.dtype.kind, array.dtype)), name)
