"""write_report and write_comparison: files, and arguments that do not belong to the page."""

from inspect import unwrap

import numpy as np
import pytest
from torch import nn

from gramian import RFMRegressor
from gramian.report import write_comparison, write_report
from report.inspected import X, build, quiet_inspect


@pytest.fixture(scope="module")
def report():
    return quiet_inspect(build(lambda: nn.Linear(4, 2)), X[:, :4])


def test_pages_about_networks_are_written_to_files(report, tmp_path):
    path = write_report(report, tmp_path / "new" / "net.html", image_shape=(2, 2), title="Mine")
    assert "<h1>Mine</h1>" in path.read_text(encoding="utf-8")
    path = write_comparison(report, report, tmp_path / "two.html", names=("one", "two"))
    assert "one and two" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("argument", "message"), [({"X": X}, "X is for the page of a model"), ({"card": {"a": "b"}}, "card is for")]
)
def test_arguments_for_models_are_refused_for_a_network(report, tmp_path, argument, message):
    with pytest.raises(ValueError, match=message):
        write_report(report, tmp_path / "x.html", **argument)


def test_rows_are_refused_for_two_networks(report, tmp_path):
    with pytest.raises(ValueError, match="X is for the page of two models"):
        write_comparison(report, report, tmp_path / "x.html", X=X)


def test_only_fitted_models_and_reports_have_a_page(tmp_path):
    write = unwrap(write_report)  # without the type checks of the tests
    with pytest.raises(ValueError, match="FeatureReport"):
        write("text", tmp_path / "x.html")
    with pytest.raises(ValueError, match="subject must be"):
        write(object(), tmp_path / "page.html")
    with pytest.raises(ValueError, match="not fitted"):
        write_report(RFMRegressor(), tmp_path / "page.html")


def test_a_folder_is_refused_as_a_path(tmp_path):
    rows = np.asarray(X, dtype=float)
    with pytest.raises(ValueError, match="is a folder"):
        write_report(RFMRegressor(preset="fast", n_rounds=0).fit(rows, rows[:, 0]), tmp_path)
