"""Folders for the Hugging Face Hub, and uploads with an object in place of the Hub."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import gramian
from gramian import RFMClassifier
from gramian.integrations.hub import MODEL_FILE, HubApi, load_from_hub, push, save_for_hub, write_card

X, Y = load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def model():
    return RFMClassifier(preset="fast", n_rounds=1, n_threads=1).fit(X, Y)


class Folders:
    """The Hub as a folder on disk: it records what it was asked for."""

    def __init__(self, root):
        self.root, self.created, self.messages = root, {}, []

    def create_repo(self, repo_id, *, private, exist_ok):
        assert exist_ok
        self.created[repo_id] = private

    def upload_folder(self, *, repo_id, folder_path, commit_message):
        assert repo_id in self.created
        shutil.copytree(folder_path, self.root / repo_id)
        self.messages.append(commit_message)

    def hf_hub_download(self, repo_id, filename, *, revision=None):
        return str(self.root / repo_id / filename)


def test_a_folder_has_the_model_and_its_card(model, tmp_path):
    folder = save_for_hub(model, tmp_path / "new" / "iris", dataset="iris", license="mit")
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", MODEL_FILE]
    np.testing.assert_array_equal(gramian.load(folder / MODEL_FILE).predict_proba(X), model.predict_proba(X))
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "# iris\n" in text
    assert 'license: "mit"' in text


def test_a_card_is_replaced_and_has_the_given_title(model, tmp_path):
    write_card(model, tmp_path)
    assert "# Flowers\n" in write_card(model, tmp_path, title="Flowers").read_text(encoding="utf-8")


def test_an_upload_is_private_unless_asked_otherwise(model, tmp_path):
    hub = Folders(tmp_path)
    assert isinstance(hub, HubApi)
    push(model, "me/iris", api=hub)
    push(model, "me/public", private=False, api=hub)
    assert hub.created == {"me/iris": True, "me/public": False}
    assert hub.messages == ["Upload a RFMClassifier"] * 2
    assert "# iris\n" in (tmp_path / "me/iris/README.md").read_text(encoding="utf-8")
    np.testing.assert_array_equal(load_from_hub("me/iris", api=hub).predict(X), model.predict(X))


def test_without_the_package_an_upload_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for call in (lambda: push(model, "me/iris"), lambda: load_from_hub("me/iris")):
        with pytest.raises(ImportError, match=r'needs the package huggingface_hub: pip install "gramian\[hub\]"'):
            call()


@pytest.mark.slow
def test_the_hubs_own_reader_understands_the_card(model, tmp_path):
    hub = pytest.importorskip("huggingface_hub", reason="not installed: pip install 'gramian[hub]'")
    card = hub.ModelCard.load(write_card(model, tmp_path, title="iris", dataset="iris", license="mit"))
    assert (card.data.library_name, card.data.pipeline_tag) == ("gramian", "tabular-classification")
    scores = {result.metric_type: result.metric_value for result in card.data.eval_results}
    assert scores["accuracy"] == pytest.approx(1 - model.held_out_losses_["error"])
    assert isinstance(hub.HfApi(), HubApi)
    assert Path(tmp_path / "README.md").is_file()
