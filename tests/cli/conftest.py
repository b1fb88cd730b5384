"""A folder with a network of a user's, and gramian inspect in it."""

import sys
import uuid

import numpy as np
import pytest
from click.testing import CliRunner

from example_network import NET, N
from gramian.cli.main import cli


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
