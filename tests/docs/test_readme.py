"""The README: short, with examples of the promised length, and with the numbers of the records."""

import re
import shlex

import numpy as np
import pytest
from click.testing import CliRunner

from gramian.cli.main import cli
from gramian.experiments import papers
from gramian.experiments.counts import summary
from gramian.experiments.store import ExperimentStore
from gramian.experiments.verdict import findings
from pages import FOLDER, ROOT, blocks

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = {"A table": 8, "A network": 4, "A paper": 1}
"""Heading → lines of code in the first block under it."""


def prose(text):
    """Return the words that a reader reads: headings, sentences, tables and texts of links.

    Code blocks, comments, addresses of links and the alternative text of pictures are left out, and a token without a
    letter or a digit (a bar of a table, a dot between links) is no word.
    """
    text = re.sub(r"^```.*?^```$", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->|!\[[^\]]*\]\([^)]*\)", " ", text, flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return [word for word in text.split() if re.search(r"\w", word)]


def section(heading):
    return TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def sentences(text):
    return re.split(r"(?<=[.!?])\s+(?=[A-Z\[])", text)


def test_words_are_those_of_a_reader():
    text = (
        "# Two words\n\n```python\n>>> x\n```\n\n![no words here](a.png) <!-- nor here -->\n\n| a | [b c](d.md) · |\n"
    )
    assert prose(text) == ["Two", "words", "a", "[b", "c]"]


def test_the_readme_has_at_most_400_words():
    assert 200 < len(prose(TEXT)) <= 400


@pytest.mark.parametrize(("heading", "lines"), EXAMPLES.items())
def test_examples_have_the_promised_number_of_lines(heading, lines):
    (block,) = blocks(section(heading))
    assert len(re.findall(r"^(?:>>> |\.\.\. |\$ )", block.text, re.MULTILINE)) == lines


def test_the_install_line_names_the_extra_and_the_builds_for_the_cpu():
    (block,) = blocks(section("Install"))
    assert block.text.strip() == '$ pip install ".[tables]" --extra-index-url https://download.pytorch.org/whl/cpu'
    assert block.text.strip() in (FOLDER / "start.md").read_text(encoding="utf-8")


def test_there_are_three_reasons():
    assert len(re.findall(r"^- \*\*", section("Why"), re.MULTILINE)) == 3


def test_the_claim_on_tables_is_that_of_the_fresh_tables_with_the_next_method(facts):
    (claim,) = [one for one in sentences(" ".join(section("Why").split())) if "no rule was chosen on" in one]
    assert f"On {facts['class_sets']} tables with classes" in claim
    assert f"mean rank {facts['class_rank']} of {facts['methods']} methods" in claim
    assert f"by log loss, {facts['class_next_rank']};" in claim
    assert f"on {facts['number_sets']} with numbers {facts['number_rank']} by RMSE" in claim
    assert f"by RMSE, {facts['number_next_rank']}" in claim
    for kind in ("class", "number"):  # the claim names ranks alone: the scores must say the same
        assert float(facts[f"{kind}_normalised"]) > float(facts[f"{kind}_next_normalised"].split()[-1])


def test_fit_times_stand_beside_the_scores(facts):
    text = " ".join(section("Why").split())
    assert f"A fit takes {facts['speed_times']} times [CatBoost's time]" in text


def test_the_number_of_judged_claims_is_that_of_the_records():
    store = ExperimentStore(ROOT / "reproduction")
    counted = summary(findings(experiment, store) for experiment in papers.load())
    printed, judged = re.match(r"Of (\d+) printed numbers, (\d+) are judged at the paper's size", counted).groups()
    text = " ".join(section("Why").split())
    assert f"Of {printed} printed numbers, {judged} are judged at the paper's size so far" in text


def test_other_tools_are_named():
    assert all(name in TEXT for name in ("CatBoost", "LightGBM", "TabPFN", "TabICL"))
    table = (
        (FOLDER / "peers.md").read_text(encoding="utf-8").split("## When to use something else")[1].split("\n## ")[0]
    )
    assert all(name in table for name in ("CatBoost", "LightGBM", "TabPFN", "TabICL", "xRFM"))


def test_the_command_for_a_table_runs_as_it_stands(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    (command,) = re.findall(r"`gramian (fit [^`]*)`", TEXT)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.uniform(20, 200, 40), "town": rng.choice(["Bonn", "Ulm"], 40)})
    frame["price"] = 1000 * frame["area"] + 5000.5 * (frame["town"] == "Ulm")
    monkeypatch.chdir(tmp_path)
    frame.to_csv("data.csv", index=False)
    result = CliRunner().invoke(cli, shlex.split(command))
    assert result.exit_code == 0, result.output
    assert {"model.gramian", "page.html"} <= {path.name for path in tmp_path.iterdir()}


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", TEXT):
        assert target.startswith("https://") or (ROOT / target).exists(), target
