"""The last lines that gramian fit prints."""

import json

import numpy as np
import pytest

pd = pytest.importorskip("pandas")


def test_the_last_line_tells_the_rows_that_the_model_was_fitted_to(run, tmp_path, monkeypatch):
    """A fit whose time is up has its model from the screening."""
    import gramian.cli.fit_measure as module
    from gramian import RFMRegressor
    from gramian.solvers import Nystrom

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    frame.assign(y=frame["a"] + 0.5).to_csv(tmp_path / "t.csv", index=False)
    settings = {"kernel": "laplace", "n_rounds": 1, "update": "agop", "solver": Nystrom(centers=50), "ridge": 1e-3}
    monkeypatch.setattr(module, "RFMRegressor", lambda **options: RFMRegressor(**{**settings, **options}))
    args = ("fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.gramian", "--test-size", 0)
    said = run(*args)
    assert said.exit_code == 0, said.output
    # a large plan holds a tenth of the rows out to select rounds
    assert "fitted to 360 of 400 rows, with 50 of them as centres" in said.stdout
    record = json.loads(run(*args, "--json").stdout)
    assert (record["rows"], record["fitted_rows"], record["centers"]) == (400, 360, 50)


@pytest.mark.usefixtures("quick")
def test_thousands_are_separated_and_scores_have_three_decimals(run, table, tmp_path):
    said = run("fit", table, "--target", "price", "--drop", "sold", "--out", tmp_path / "m.gramian").stdout
    score = next(line for line in said.splitlines() if line.startswith("R²")).split()
    assert [len(value.split(".")[1]) for value in score[1:]] == [3, 3]
    baseline = next(line for line in said.splitlines() if line.startswith("RMSE")).split()[-1]
    assert "," in baseline
