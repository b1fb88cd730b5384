"""Results about networks in a notebook."""

import torch

from gramian.nets import Monitor, compare, inspect


def test_comparisons_and_monitors_have_an_html_form():
    with torch.random.fork_rng():
        layer = torch.nn.Linear(3, 2)
    report = inspect(layer, torch.eye(3))
    assert compare(report, report)._repr_html_().startswith('<div class="gramian-result"><style>')
    monitor = Monitor(layer, torch.eye(3))
    assert "nothing was measured" in monitor._repr_html_()
    monitor.measure()
    assert "last at step 0" in monitor._repr_html_()
