"""Pages as programs: the blocks of a Markdown page run in order, in one namespace, in a folder of their own."""

import doctest
import re
import shlex
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from click.testing import CliRunner

from gramian.cli.main import cli

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs"
NOT_PAGES = ("_build", "_templates", "api", "auto_examples")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCE = re.compile(
    r"(?:<!-- not run: (?P<reason>[^\n]*?) -->\n+)?"
    r"^ *(?P<fence>`{3,}|:{3,})(?P<language>[^\n]*)\n(?P<text>.*?)^ *(?P=fence) *$",
    flags=re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One fenced block: ``line`` is where its text begins, ``reason`` why it is not run (or None)."""

    language: str
    text: str
    line: int
    reason: str | None = None


def pages() -> list[Path]:
    """Every page that is written by hand."""
    found = sorted(FOLDER.rglob("*.md"))
    return [path for path in found if path.relative_to(FOLDER).parts[0] not in NOT_PAGES]


def blocks(text: str) -> list[Block]:
    r"""The fenced blocks of a page.

    >>> blocks("# Title\n\n```python\nx = 1\n```\n")
    [Block(language='python', text='x = 1\n', line=4, reason=None)]
    """
    found = []
    for m in FENCE.finditer(text):
        line = text[: m.start("text")].count("\n") + 1
        block = Block(m["language"].strip(), textwrap.dedent(m["text"]), line, m["reason"])
        inner = blocks(block.text) if block.language.startswith("{") else []  # a card or a tab may hold examples
        found += [block, *(replace(one, line=one.line + line - 1) for one in inner)]
    return found


def run(path: Path) -> dict:
    """Run a page in the current folder; the names it leaves. The global generator is put back afterwards."""
    names: dict = {"__name__": path.stem}
    with torch.random.fork_rng():
        for block in blocks(path.read_text(encoding="utf-8")):
            if block.reason is None and block.language == "python":
                _python(block, path, names)
            elif block.reason is None and block.language == "console":
                _console(block, path)
    return names


def _python(block: Block, path: Path, names: dict) -> None:
    if ">>>" not in block.text:
        exec(compile("\n" * (block.line - 1) + block.text, str(path), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, path.name, str(path), block.line - 1)
    test.globs = names  # a copy otherwise: the next block would not know what this one made
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=said.append, clear_globs=False)
    assert not runner.failures, "".join(said)


def _console(block: Block, path: Path) -> None:
    """Run the commands of a block; where output stands below one, that is what it must say (``...`` is anything)."""
    before, *parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not before.strip(), f"{path.name}, line {block.line}: a block begins with a command, after $"
    for part in parts:
        line, _, shown = part.partition("\n")
        words = shlex.split(line, comments=True)
        assert words[0] == "gramian", f"{path.name}: mark a block with other commands as not run, with the reason"
        result = CliRunner().invoke(cli, words[1:])
        failing = shown.startswith(("Error:", "Usage:"))
        assert (result.exit_code != 0) == failing, f"{path.name}: {line}\n{result.output}"
        alike = doctest.OutputChecker().check_output(shown, result.output, FLAGS)
        assert alike or not shown.strip(), f"{path.name}: {line}\nExpected:\n{shown}\nGot:\n{result.output}"
