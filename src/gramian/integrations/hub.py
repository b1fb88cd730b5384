"""Models of gramian on the Hugging Face Hub: a folder with the model file and a model card, and its upload.

The model is stored as the file that ``model.save`` writes, which contains training rows; the card says so. A repository
is private unless you ask for a public one.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from gramian.core.atomic import atomic_file
from gramian.integrations.card import card_text
from gramian.integrations.extras import require
from gramian.rfm.classifier import RFMClassifier
from gramian.rfm.regressor import RFMRegressor
from gramian.rfm.serialization import load

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL_FILE = "model.gramian"
"""Name of the model file in a folder or a repository."""


@runtime_checkable
class HubApi(Protocol):
    """The methods of ``huggingface_hub.HfApi`` that are used."""

    def create_repo(self, repo_id: str, *, private: bool, exist_ok: bool) -> object: ...

    def upload_folder(self, *, repo_id: str, folder_path: str, commit_message: str) -> object: ...

    def hf_hub_download(self, repo_id: str, filename: str, *, revision: str | None = None) -> str: ...


def write_card(
    model: RFMClassifier | RFMRegressor,
    folder: str | os.PathLike[str],
    *,
    title: str = "",
    dataset: str = "",
    license: str = "",
) -> Path:
    """Write the model card ``README.md`` to a folder that exists, and return its path.

    Its front matter has the tags and the scores on held-out rows in the Hub's terms; its text has the same scores
    beside those of a constant prediction, the columns, how to load the model, and what the file contains.

    Parameters
    ----------
    model : RFMClassifier or RFMRegressor
        Fitted.
    folder : path
    title : str
        Title of the card; the name of the folder by default.
    dataset : str
        Name of the training data.
    license : str
        The Hub's name of the licence, such as ``"mit"``; no entry by default.

    >>> from sklearn.datasets import load_iris
    >>> from gramian import RFMClassifier
    >>> model = RFMClassifier(preset="fast").fit(*load_iris(return_X_y=True, as_frame=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_card(model, folder, dataset="iris").read_text().splitlines()[1])
    library_name: "gramian"
    """
    path = Path(folder) / "README.md"
    text = card_text(model, title or path.parent.resolve().name, MODEL_FILE, dataset=dataset, license=license)
    with atomic_file(path) as file:
        file.write(text.encode())
    return path


def save_for_hub(
    model: RFMClassifier | RFMRegressor,
    folder: str | os.PathLike[str],
    *,
    title: str = "",
    dataset: str = "",
    license: str = "",
) -> Path:
    """Write the model file and its card to a folder, which is created if it does not exist; return the folder.

    The arguments are those of :func:`write_card`. Files of the same names are replaced.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    model.save(place / MODEL_FILE)
    write_card(model, place, title=title, dataset=dataset, license=license)
    return place


def push(
    model: RFMClassifier | RFMRegressor,
    repo_id: str,
    *,
    private: bool = True,
    dataset: str = "",
    license: str = "",
    token: str | None = None,
    api: HubApi | None = None,
) -> None:
    """Upload the model file and its card to a repository of the Hub, which is created if it does not exist.

    Parameters
    ----------
    model : RFMClassifier or RFMRegressor
        Fitted. Its file contains training rows: whoever can read the repository can read them.
    repo_id : str
        Owner and name, such as ``"me/prices"``.
    private : bool, default=True
        Only the owner can read a new repository; one that exists stays as it is.
    dataset, license : str
        See :func:`write_card`.
    token : str, optional
        The one of ``huggingface-cli login`` by default.
    api : HubApi, optional
        Used instead of ``huggingface_hub.HfApi(token=token)``.
    """
    hub = _api(token) if api is None else api
    with tempfile.TemporaryDirectory() as folder:
        save_for_hub(model, folder, title=repo_id.rpartition("/")[2], dataset=dataset, license=license)
        hub.create_repo(repo_id, private=private, exist_ok=True)
        hub.upload_folder(repo_id=repo_id, folder_path=folder, commit_message=f"Upload a {type(model).__name__}")


def load_from_hub(
    repo_id: str, *, revision: str | None = None, token: str | None = None, api: HubApi | None = None
) -> RFMClassifier | RFMRegressor:
    """Download a model from a repository of the Hub and open it; no code of the repository is run.

    ``revision`` is a branch, a tag or a commit; the other arguments are those of :func:`push`.
    """
    hub = _api(token) if api is None else api
    return load(hub.hf_hub_download(repo_id, MODEL_FILE, revision=revision))


def _api(token: str | None) -> HubApi:
    make = require("huggingface_hub", "access to the Hugging Face Hub", "hub").HfApi
    return cast("Callable[..., HubApi]", make)(token=token)
