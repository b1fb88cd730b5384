"""Options that several commands have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click


class NumberRange(click.FloatRange):
    """A number in a range; NaN is not one, though it is neither below nor above the range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or fail with the name of the option."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"nan is not in the range {self._describe_range()}.", param, ctx)
        return number


class Seconds(NumberRange):
    """A positive number of seconds; infinity is allowed."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)


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
