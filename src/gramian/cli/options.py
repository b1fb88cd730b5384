"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

missing_option: Callable[[Any], Any] = click.option(
    "--missing",
    multiple=True,
    metavar="TEXT",
    help="Text that means an empty cell, such as NA or ?; may be given several times.",
)
