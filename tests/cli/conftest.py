"""Tables, models and networks on disk, and the commands that use them."""

import sys
import uuid

import numpy as np
import pytest
from click.testing import CliRunner

import gramian
import gramian.cli.fit_measure as fit_module
from example_network import NET, N
from gramian.cli.main import cli
from quick_models import QUICK, houses


@pytest.fixture
def run():
    """Run a command with arguments of any type."""
    runner = CliRunner()
    return lambda *arguments: runner.invoke(cli, [str(a) for a in arguments])


@pytest.fixture
def quick(monkeypatch):
    """Make ``gramian fit`` quick: kernel ridge with nothing to select."""
    for name in ("RFMClassifier", "RFMRegressor"):
        made = getattr(gramian, name)
        monkeypatch.setattr(fit_module, name, lambda made=made, **options: made(**{**QUICK, **options}))


@pytest.fixture
def table(tmp_path):
    """A CSV file with the table of houses."""
    path = tmp_path / "houses.csv"
    houses().to_csv(path, index=False)
    return path


@pytest.fixture
def model(tmp_path, table, run, quick):
    """A regressor of the price, as ``gramian fit`` saves it."""
    path = tmp_path / "m.gramian"
    result = run("fit", table, "--target", "price", "--drop", "sold", "--out", path)
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def classifier(tmp_path, table, run, quick):
    """A classifier of the sale, as ``gramian fit`` saves it."""
    path = tmp_path / "c.gramian"
    result = run("fit", table, "--target", "sold", "--drop", "price", "--out", path, "--json")
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def net(tmp_path, monkeypatch):
    """The name of a module in the current folder, another for each test: Python imports a name but once."""
    monkeypatch.chdir(tmp_path)
    name = f"net_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(NET)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    np.savez("test.npz", X=X, y=X[:, 0] * X[:, 1], label=np.arange(N) % 3)
    yield name
    sys.modules.pop(name, None)


@pytest.fixture
def inspecting(net):
    """inspect with the class Net of the module and the data, unless the arguments name others."""

    def go(*arguments, model="Net", data="test.npz"):
        given = [str(a) for a in arguments]
        return CliRunner().invoke(cli, ["inspect", "--model", f"{net}:{model}", "--data", data, *given])

    return go
