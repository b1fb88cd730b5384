"""Pictures of a page: figures of matplotlib and heat maps, as SVG with the colours of the theme."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from io import BytesIO, StringIO
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from gramian.display import tag, text
from gramian.report.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SIGNED, SKY
from gramian.report.web.html import number

_THEMED = {
    "#ffffff": "var(--card)",
    "#000000": "currentColor",
    "#262626": "currentColor",
    INK.lower(): "currentColor",
    "#808080": "var(--soft)",
    GREY.lower(): "var(--soft)",
    "#b0b0b0": "var(--line)",
    "#cccccc": "var(--line)",
    "#e4e4e4": "var(--line)",
    BLUE.lower(): "var(--blue)",
    ORANGE.lower(): "var(--orange)",
    GREEN.lower(): "var(--green)",
    PURPLE.lower(): "var(--purple)",
    SKY.lower(): "var(--sky)",
}
"""Colours of :mod:`gramian.report.style` and of matplotlib's text → those of the page, which follow the theme."""
_COLOURED = {"style", "fill", "stroke"}
_HEX = re.compile(r"#[0-9a-fA-F]{6}\b")
_SVG, _XLINK = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}"
_TAGS = {"svg", "g", "defs", "path", "use", "clipPath", "rect", "text", "tspan", "image"}
"""Elements that matplotlib writes; its metadata and style are removed."""
_NAME = re.compile(r"[A-Za-z-]+|\{http://www\.w3\.org/XML/1998/namespace\}space")
_WITHIN = re.compile(r"url\(#([\w.-]+)\)")
_OUTSIDE = re.compile(r"(url|image|image-set|src)\s*\(|javascript:|@|\\|/\*", re.IGNORECASE)
"""Parts of a style that could load a resource, or hide an address."""
_SIDE = 320
_FONT = 11.0
_SMALLEST_STEP = 9.0
"""Smallest distance of two names in pixels at which they can be read."""
_LONGEST, _LONGEST_OF_FEW, _FEW = 24, 36, 12
"""Largest number of letters of a name beside a picture, and beside one with few rows."""


def figure(drawing: Figure | Axes, alt: str, caption: str = "") -> str:
    """Return a matplotlib figure, or the figure of the given axes, as SVG inside the page.

    Parameters
    ----------
    drawing : Figure or Axes
    alt : str
        Description of the picture for readers who cannot see it.
    caption : str
        Plain text below the picture.

    >>> from gramian.report import plot_feature_matrix
    >>> html = figure(plot_feature_matrix([[1.0, 0.5], [0.5, 1.0]]), "a matrix")
    >>> html[:21], "#000000" in html
    ('<figure class="plot">', False)
    """
    whole: Figure = drawing.figure.canvas.figure  # of axes in a subfigure, the figure around it
    buffer = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "gramian"}):
        whole.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return drawn(buffer.getvalue(), alt, caption)


def drawn(svg: str, alt: str, caption: str = "") -> str:
    """Return an SVG file of matplotlib inside the page, without its ids and styles, in the colours of the theme.

    A file with anything that matplotlib does not write, such as a script, becomes an image, in which no script runs.
    The SVG is parsed and written again, so a browser cannot read it in another way than this function does.
    """
    try:
        root = _read(svg)
    except (ElementTree.ParseError, ValueError):
        source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
        return tag("figure", tag("img", alt=alt, src=source) + (tag("figcaption", text(caption)) if caption else ""))
    for element in root.iter():
        for name in _COLOURED & set(element.attrib):
            value = _HEX.sub(lambda found: _THEMED.get(found[0].lower(), found[0]), element.attrib[name])
            # matplotlib writes its own font into "font: 10px 'DejaVu Sans'"; the font of the page is narrower
            element.attrib[name] = re.sub(r"'?DejaVu Sans'?(, [^;]*)?", "system-ui, sans-serif", value)
    _own_ids(root, alt)
    root.attrib = {"role": "img", "aria-label": alt, **root.attrib}
    return _framed(ElementTree.tostring(root, encoding="unicode"), caption)


