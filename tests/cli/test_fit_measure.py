"""The two fits of gramian fit: page, terminal and file speak of the saved model, and of the same scores."""

import json
import re
from itertools import cycle

import numpy as np
import pytest

import gramian
from gramian import RFMClassifier, RFMRegressor
from gramian.cli.fit_data import read_fit_data
from gramian.cli.fit_measure import fit_and_score, split_rows
from gramian.display import format_score
from html_checks import check
from quick_models import houses

pd = pytest.importorskip("pandas")


@pytest.fixture
def data(tmp_path):
    houses().to_csv(tmp_path / "houses.csv", index=False)
    return read_fit_data(tmp_path / "houses.csv", "price", drop=("sold",))


def table_after(text, title):
    """The cells of the first table in a section of a page, by line."""
    section = re.search(rf'<section id="{title}".*?</section>', text, re.DOTALL)[0]
    body = re.search(r"<tbody>(.*?)</tbody>", section, re.DOTALL)[1].replace("<wbr>", "")
    lines = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [[re.sub(r"<[^>]+>", " ", cell).split() for cell in re.findall(r"<t[hd].*?</t[hd]>", one)] for one in lines]


@pytest.mark.parametrize(("target", "other"), [("price", "sold"), ("sold", "price")])
def test_page_terminal_and_file_agree(run, table, tmp_path, target, other):
    out, page = tmp_path / "m.gramian", tmp_path / "m.html"
    args = ("fit", table, "--target", target, "--drop", other, "--out", out, "--report", page, "--preset", "fast")
    record = json.loads(run(*args, "--json").stdout)
    said = run(*args)
    assert said.exit_code == 0, said.output
    words, text, saved = said.stdout, page.read_text(encoding="utf-8"), gramian.load(out)
    # importances: those of the file
    shares = saved.importances()
    wanted = {shares.columns[j]: float(shares.shares[j]) for j in shares.order}
    assert record["importances"] == pytest.approx(wanted)
    listed = {line[0][0]: line[2][0] for line in table_after(text, "importances")}
    assert listed == {name: f"{share:.1%}" for name, share in wanted.items()}
    assert re.search(rf"{next(iter(wanted))}\s+█+\S*\s+{listed[next(iter(wanted))]}", words)
    # kernels: those of the file
    kernels = [type(machine.kernel).__name__ for machine in saved.model_.ensemble.machines]
    assert [name.split()[-1] for name in record["kernels"]] == kernels
    assert " + ".join(record["kernels"]) in check(text).text
    # scores: those of a fit with the same settings without the held-out rows
    scores = record["held_out"]["scores"]
    on_page = {" ".join(line[0][:-3]): (line[1][0], line[2][0]) for line in table_after(text, "scores")}
    shown = {name: (format_score(pair["model"]), format_score(pair["baseline"])) for name, pair in scores.items()}
    assert {name: tuple(value.replace("−", "-") for value in pair) for name, pair in on_page.items()} == shown
    for name, pair in shown.items():
        assert re.search(rf"{re.escape(name)}\s+{re.escape(pair[0])}\s+{re.escape(pair[1])}", words)


def test_the_scores_are_of_a_fit_with_the_same_options_that_has_not_seen_the_rows(data):
    options = {"preset": "fast", "random_state": 3}
    result = fit_and_score(data, options, 0.25, 7, lambda held_out: None)
    train, test = split_rows(data, 0.25, 7)
    assert set(train) | set(test) == set(range(120))
    assert not set(train) & set(test)
    again = RFMRegressor(**options).fit(data.X.iloc[train], data.y.iloc[train].to_numpy())
    held_out = result.held_out
    assert held_out.scores[0].value == pytest.approx(again.score(data.X.iloc[test], data.y.iloc[test]))
    assert held_out.model.get_params() == result.model.get_params()
    whole = RFMRegressor(**options).fit(data.X, data.y.to_numpy())
    assert np.array_equal(result.model.predict(data.X), whole.predict(data.X))


def test_a_different_selection_of_kernels_is_told(run, table, tmp_path, monkeypatch):
    import gramian.cli.fit_measure as module
    from gramian.kernels import Gaussian, Laplace

    kernels = cycle([Laplace(3.0), Gaussian(3.0)])

    def make(**options):
        return RFMClassifier(ridge=1e-2, n_rounds=0, kernel=next(kernels), **options)

    monkeypatch.setattr(module, "RFMClassifier", make)
    args = ("fit", table, "--target", "sold", "--drop", "price", "--out", tmp_path / "m.gramian")
    page = tmp_path / "m.html"
    said = run(*args, "--report", page)
    assert said.exit_code == 0, said.output
    assert "other kernels (Gaussian) than the fit that was scored (Laplace)" in said.stdout
    text = check(page.read_text(encoding="utf-8")).text
    assert "The saved model has other kernels (Gaussian) than the scored one (Laplace)" in text
    record = json.loads(run(*args, "--json").stdout)
    assert (record["kernels"], record["held_out"]["kernels"]) == (["Gaussian"], ["Laplace"])


@pytest.mark.parametrize("test_size", [0.2, 0])
def test_the_time_limit_is_that_of_all_fits_together(data, test_size):
    limits = []

    class Timed(RFMRegressor):
        def fit(self, X, y, **more):
            limits.append(self.time_limit)
            return super().fit(X, y, **more)

    import gramian.cli.fit_measure as module

    real, module.RFMRegressor = module.RFMRegressor, Timed
    try:
        limit = 30 / (2 if test_size else 1)
        fit_and_score(data, {"preset": "fast", "n_rounds": 0, "time_limit": limit}, test_size, 0, lambda held_out: None)
    finally:
        module.RFMRegressor = real
    assert sum(limits) == 30


def test_whole_groups_are_held_out(tmp_path):
    houses().assign(street=np.arange(120) // 4).to_csv(tmp_path / "t.csv", index=False)
    data = read_fit_data(tmp_path / "t.csv", "price", groups="street")
    train, test = split_rows(data, 0.2, 0)
    assert not set(np.asarray(train) // 4) & set(np.asarray(test) // 4)


@pytest.mark.parametrize("share", ["nan", "1", "-0.1"])
def test_the_share_of_held_out_rows_is_a_number_below_one(run, table, share):
    found = run("fit", table, "--target", "price", "--test-size", share)
    assert found.exit_code == 2
    assert "--test-size" in found.output


def test_a_share_that_leaves_no_rows_for_the_fit_is_named(data):
    with pytest.raises(ValueError, match=r"--test-size 0\.9999 leaves 0 of"):
        split_rows(data, 0.9999, 0)
