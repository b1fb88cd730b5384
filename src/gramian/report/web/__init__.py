"""Parts of the pages that gramian writes: one HTML file each, without network access, in a light and a dark theme.

A page is a title, a line about it, and sections; a section is a title and a body of HTML, made from these parts:

- :func:`tag`, :func:`text`, :func:`prose`, :func:`folded`: elements, escaped text, paragraphs, folded parts;
- :func:`table`, :func:`facts`: tables of :class:`gramian.display.Table`, which can be sorted, with :func:`number_cell`,
  :func:`code_cell` and :func:`label_cell`;
- :func:`tiles`, :func:`label`, :func:`note`: large numbers with their names, small coloured labels, remarks;
- :func:`panels`, :func:`tabs`, :func:`slider`: panels that are shown one at a time, chosen by name or by position;
- :func:`figure`, :func:`drawn`, :func:`heat_map`, :func:`lines`: pictures whose colours follow the theme.

Every function returns a string and escapes its text: ``str`` arguments named ``title``, ``name``, ``label``, ``lead``
or ``alt`` are plain text, those named ``body`` or ``content`` are HTML.

>>> from gramian.report.web import PageSection, page, prose
>>> html = page("A <page>", "One line about it.", [PageSection("Results", prose("All is well."))])
>>> "A &lt;page&gt;" in html, 'href="#results"' in html
(True, True)
"""

from gramian.display import tag, text
from gramian.report.web.charts import lines
from gramian.report.web.html import folded, number, prose, slug
from gramian.report.web.parts import label, note, panels, slider, tabs, tiles
from gramian.report.web.pictures import drawn, figure, heat_map
from gramian.report.web.shell import PageSection, document, page
from gramian.report.web.tables import code_cell, facts, label_cell, number_cell, table

__all__ = [
    "PageSection",
    "code_cell",
    "document",
    "drawn",
    "facts",
    "figure",
    "folded",
    "heat_map",
    "label",
    "label_cell",
    "lines",
    "note",
    "number",
    "number_cell",
    "page",
    "panels",
    "prose",
    "slider",
    "slug",
    "table",
    "tabs",
    "tag",
    "text",
    "tiles",
]
