"""Tables in Excel workbooks (.xlsx), with openpyxl."""

from __future__ import annotations

import importlib
import io
import warnings
from datetime import date, datetime, time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from gramian.core.warn import warn

if TYPE_CHECKING:
    import pandas as pd


def read_sheet(path: Path, header: bool = True) -> tuple[list[str], list[list[str | None]]]:
    """Return the column names and the rows of the first sheet, each cell as the text that a CSV would have.

    Empty rows are left out, and so are columns at the end in which every cell is empty. Formulas count as the values
    that Excel has stored for them. Without a ``header`` the names are empty, and the first line is a row.
    """
    openpyxl = _openpyxl("reading")
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of openpyxl, about styles and extensions that a table does not need
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            sheet = book.worksheets[0]
            rows = [[cell_text(cell.value, cell.number_format) for cell in row] for row in sheet.iter_rows()]
            names = [other.title for other in book.worksheets]
    except (BadZipFile, KeyError, IndexError) as error:
        raise ValueError(f"it is no workbook of Excel ({error})") from error
    if len(names) > 1:
        warn(f"{path} has {len(names)} sheets: only the first, {names[0]!r}, is read")
    rows = [row for row in rows if any(cell is not None for cell in row)]
    width = max((j + 1 for row in rows for j, cell in enumerate(row) if cell is not None), default=0)
    rows = [(row + [None] * width)[:width] for row in rows]
    if not header:
        return [], rows
    return [name or f"Unnamed: {j}" for j, name in enumerate(rows[0] if rows else [])], rows[1:]


def cell_text(value: object, number_format: str | None = None) -> str | None:
    """Return the value of a cell as the text of a CSV: dates in ISO form, whole numbers without a point, percent by %.

    Excel stores 63.2 % as 0.632 with a format, and writes ``63.2%`` to a CSV.

    >>> cell_text(3.0), cell_text(datetime(2024, 5, 1)), cell_text(True), cell_text("")
    ('3', '2024-05-01', 'TRUE', None)
    >>> cell_text(0.632, "0.0%")
    '63.2%'
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float) and number_format is not None and "%" in number_format:
        return f"{100 * value:.15g}%"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, date | time) else str(value)


def workbook_bytes(frame: pd.DataFrame) -> bytes:
    """Return a workbook with one sheet: the column names and the rows of a frame.

    Text stays text, also where it begins like a formula.
    """
    openpyxl = _openpyxl("writing")
    cells = importlib.import_module("openpyxl.cell")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("predictions")

    def cell(value: object) -> object:
        if not isinstance(value, str):
            return value
        made = cells.WriteOnlyCell(sheet, value=value)
        made.data_type = "s"  # openpyxl makes a formula of text that begins with "="
        return made

    sheet.append([cell(str(name)) for name in frame.columns])
    values = frame.astype(object).where(frame.notna(), None)
    for row in values.itertuples(index=False, name=None):
        sheet.append([cell(value) for value in row])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _openpyxl(doing: str) -> ModuleType:
    try:
        return importlib.import_module("openpyxl")
    except ImportError as error:
        raise ImportError(f'{doing} Excel workbooks needs openpyxl: pip install "gramian[excel]"') from error
