"""The command line: ``gramian demo | fit | predict | explain | report | inspect | reproduce | bench | info``.

The package may import every other package, and none imports it. A command reads its options and files, calls the
library, and prints: colour and progress on a terminal, plain text in a pipe, JSON with ``--json``. ``main`` has the
command group, ``commands`` the list of commands, each command has a module of its name, and the others are shared.

>>> from click.testing import CliRunner
>>> from gramian.cli.main import cli
>>> CliRunner().invoke(cli, ["--version"]).output
'gramian ...'
"""
