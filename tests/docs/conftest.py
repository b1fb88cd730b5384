"""Extensions of the documentation, imported from their files."""

import importlib.util

import pytest

from pages import FOLDER


def extension(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"_ext/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def packages():
    pytest.importorskip("sphinx", reason="the documentation's tools are not installed")
    return extension("packages")


@pytest.fixture(scope="session")
def plans():
    pytest.importorskip("sphinx", reason="the documentation's tools are not installed")
    return extension("plans")


@pytest.fixture(scope="session")
def recorded():
    pytest.importorskip("sphinx", reason="the documentation's tools are not installed")
    return extension("recorded")


@pytest.fixture(scope="session")
def facts(recorded):
    """The numbers of the records by name, with plain spaces."""
    return {name: text.replace("\u00a0", " ") for name, text in recorded.facts().items()}
