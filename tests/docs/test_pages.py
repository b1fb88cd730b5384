"""Every example of every page runs as it stands, or says why it does not."""

import re
from contextlib import nullcontext

import pytest

from gramian import __version__
from gramian.experiments import papers, registry
from pages import FOLDER, ROOT, blocks, pages, run

LANGUAGES = {"python", "console", "text", "toml", "yaml", "bash", "bibtex"}
"""The kinds of blocks: python and console are run, others are shown. A directive stands in braces."""
ELSEWHERE = {"cli": "tests/cli/test_docs.py", "networks": "tests/nets/test_docs.py"}
"""Pages of which a test asks more than that they run."""
NEEDS = {"dask": ("distributed", "pyarrow"), "tuning": ("optuna", "sklearn.callback"), "integrations": ("optuna",)}
HERE = [path for path in pages() if path.stem not in ELSEWHERE]


@pytest.mark.parametrize("path", HERE, ids=lambda path: path.stem)
def test_the_page_runs(path, tmp_path, monkeypatch):
    for package in NEEDS.get(path.stem, ()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    papers.load()  # into the real registry; a page that enters an experiment of its own does so in a copy
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    run(path)


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.stem)
def test_no_block_escapes(path):
    for block in blocks(path.read_text(encoding="utf-8")):
        assert block.language in LANGUAGES or block.language.startswith("{"), f"{path.name}, line {block.line}"
        assert block.reason is None or len(block.reason) > 10, f"{path.name}, line {block.line}: say why it is not run"


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items())
def test_pages_that_run_elsewhere_do(page, test):
    assert f"{page}.md" in (ROOT / test).read_text(encoding="utf-8")


def test_a_page_that_is_wrong_fails(tmp_path):
    page = tmp_path / "wrong.md"
    page.write_text("```python\nx = 1\n```\n\n```python\n>>> x\n2\n\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="Expected"):
        run(page)


@pytest.mark.parametrize(
    ("shown", "right"),
    [
        ("", True),
        ("gramian ...", True),
        (f"gramian, version {__version__}", False),
        (f"gramian {__version__}", True),
        ("Error: no such option", False),
    ],
)
def test_what_a_command_says_is_what_the_page_shows(tmp_path, shown, right):
    page = tmp_path / "page.md"
    page.write_text(f"```console\n$ gramian --version  # as installed\n{shown}\n```\n", encoding="utf-8")
    with nullcontext() if right else pytest.raises(AssertionError, match="gramian --version"):
        run(page)


def test_generated_folders_are_ignored():
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"docs/_build/", "docs/api/", "docs/auto_examples/"} <= set(ignored)


def test_no_page_takes_the_place_of_the_sites_own():
    assert not {path.stem for path in pages()} & {"search", "genindex", "py-modindex"}


@pytest.mark.parametrize(
    "path", [path for path in pages() if path.stem.startswith("idea_")], ids=lambda path: path.stem
)
def test_formulas_of_the_ideas_are_mathematics(path):
    text = path.read_text(encoding="utf-8")
    assert "\n$$\n" in text
    without_code = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert not re.findall(r"^ {4,}\S.*", without_code, re.MULTILINE), "a formula in a code block"
    assert not re.findall(r"`[^`\n]*[ᵀΣ∇∝‖][^`\n]*`", without_code), "a formula in code letters"


def test_mathjax_is_beside_the_site_with_its_licence():
    folder = FOLDER / "_static/mathjax"
    assert "Apache License" in (folder / "LICENSE").read_text(encoding="utf-8")
    assert (folder / "tex-svg.js").stat().st_size > 1e6
    assert 'mathjax_path = "mathjax/tex-svg.js"' in (FOLDER / "conf.py").read_text(encoding="utf-8")
