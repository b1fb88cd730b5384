"""The interpolation of the graph is that of NumPy, at knots, between them and beyond."""

import numpy as np
import pytest

from gramian.rfm.export.onnx_nodes import FLOAT64, Nodes


@pytest.mark.parametrize("knots", [[0.0], [0.0, 1.0], [-1.0, 0.0, 0.0, 2.0, 5.0]])
def test_interpolation(knots):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    values = np.arange(len(knots)) ** 2 - 1.0
    nodes = Nodes()
    nodes.name(nodes.interpolate("x", np.array(knots), values), "y")
    helper = onnx.helper
    infos = [[helper.make_tensor_value_info(name, FLOAT64, [None, 1])] for name in ("x", "y")]
    made = [helper.make_node(node.op, node.inputs, [node.output], **node.attributes) for node in nodes.nodes]
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in nodes.constants.items()]
    graph = helper.make_model(
        helper.make_graph(made, "g", *infos, initializer=constants),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=9,
    )
    x = np.concatenate([knots, np.linspace(-3, 7, 41)])[:, None]
    found = runtime.InferenceSession(graph.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_allclose(found[:, 0], np.interp(x[:, 0], knots, values), atol=1e-12)
