"""Type checkers and editors know the arguments of the estimators and the type of what ``fit`` returns."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("mypy")
SOURCE = Path(__file__).parents[2] / "src"
SNIPPET = """
    import numpy as np
    from gramian import RFMClassifier, RFMRegressor, RFMSearch

    X, y = np.zeros((10, 2)), np.zeros(10)
    reveal_type(RFMClassifier().fit(X, y))
    reveal_type(RFMRegressor(preset="fast", kernel="laplace", n_rounds=3).fit(X, y, sample_weight=y))
    reveal_type(RFMSearch(RFMRegressor()).fit(X, y))
    reveal_type(RFMRegressor().fit(X, y).fitted_rows_)
    RFMClassifier(preset="nonsense")
    RFMRegressor(n_rounds="three")
    RFMRegressor().fit(X)
    RFMRegressor(tree_depth=3)
"""


@pytest.mark.slow
def test_mypy_sees_the_types_that_users_see(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(textwrap.dedent(SNIPPET).lstrip())
    (tmp_path / "mypy.ini").write_text("[mypy]\nignore_missing_imports = True\nfollow_imports = silent\n")
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache", "mine.py"]
    environment = {**os.environ, "MYPYPATH": str(SOURCE)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    said: dict[int, str] = {}
    for line in ended.stdout.splitlines():
        if line.startswith("mine.py:"):
            said.setdefault(int(line.split(":")[1]), line)  # a note may follow the error
    revealed = [said[number].rpartition("is ")[2].strip('"') for number in (5, 6, 7, 8)]
    assert [name.rpartition(".")[2] for name in revealed[:3]] == ["RFMClassifier", "RFMRegressor", "RFMSearch"]
    assert revealed[3].endswith("int")
    assert 'Argument "preset" to "RFMClassifier" has incompatible type' in said[9]
    assert 'Argument "n_rounds" to "RFMRegressor" has incompatible type' in said[10]
    assert 'Missing positional argument "y"' in said[11]
    assert 'Unexpected keyword argument "tree_depth"' in said[12]
