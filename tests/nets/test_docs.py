"""The examples of docs/networks.md run, in order, and do what their comments say."""

import re
from pathlib import Path

import torch

PAGE = Path(__file__).parents[2] / "docs" / "networks.md"


def test_the_page_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    names: dict = {}
    with torch.random.fork_rng():
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), names)
    assert len(blocks) == 6
    report = names["report"]
    assert report.layers == ["0", "2", "4"]
    assert report.skipped == {}
    assert 0 < report.similarity("0", "nfm", "agop", power=0.5) <= 1
    assert report.rows[0]["fact_residual"] > 0
    assert names["monitor"].steps == [0, 50, 100]
    printed = capsys.readouterr().out
    assert "FACT" in printed
    assert "nfm" in printed


def test_every_matrix_of_the_page_exists():
    from gramian.nets.record import NAMES

    table = PAGE.read_text(encoding="utf-8").split("| name | formula | side |")[1].split("\n\n")[0]
    listed = set(re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in table.splitlines() if "|" in line)))
    assert listed == set(NAMES)
