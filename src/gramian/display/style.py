"""The colours and the style sheet of everything that is shown as HTML."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import MappingProxyType

CLASS = "gramian-result"
"""The class of the element around a result; the style sheet applies inside it only."""

PALETTE = MappingProxyType({
    "back": ("#fbfbfa", "#16181b"),
    "card": ("#fff", "#1e2125"),
    "ink": ("#1d2126", "#e4e6e8"),
    "soft": ("#5b636c", "#a0a8b0"),
    "line": ("#e2e4e6", "#3a4047"),
    "link": ("#0a5f96", "#6fbdf0"),
    "good": ("#00694d", "#4cd3a6"),
    "good-back": ("#e0f3ec", "#12382d"),
    "near": ("#855100", "#eebb55"),
    "near-back": ("#fdf0d8", "#3b2e11"),
    "bad": ("#a43a00", "#ff9a66"),
    "bad-back": ("#fde6da", "#44210f"),
    "none": ("#5b636c", "#a0a8b0"),
    "none-back": ("#eceef0", "#2b3036"),
    "blue": ("#0072b2", "#4ba3dc"),
    "orange": ("#d55e00", "#f0803c"),
    "green": ("#009e73", "#2fc79b"),
    "purple": ("#b85c90", "#dd94bd"),
    "sky": ("#3d9bd0", "#8ccdf3"),
})  # fmt: skip
"""Every colour by its name, in the light and in the dark theme; the hues are safe for colour-blind readers."""


def palette_css() -> str:
    """Return the palette as CSS custom properties, one declaration per colour.

    >>> palette_css().split(";")[0]
    '--back:light-dark(#fbfbfa,#16181b)'
    """
    return "".join(f"--{name}:light-dark({light},{dark});" for name, (light, dark) in PALETTE.items())


@cache
def style_sheet(palette_scope: str = "." + CLASS) -> str:
    """Return the style sheet of results: rules for the elements of one result, and the palette.

    The palette is declared for ``palette_scope``, by default also for the elements of one result only. A page, which
    uses the colours elsewhere too, declares it for ``":root"``.

    >>> style_sheet().startswith(".gramian-result{--back:"), style_sheet(":root").startswith(":root{--back:")
    (True, True)
    """
    rules = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    return f"{palette_scope}{{{palette_css()}}}\n{rules}"