def heat_map(
    matrix: Float[np.ndarray, "p q"],
    alt: str,
    *,
    names: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    bound: float | None = None,
    caption: str = "",
    colours: str = SIGNED,
) -> str:
    """Return a matrix as a picture: red above 0, blue below, white at 0.

    Parameters
    ----------
    matrix : array (p, q)
    alt : str
        Description of the picture for readers who cannot see it.
    names, columns : sequences of p and q strings, optional
        Names of the rows and columns, written if there is enough space; ``columns`` are ``names`` if p = q.
    bound : float, optional
        The value of the strongest colour, to compare several pictures; by default the largest entry.
    caption : str
    colours : str
        A colour map of matplotlib: the signed one, or one for values from 0 up.

    >>> html = heat_map(np.eye(2), "the identity", names=["a", "<b>"])
    >>> html.count("&lt;b&gt;")
    2
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    p, q = matrix.shape
    columns = names if columns is None and p == q else columns
    top = (float(np.nanmax(np.abs(matrix), initial=0.0)) or 1.0) if bound is None else (bound or 1.0)
    scaled = (matrix / top + 1) / 2 if colours == SIGNED else matrix / top
    pixels = colormaps[colours](np.nan_to_num(scaled, nan=0.5), bytes=True)[..., :3]
    buffer = BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, format="PNG", optimize=True)
    source = f"data:image/png;base64,{b64encode(buffer.getvalue()).decode()}"
    step = _SIDE / max(p, q)
    wide, high = q * step, p * step
    longest = _LONGEST_OF_FEW if max(p, q) <= _FEW else _LONGEST
    left = _margin(names, longest) if names is not None and step >= _SMALLEST_STEP else 0.0
    above = _margin(columns, longest) if columns is not None and step >= _SMALLEST_STEP else 0.0
    size = min(_FONT, step)
    marks = tag("image", href=source, x=left, y=above, width=wide, height=high, preserveAspectRatio="none")
    marks += tag("rect", x=left, y=above, width=wide, height=high, class_="edge")
    if left and names is not None:
        marks += "".join(
            tag(
                "text",
                _short(name, longest),
                x=left - 4,
                y=round(above + (i + 0.5) * step + 0.35 * size, 1),
                font_size=size,
                text_anchor="end",
            )
            for i, name in enumerate(names)
        )
    if above and columns is not None:
        for j, name in enumerate(columns):
            x, y = round(left + (j + 0.5) * step + 0.35 * size, 1), above - 4
            marks += tag("text", _short(name, longest), x=x, y=y, font_size=size, transform=f"rotate(-90 {x} {y})")
    box = f"0 0 {round(left + wide + 1, 1)} {round(above + high + 1, 1)}"
    svg = tag(
        "svg",
        marks,
        viewBox=box,
        role="img",
        aria_label=alt,
        class_="heat",
        style=f"max-width:{round(1.15 * (left + wide))}px",
    )
    low = number(-top, 2) if colours == SIGNED else "0"
    stops = ", ".join(to_hex(colormaps[colours](share)) for share in np.linspace(0, 1, 9))
    strip = tag("i", style=f"background:linear-gradient(90deg, {stops})")
    return _framed(svg + tag("p", f"{low} {strip} {number(top, 2)}", class_="scale"), caption)


def _framed(svg: str, caption: str) -> str:
    return tag("figure", svg + (tag("figcaption", text(caption)) if caption else ""), class_="plot")


def _short(name: str, longest: int) -> str:
    return text(name if len(name) <= longest else name[: longest - 1] + "…")


def _margin(names: Sequence[str] | None, most: int) -> float:
    longest = max((min(len(name), most) for name in names or ()), default=0)
    return round(8 + 0.63 * _FONT * longest, 1)


def _read(svg: str) -> ElementTree.Element:
    """Parse the SVG without namespaces, metadata and styles; raise a ValueError for parts matplotlib never writes."""
    if "<!ENTITY" in svg:
        raise ValueError("entities of its own")
    root = ElementTree.fromstring(svg.encode())
    if root.tag not in ("svg", f"{{{_SVG}}}svg"):
        raise ValueError(f"not a drawing: {root.tag}")
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style", "metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        if element.tag not in _TAGS:
            raise ValueError(f"element {element.tag}")
        found = {name.removeprefix(_XLINK): value for name, value in element.attrib.items()}
        for name, value in found.items():
            if name == "href":
                found[name] = value = "".join(value.split())
                if not value.startswith(("#", "data:image/png;base64,")):
                    raise ValueError(f"address {value}")
            elif not _NAME.fullmatch(name) or name.lower().startswith("on") or _OUTSIDE.search(_WITHIN.sub("", value)):
                raise ValueError(f"attribute {name}={value}")
        element.attrib = found
    return root


def _own_ids(root: ElementTree.Element, alt: str) -> None:
    """Remove ids without references, and prefix the others with a key made of the drawing and ``alt``."""
    # the key depends on alt, because two drawings on a page can be equal, such as those of equal networks
    key = sha256(f"{alt}\n".encode() + ElementTree.tostring(root)).hexdigest()[:8]
    values = [(name, value) for element in root.iter() for name, value in element.attrib.items()]
    used = {value[1:] for name, value in values if name == "href" and value.startswith("#")}
    used |= {found for _, value in values for found in _WITHIN.findall(value)}
    for element in root.iter():
        for name, value in list(element.attrib.items()):
            if name == "id":
                del element.attrib[name]
                if value in used:
                    element.attrib[name] = f"{key}-{value}"
            elif name == "href":
                element.attrib[name] = re.sub(r"^#", f"#{key}-", value)
            else:
                element.attrib[name] = _WITHIN.sub(rf"url(#{key}-\g<1>)", value)
