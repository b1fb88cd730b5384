"""Checkpoints of a run are found and put in the order of their steps."""

import pytest
import torch

from gramian.nets.checkpoints.steps import find_checkpoints, is_pattern, is_run
from nets.checkpoints.made import state, write_folder


def saved(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        if "." in name:
            torch.save({"a.weight": torch.eye(2)}, folder / name)
        else:
            write_folder(folder / name, state())
    return folder


def steps(where):
    return [(one.name, one.step) for one in find_checkpoints(where)]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["step-10", "step-9", "step-100"], [9, 10, 100]),
        (["checkpoint-500", "checkpoint-1000", "runs"], [500, 1000]),
        (["w_2.pt", "w_10.pt", "w_1.pt"], [1, 2, 10]),
        (["epoch=1-step=200.ckpt", "epoch=0-step=100.ckpt"], [100, 200]),
        (["3-seed7.pt", "1-seed7.pt"], [1, 3]),
        (["v1-step2.safetensors.pt", "v1-step10.safetensors.pt"], [2, 10]),
    ],
)
def test_natural_order_and_the_number_that_differs(tmp_path, names, expected):
    (tmp_path / "notes-1.txt").write_text("not a checkpoint")
    saved(tmp_path, *(name for name in names if name != "runs"))
    (tmp_path / "runs").mkdir()
    assert [step for _, step in steps(tmp_path)] == expected
    assert is_run(tmp_path)
    assert [step for _, step in steps(f"{tmp_path}/*")] == expected


def test_names_without_a_number_that_tells_them_apart(tmp_path):
    saved(tmp_path, "early.pt", "late.pt")
    assert steps([tmp_path / "late.pt", tmp_path / "early.pt"]) == [("late.pt", 0), ("early.pt", 1)]
    saved(tmp_path, "step-2.pt")
    assert steps(f"{tmp_path}/*.pt") == [("early.pt", 0), ("late.pt", 1), ("step-2.pt", 2)]


def test_one_checkpoint_is_not_a_run(tmp_path):
    one = write_folder(tmp_path / "net", state(), 3, {"model_type": "llama"})
    assert not is_run(one), "its shards have numbers too"
    assert not is_run(tmp_path / "absent")
    assert not is_run(saved(tmp_path / "single", "w1.pt"))


def test_patterns():
    assert is_pattern("a/step-*")
    assert is_pattern("a/step-[12]")
    assert not is_pattern("a/step-1")


def test_refused(tmp_path):
    with pytest.raises(ValueError, match="no checkpoint matches"):
        find_checkpoints(f"{tmp_path}/step-*")
    with pytest.raises(ValueError, match="holds no checkpoints with a number"):
        find_checkpoints(tmp_path)
    with pytest.raises(ValueError, match="is not a folder of checkpoints"):
        find_checkpoints(tmp_path / "absent")
    with pytest.raises(ValueError, match="names no checkpoint"):
        find_checkpoints([])
    with pytest.raises(ValueError, match="named twice"):
        find_checkpoints(["a.pt", "a.pt"])
