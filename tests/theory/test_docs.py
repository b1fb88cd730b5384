"""The examples in the theory and optimiser pages run as they stand."""

import re
from pathlib import Path

import pytest
import torch

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = [
    (page, block)
    for page in ("theory.md", "optim.md")
    for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)
]


def test_there_are_examples():
    assert {page for page, _ in EXAMPLES} == {"theory.md", "optim.md"}


@pytest.mark.parametrize(("page", "block"), EXAMPLES)
def test_example_runs(page, block):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        exec(compile(block, page, "exec"), {})
