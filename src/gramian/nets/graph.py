"""The order of the layers in a network, read from the autograd graph: residual paths and parallel branches included."""

from __future__ import annotations

from torch import Tensor
from torch.autograd.graph import Node

from gramian.nets.forward_pass import Calls

_MIXING = ("Norm", "Add", "Mul", "Sub", "Div", "Softmax", "Bmm", "Attention")  # in the names of autograd nodes


def layer_graph(output: Tensor, calls: Calls) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Depth of each layer, and the pairs that follow each other with only activations between.

    Balance is conserved for such pairs alone: a layer that is used several times is in none, nor are two layers with a
    normalisation, a product or a residual sum between them.

    Depth counts the layers on the longest path from a layer to the output, itself included, so that 1 /
    depth is the exponent of paper C for the network that starts at this layer (1 / L for the first one).

    >>> import torch
    >>> from torch import nn
    >>> from gramian.nets.batches import batches
    >>> from gramian.nets.capture import Capture
    >>> from gramian.nets.layers import find_layers
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> with Capture(model, find_layers(model)[0]) as capture:
    ...     done = capture.forward(next(batches(torch.ones(4, 2))))
    >>> layer_graph(done.output, done.calls)
    ({'2': 1, '0': 2}, [('0', '2')])
    """
    at: dict[Node, list[str]] = {}
    for name, uses in calls.items():
        for call in uses:
            at.setdefault(call.edge.node, []).append(name)
    # For every node: the number of layers on the longest path from the output down to it, and the layers that
    # come next towards the output. Children are visited after all their parents.
    depth: dict[Node, int] = {}
    above: dict[Node, frozenset[str]] = {}
    result: dict[str, int] = {}
    pairs: dict[tuple[str, str], None] = {}
    for node in _from_output(output.grad_fn):
        names = at.get(node, [])
        for name in names:
            result[name] = max(result.get(name, 0), depth.get(node, 0) + 1)
            pairs.update({(name, after): None for after in sorted(above.get(node, ())) if after != name})
        here = depth.get(node, 0) + bool(names)
        leads_to = frozenset(names) if names else above.get(node, frozenset())
        if not names and any(word in node.name() for word in _MIXING) and "Addmm" not in node.name():
            leads_to = frozenset()
        for child, _ in node.next_functions:
            if child is not None:
                depth[child] = max(depth.get(child, 0), here)
                above[child] = above.get(child, frozenset()) | leads_to
    once = {name for name, uses in calls.items() if len(uses) == 1}
    return result, sorted(pair for pair in pairs if once.issuperset(pair))


def _from_output(root: Node | None) -> list[Node]:
    """All nodes of the graph, parents (nearer the output) before children."""
    order: list[Node] = []
    done: set[Node] = set()
    stack: list[tuple[Node | None, bool]] = [(root, False)]
    while stack:
        node, finished = stack.pop()
        if node is None:
            continue
        if finished:
            order.append(node)
        elif node not in done:
            done.add(node)
            stack.append((node, True))
            stack.extend((child, False) for child, _ in node.next_functions)
    return order[::-1]
