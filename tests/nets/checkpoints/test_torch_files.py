"""State dicts of torch files, and weights under the names of wrappers."""

import pytest
import torch
from torch import nn

from gramian.nets.checkpoints.torch_files import fit_weights, read_torch_file


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("new", [True, False])
def test_old_and_new_formats_mapped_or_read(tmp_path, mmap, new):
    path = tmp_path / "w.pt"
    torch.save({"state_dict": {"a": torch.arange(6.0)}, "epoch": 1}, path, _use_new_zipfile_serialization=new)
    weights, note = read_torch_file(path, mmap=mmap)
    assert torch.equal(weights["a"], torch.arange(6.0))
    assert note == "the weights under 'state_dict'"


def test_a_file_of_data_is_refused(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("a line")
    with pytest.raises(ValueError, match="is not a checkpoint of a network"):
        read_torch_file(path)


def test_weights_that_do_not_fit():
    with torch.random.fork_rng():
        model = nn.Linear(3, 2)
    with pytest.raises(ValueError, match=r"w\.pt does not fit the model: missing bias; unexpected tail.*Give a hint"):
        fit_weights(model, {"weight": model.weight, "tail": model.bias}, "w.pt", hint="Give a hint")
    with pytest.raises(ValueError, match=r"weight is \(2, 4\) in the file and \(2, 3\) in the model"):
        fit_weights(model, {"weight": torch.zeros(2, 4), "bias": model.bias}, "w.pt")


def test_weights_are_loaded_under_the_names_of_wrappers():
    with torch.random.fork_rng():
        given, model = nn.Linear(3, 2), nn.Linear(3, 2)
    note = fit_weights(model, {f"module._orig_mod.{k}": v for k, v in given.state_dict().items()}, "w.pt")
    assert torch.equal(model.weight, given.weight)
    assert "DataParallel" in note
    assert "torch.compile" in note
