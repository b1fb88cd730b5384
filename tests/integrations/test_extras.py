"""Optional packages: there, or an error that names the line that installs them."""

import sys
import tomllib

import pytest

from gramian.integrations.extras import require
from pages import ROOT


def test_a_module_that_is_there_is_returned():
    assert require("json", "this test", "tables") is sys.modules["json"]


def test_a_package_that_is_absent_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match=r'^a run needs the package mlflow: pip install "gramian\[mlflow\]"$'):
        require("mlflow.pyfunc", "a run", "mlflow")


@pytest.mark.parametrize(("extra", "package"), [("autogluon", "autogluon"), ("mlflow", "mlflow"), ("hub", "hugging")])
def test_every_extra_exists_and_installs_its_package(extra, package):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert any(requirement.startswith(package) for requirement in extras[extra])
