"""The report as text and as HTML."""

import io
import math

from rich.console import Console
from torch import nn

from gramian.nets import inspect
from nets.models import INPUTS, full_report, mlp, seeded


def test_tables_show_what_was_measured():
    report = full_report()
    frame = report.to_pandas()
    assert list(frame.index) == report.layers
    assert set(report.describe()) == {"layer", *frame.columns}
    text, page = str(report), report._repr_html_()
    for words in ("FACT", "C-NFA", "NC1", "20 samples", "cross_entropy"):
        assert words in text
        assert words in page
    assert 'title="‖FACT − WᵀW‖ / ‖WᵀW‖: 0 at a stationary point"' in page
    plain = inspect(seeded(mlp), INPUTS)
    assert "FACT" not in str(plain)
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(report)
    assert "FACT" in console.export_text()
    narrow = Console(width=70, record=True, file=io.StringIO())
    narrow.print(report)
    text = narrow.export_text()
    assert "…" not in text
    for words in ("NFA s=½", "FACT", "imbalance"):
        assert words in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 70
    assert repr(report) == "FeatureReport(3 layers, 20 samples)"
    flat = report.metrics("net/")
    assert flat["net/0/fact_cos"] == report.rows[0]["fact_cos"]
    assert all(isinstance(value, float) and not math.isnan(value) for value in flat.values())


def test_html_is_escaped():
    class Bad(nn.Module):
        def __init__(self):
            super().__init__()
            self.add_module("<b>", nn.Linear(5, 2))

        def forward(self, x):
            return self._modules["<b>"](x)

    page = inspect(seeded(Bad), INPUTS)._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
