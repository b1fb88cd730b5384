"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

escape_option: Callable[[Any], Any] = click.option(
    "--escape/--no-escape",
    default=True,
    show_default=True,
    help="In CSV output, put an apostrophe before text that a spreadsheet would run as a formula (=, +, -, @ first).",
)
missing_option: Callable[[Any], Any] = click.option(
    "--missing",
    multiple=True,
    metavar="TEXT",
    help="Text that means an empty cell, such as NA or ?; may be given several times.",
)
header_option: Callable[[Any], Any] = click.option(
    "--header/--no-header",
    default=True,
    help="The first line of the table holds column names; without it the columns are x0, x1, … [default: header]",
)
