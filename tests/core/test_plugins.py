"""Modules that are looked up by the third-party package they handle."""

import sys
import types

import numpy as np
import pytest

from gramian.core import plugins
from gramian.core.plugins import package_of, plugin, register_plugin


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setattr(plugins, "_MODULES", {})


def test_a_module_is_imported_once_the_package_is_in_use(monkeypatch):
    register_plugin("a_package_of_tests", "gramian.core.version")
    assert plugin("a_package_of_tests") is None
    monkeypatch.setitem(sys.modules, "a_package_of_tests", types.ModuleType("a_package_of_tests"))
    assert plugin("a_package_of_tests").__name__ == "gramian.core.version"


def test_a_package_without_a_module_has_no_plugin():
    assert plugin("numpy") is None


def test_the_package_of_a_value_is_that_of_its_class():
    assert package_of(np.zeros(1)) == "numpy"
    assert package_of(3) == "builtins"
