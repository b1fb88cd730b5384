"""The base class of results that can be printed, shown by rich, and displayed by a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from gramian.display.brief import to_brief
from gramian.display.html import to_html
from gramian.display.table import Section

if TYPE_CHECKING:
    from rich.console import RenderableType


class Renderable(ABC):
    """A result that describes itself as sections, from which text, terminal tables and HTML are made.

    ``str`` is all of it; ``repr``, which a terminal session and logs show, is the beginning of the first table. A
    dataclass has a ``repr`` of its own unless it is made with ``repr=False``.

    >>> from gramian.display import Table
    >>> class Answer(Renderable):
    ...     def sections(self):
    ...         return [Section("the answer", Table(["name", "value"], [["x", "42"]]))]
    >>> print(Answer())
    the answer
    name  value
    x        42
    >>> Answer()
    Answer: the answer
    name  value
    x     42
    """

    @abstractmethod
    def sections(self) -> list[Section]:
        """Return what there is to show, in order."""

    def __repr__(self) -> str:
        return to_brief(type(self).__name__, self.sections())

    def __str__(self) -> str:
        from gramian.display.terminal import to_text  # here: rich is imported by those who show something

        return to_text(self.sections())

    def __rich__(self) -> RenderableType:
        from gramian.display.terminal import to_rich

        return to_rich(self.sections())

    def _repr_html_(self) -> str:
        return to_html(self.sections())
