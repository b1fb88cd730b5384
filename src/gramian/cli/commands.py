"""The list of commands with their lines in ``gramian --help``; a command is imported only when it is called."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import click


@dataclass(frozen=True)
class Entry:
    """A command before it is imported: its name, its module, and its line in the list of commands."""

    name: str
    module: str
    short_help: str
    hidden: bool = False

    def listed(self) -> click.Command:
        """Return a placeholder for the list of commands and for completion; it cannot be run."""
        return click.Command(self.name, short_help=self.short_help, hidden=self.hidden)

    def load(self) -> click.Command:
        """Import the module of the command and return the command.

        >>> ENTRIES["completion"].load()
        <Command completion>
        """
        command: click.Command = getattr(import_module(self.module), self.name)
        return command


ENTRIES = {
    entry.name: entry
    for entry in (  # in the order in which a new user needs them
        Entry("demo", "gramian.cli.demo", "Demonstrate feature learning in two minutes."),
        Entry("picture", "gramian.cli.demo", "Draw the figure of the README.", hidden=True),
        Entry("fit", "gramian.cli.fit", "Fit a model to a table and save it."),
        Entry("predict", "gramian.cli.predict", "Predict the rows of a table."),
        Entry("explain", "gramian.cli.explain", "Explain the prediction of a row."),
        Entry("report", "gramian.cli.report", "Write a page about a model, or about two."),
        Entry("inspect", "gramian.cli.inspect", "Show what the layers of a network have learned."),
        Entry("concept", "gramian.cli.concept", "Find, read and steer concepts in a language model."),
        Entry("reproduce", "gramian.cli.reproduce", "Reproduce the figures and tables of the papers."),
        Entry("bench", "gramian.cli.bench", "Compare gramian with other methods."),
        Entry("info", "gramian.cli.info", "Show versions, device, memory and threads."),
        Entry("completion", "gramian.cli.completion", "Set up completion of commands, options and files."),
    )
}
