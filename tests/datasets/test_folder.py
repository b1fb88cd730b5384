"""The folder of local data."""

import pytest

from gramian.datasets import cifar10, covertype, diamonds, grinsztajn_names, mnist, sst2, uci, uci_names


def test_the_variable_names_the_folder(digits, monkeypatch):
    folder, images, _ = digits
    monkeypatch.setenv("GRAMIAN_DATA", str(folder))
    assert len(mnist("test").X) == len(images)


@pytest.mark.parametrize(
    "read", [mnist, cifar10, covertype, diamonds, sst2, grinsztajn_names, uci_names, lambda: uci("iris")]
)
def test_no_folder_says_how_to_name_one(read, monkeypatch):
    monkeypatch.delenv("GRAMIAN_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"GRAMIAN_DATA.*folder="):
        read()
