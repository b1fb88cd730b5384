"""Trajectories have the numbers of the single reports, in the order of the steps."""

import math
import sys

import pytest
import torch
from torch import nn

from gramian.nets import Trajectory, inspect, inspect_checkpoints, inspect_weights
from nets.checkpoints.made import state, write_folder


def network():
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three checkpoints of a training, and its data."""
    folder = tmp_path_factory.mktemp("run")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        X = torch.randn(40, 3)
        y = X[:, :2] * X[:, 1:]
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for step in range(101):
            if step % 50 == 0:
                torch.save({"model": model.state_dict(), "step": step}, folder / f"step-{step}.pt")
            optimizer.zero_grad()
            nn.functional.mse_loss(model(X), y).backward()
            optimizer.step()
    return folder, X, y


def equal(rows, expected):
    assert len(rows) == len(expected)
    for row, other in zip(rows, expected, strict=True):
        for name, value in other.items():
            same = row[name] == value or (isinstance(value, float) and math.isnan(value) and math.isnan(row[name]))
            assert same, (name, row[name], value)


def loaded(path):
    with torch.random.fork_rng():
        model = network()
    model.load_state_dict(torch.load(path)["model"])
    return model


def test_weights_alone(run):
    folder, *_ = run
    found = inspect_checkpoints(folder)
    assert (found.steps, found.kind) == ((0, 50, 100), "weights")
    equal(found.rows[:2], inspect_weights(folder / "step-0.pt").rows)
    equal(found.rows[4:], inspect_weights(folder / "step-100.pt", initial=folder / "step-0.pt").rows)
    change = found.series("0", "weight_change")
    assert math.isnan(change[0])
    assert change[2] > change[1] > 0
    assert [entry["checkpoint"] for entry in found.rows[::2]] == list(found.checkpoints)


@pytest.mark.parametrize("made", ["module", "factory"])
def test_with_data_the_first_checkpoint_is_the_initial_one(run, made):
    folder, X, y = run
    with torch.random.fork_rng():
        model = network()
        before = {key: value.clone() for key, value in model.state_dict().items()}
        found = inspect_checkpoints(f"{folder}/step-*", (X, y), "mse", model=model if made == "module" else network)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items()), "the model was changed"
    start = torch.load(folder / "step-0.pt")["model"]
    for step, rows in zip((0, 50, 100), (found.rows[:2], found.rows[2:4], found.rows[4:]), strict=True):
        initial = None if step == 0 else start
        equal(rows, inspect(loaded(folder / f"step-{step}.pt"), (X, y), "mse", initial=initial).rows)
    assert "c_nfa_cos" in found.columns
    assert not math.isnan(found.series("0", "c_nfa_cos")[1])


def test_table_frame_and_file(run, tmp_path):
    folder, *_ = run
    found = inspect_checkpoints(folder)
    text = str(found)
    assert "3 checkpoints, step 0 to 100 · 2 layers" in text
    assert " → " in text
    assert "if random" not in text, "it is the same at every step"
    frame = found.to_pandas()
    assert frame.loc[("2", 100), "norm"] == found.series("2", "norm")[2]
    found.save(tmp_path / "t.gramian")
    again = Trajectory.load(tmp_path / "t.gramian")
    assert str(again) == text
    assert again.steps == found.steps
    inspect_weights(state()).save(tmp_path / "w.gramian")
    with pytest.raises(ValueError, match="holds no trajectory"):
        Trajectory.load(tmp_path / "w.gramian")


def test_folders_of_hugging_face_without_data(tmp_path):
    for step in (2, 10):
        write_folder(tmp_path / f"checkpoint-{step}", state(step), 2, {"model_type": "llama"})
    found = inspect_checkpoints(tmp_path, layers="*.q_proj")
    assert found.steps == (2, 10)
    assert len(found.layers) == 2


def test_refused(run, monkeypatch):
    folder, X, _ = run
    with pytest.raises(ValueError, match="need data"):
        inspect_checkpoints(folder, model=network)
    with pytest.raises(ValueError, match="is an iterator"):
        inspect_checkpoints(folder, iter([X]), model=network)
    with pytest.raises(ValueError, match="is not a folder of Hugging Face"):
        inspect_checkpoints(folder, X)
    with pytest.raises(ValueError, match="must be a module or a function that returns one"):
        inspect_checkpoints(folder, X, model=lambda: 3)
    with torch.random.fork_rng(), pytest.raises(ValueError, match=r"step-0\.pt does not fit the model"):
        inspect_checkpoints(folder, X, model=nn.Linear(3, 1))
    found = inspect_checkpoints(folder)
    with pytest.raises(ValueError, match="there are"):
        found.series("absent", "norm")
    with pytest.raises(ValueError, match="no column 'nrom'"):
        found.series("0", "nrom")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        found.to_pandas()
