import pytest

from uci_folder import write_uci_folder


@pytest.fixture
def folder(tmp_path):
    """A data folder with two synthetic UCI sets."""
    return write_uci_folder(tmp_path / "data")
