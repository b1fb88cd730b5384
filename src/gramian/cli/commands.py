"""Every command with its line in ``gramian --help``: a command is imported when somebody asks for it, not before."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import click


@dataclass(frozen=True)
class Entry:
    """A command before it is imported: the module that has it under its name, and what it does in half a line."""

    name: str
    module: str
    short_help: str
    hidden: bool = False

    def listed(self) -> click.Command:
        """What a list of commands and Tab need to know; it cannot be run."""
        return click.Command(self.name, short_help=self.short_help, hidden=self.hidden)

    def load(self) -> click.Command:
        """The command itself, which takes as long as importing all it works with.

        >>> ENTRIES["completion"].load()
        <Command completion>
        """
        command: click.Command = getattr(import_module(self.module), self.name)
        return command


ENTRIES = {
    entry.name: entry
    for entry in (  # in the order in which one meets them
        Entry("demo", "gramian.cli.demo", "Demonstrate feature learning in two minutes."),
        Entry("picture", "gramian.cli.demo", "Draw the figure of the README.", hidden=True),
        Entry("fit", "gramian.cli.fit", "Fit a model to a table and save it."),
        Entry("predict", "gramian.cli.predict", "Predict the rows of a table."),
        Entry("explain", "gramian.cli.explain", "Say why a row is predicted as it is."),
        Entry("report", "gramian.cli.report", "Write a page about a model, or about two."),
        Entry("inspect", "gramian.cli.inspect", "Show what a network's layers have learned."),
        Entry("reproduce", "gramian.cli.reproduce", "Reproduce the papers' figures and tables."),
        Entry("bench", "gramian.cli.bench", "Compare gramian with other methods."),
        Entry("info", "gramian.cli.info", "Show versions, device, memory and threads."),
        Entry("completion", "gramian.cli.completion", "Let Tab complete commands, options and files."),
    )
}
