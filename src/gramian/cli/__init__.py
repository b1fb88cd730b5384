"""The command line: ``gramian demo | fit | predict | explain | report | inspect | reproduce | bench | info``.

May import every other room; nothing imports it. Commands print through one rich console: colour and progress on a
terminal, plain text in a pipe, JSON with ``--json``.

>>> from click.testing import CliRunner
>>> from gramian.cli.main import cli
>>> CliRunner().invoke(cli, ["--version"]).output
'gramian ...'
"""
