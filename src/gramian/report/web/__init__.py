"""The shell of every page gramian writes: one HTML file that needs no network, in a light and a dark theme.

A page is a title, a lead, and sections; a section is a title and a body of HTML, made from the parts here:

- :func:`tag`, :func:`text`, :func:`prose`, :func:`folded`: elements, text that is safe within them, paragraphs;
- :func:`table`, :func:`row`, :func:`number`, :func:`bar`, :func:`facts`: tables, which ``sort=True`` makes sortable;
- :func:`tiles`, :func:`label`, :func:`note`: large numbers with their names, small coloured labels, remarks;
- :func:`tabs`, :func:`slider`: one of several panels at a time, chosen by name or by position;
- :func:`figure`, :func:`drawn`, :func:`heat_map`, :func:`lines`: drawings whose colours follow the theme.

Everything is a function to a string, and texts are escaped where they come in: ``str`` arguments called ``title``,
``name``, ``label``, ``lead`` or ``alt`` are plain text, those called ``body`` or ``content`` are HTML.

>>> from gramian.report.web import Section, page, prose
>>> html = page("A <page>", "What it is about.", [Section("Results", prose("All is well."))])
>>> "A &lt;page&gt;" in html, 'href="#results"' in html
(True, True)
"""

from gramian.report.web.charts import lines
from gramian.report.web.html import folded, prose, slug, tag, text
from gramian.report.web.numbers import duration, plus_minus, shown, span
from gramian.report.web.parts import label, note, panels, slider, tabs, tiles
from gramian.report.web.pictures import drawn, figure, heat_map
from gramian.report.web.shell import Section, document, page
from gramian.report.web.tables import bar, cell, facts, number, row, table

__all__ = [
    "Section",
    "bar",
    "cell",
    "document",
    "drawn",
    "duration",
    "facts",
    "figure",
    "folded",
    "heat_map",
    "label",
    "lines",
    "note",
    "number",
    "page",
    "panels",
    "plus_minus",
    "prose",
    "row",
    "shown",
    "slider",
    "slug",
    "span",
    "table",
    "tabs",
    "tag",
    "text",
    "tiles",
]
