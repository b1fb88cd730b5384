"""Names and subpackages that are imported when first used."""

import sys
import types

import pytest

from gramian.core.lazy import lazily


@pytest.fixture
def package(monkeypatch):
    module = types.ModuleType("a_lazy_package")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    look_up, listing = lazily(module.__name__, {"gramian.core.version": ["__version__"], "math": ["tau"]})
    module.__getattr__, module.__dir__ = look_up, listing
    return module


def test_a_name_is_looked_up_once_and_then_an_attribute(package):
    assert "tau" not in vars(package)
    assert package.tau == pytest.approx(6.283185307)
    assert "tau" in vars(package)


def test_names_are_listed_before_they_are_imported(package):
    assert {"tau", "__version__"} <= set(dir(package))


def test_an_unknown_name_is_an_attribute_error_with_suggestions(package):
    with pytest.raises(AttributeError, match="module 'a_lazy_package' has no attribute 'tua'") as caught:
        package.tua  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("tua", package)


def test_subpackages_are_imported_as_attributes():
    look_up, listing = lazily("gramian", {}, subpackages=["core"])
    assert look_up("core").__name__ == "gramian.core"
    assert "core" in listing()
