"""What the commands write: never over a file they use, and whole whatever the rows hold."""

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import gramian
import gramian.cli.fit as fit_module
from gramian.cli.main import cli
from gramian.kernels import Laplace
from inspecting import refused, weights

pd = pytest.importorskip("pandas")
QUICK = {"n_rounds": 1, "kernel": Laplace(3.0), "ridge": 1e-2, "update": "agop", "select_round": "last"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Fits of an instant, in a folder with a table and a model of it."""
    monkeypatch.chdir(tmp_path)
    for name in ("RFMClassifier", "RFMRegressor"):
        made = getattr(gramian, name)
        monkeypatch.setattr(fit_module, name, lambda made=made, **options: made(**{**QUICK, **options}))
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.uniform(20, 200, 60), "rooms": rng.integers(1, 7, 60)})
    frame["price"] = 10.5 * frame["area"] + frame["rooms"]
    frame.to_csv("d.csv", index=False)
    gramian.RFMRegressor(**QUICK).fit(frame[["area", "rooms"]], frame["price"]).save("m.gramian")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli, [str(a) for a in arguments])


class TestNothingIsWrittenOver:
    @pytest.mark.parametrize(
        "command",
        [
            "fit d.csv --target price --out d.csv",
            "fit d.csv --target price --out ./d.csv",
            "fit d.csv --target price --out hard.csv",
            "fit d.csv --target price --out q.gramian --report q.gramian",
            "fit d.csv --target price --out q.gramian --report d.csv",
            "predict m.gramian d.csv --out d.csv",
            "predict m.gramian d.csv --out hard.csv",
            "report m.gramian --out m.gramian",
        ],
    )
    def test_tables_and_models(self, folder, command):
        (folder / "hard.csv").hardlink_to(folder / "d.csv")
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        refused(run(*command.split()), "would be written over", "name another file")
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before

    @pytest.mark.parametrize("out", ["w.pt", "start.pt", "test.npz"])
    def test_inspect(self, inspecting, tmp_path, out):
        for name in ("w.pt", "start.pt"):
            torch.save(weights(), name)
        before = (tmp_path / out).read_bytes()
        refused(inspecting("w.pt", "--initial", "start.pt", "--html", out), "would be written over", out)
        assert (tmp_path / out).read_bytes() == before
