"""Checkpoints of networks: weights from any training loop, and no code from a file."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import gramian
from example_network import N, layers, refused, weights
from gramian.cli.checkpoints import choose_checkpoints, read_weights
from nets.checkpoints.made import state, write_folder


@pytest.fixture
def run(inspecting):
    return inspecting


class TestCheckpoints:
    def test_the_numbers_are_those_of_the_library(self, run, net):
        torch.save(weights(), "w.pt")
        result = run("w.pt", "--json")
        found = layers(result)
        with torch.random.fork_rng():
            model = nn.Sequential(nn.Sequential(nn.Linear(3, 6), nn.ReLU()), nn.Linear(6, 1))
        model.load_state_dict({k.replace("body", "0").replace("head", "1"): v for k, v in weights().items()})
        data = np.load("test.npz")
        X, y = (torch.from_numpy(data[name]).float() for name in ("X", "y"))
        expected = gramian.inspect(model, (X, y[:, None]), loss="mse")
        assert found["body.0"]["nfa_half_cos"] == pytest.approx(expected.rows[0]["nfa_half_cos"], rel=1e-4)
        assert found["head"]["target_linearity"] == pytest.approx(expected.rows[1]["target_linearity"], rel=1e-4)
        record = json.loads(result.stdout)
        assert (record["checkpoint"], record["samples"], record["loss"]) == ("w.pt", N, "mse")
        assert "NaN" not in result.stdout

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (lambda s: s, ""),
            (lambda s: {"state_dict": s, "epoch": 3}, "'state_dict'"),
            (lambda s: {"model": s, "optimizer": {"state": {}}, "step": 1}, "'model'"),
            (lambda s: {"anything": s, "epoch": 3}, "'anything'"),
            (lambda s: {f"module.{k}": v for k, v in s.items()}, "DataParallel"),
            (lambda s: {f"_orig_mod.{k}": v for k, v in s.items()}, "torch.compile"),
            (lambda s: {k.replace("body.", "body._orig_mod."): v for k, v in s.items()}, "torch.compile"),
            (lambda s: {f"module._orig_mod.{k}": v for k, v in s.items()}, "DataParallel"),
            (
                lambda s: {"state_dict": {f"model.{k}": v for k, v in s.items()} | {"loss.w": torch.ones(1)}},
                "1 weights outside 'model.' not used: loss.w",
            ),
        ],
    )
    def test_weights_wherever_training_loops_put_them(self, run, content, said):
        torch.save(weights(), "plain.pt")
        torch.save(content(weights()), "w.pt")
        result = run("w.pt", "--json")
        assert layers(result) == layers(run("plain.pt", "--json"))
        assert said in result.stderr

    def test_weights_in_a_safetensors_file(self, run):
        save_file(weights(), "w.safetensors")
        torch.save(weights(), "w.pt")
        assert layers(run("w.safetensors", "--json")) == layers(run("w.pt", "--json"))

    def test_no_code_of_a_checkpoint_is_run(self, run, tmp_path):
        class Trap:
            def __reduce__(self):
                return (open, (str(tmp_path / "trapped"), "w"))

        torch.save({"state_dict": weights(), "trap": Trap()}, "w.pt")
        refused(run("w.pt"), "holds more than weights", "torch.save(model.state_dict(), path)")
        assert not (tmp_path / "trapped").exists()

    def test_a_whole_pickled_model(self, run):
        with torch.random.fork_rng():
            torch.save(nn.Linear(3, 1), "w.pt")
        refused(run("w.pt"), "more than weights (a torch.nn.modules.linear.Linear)")

    def test_a_mismatch_names_the_keys_and_the_fix(self, run):
        state = weights()
        state["tail.weight"] = state.pop("head.weight")
        torch.save(state, "w.pt")
        refused(run("w.pt"), "missing head.weight", "unexpected tail.weight", "--model-args")

    def test_other_shapes_are_named(self, run):
        torch.save(weights(), "w.pt")
        args = ("w.pt", "--model-args", '{"width": 5}')
        refused(run(*args), "body.0.weight is (6, 3) in the file and (5, 3) in the model", "--model-args")

    @pytest.mark.parametrize("name", ["w.pt", "w.safetensors"])
    @pytest.mark.parametrize("content", [b"", b"x", b"\x80", b"nonsense" * 20])
    def test_what_is_no_checkpoint(self, run, tmp_path, name, content):
        (tmp_path / name).write_bytes(content)
        refused(run(name), name)

    def test_a_checkpoint_cut_short(self, run, tmp_path):
        torch.save(weights(), "w.pt")
        (tmp_path / "w.pt").write_bytes((tmp_path / "w.pt").read_bytes()[:-300])
        refused(run("w.pt"), "w.pt cannot be read as a checkpoint")

    @pytest.mark.parametrize("name", ["zip.pt", "pickle.pt", "w.safetensors", "random.pt", "random.safetensors"])
    def test_damage_of_any_kind_is_a_value_error_that_names_the_file(self, tmp_path, name):
        rng = np.random.default_rng(0)
        if name.endswith(".pt"):
            torch.save(weights(), tmp_path / name, _use_new_zipfile_serialization=name == "zip.pt")
        else:
            save_file(weights(), tmp_path / name)
        whole = (tmp_path / name).read_bytes()
        for size in rng.integers(1, len(whole), size=60).tolist():
            (tmp_path / name).write_bytes(rng.bytes(1 + size % 40) if name.startswith("random") else whole[:size])
            with pytest.raises(ValueError, match=name):
                read_weights(tmp_path / name)

    def test_files_that_go_elsewhere(self, run, tmp_path):
        torch.save({"epoch": 3, "note": "hello"}, "w.pt")
        refused(run("w.pt"), "holds no weights under a known key; it has 'epoch', 'note'")
        torch.save([1, 2], "w.pt")
        refused(run("w.pt"), "holds a list")
        (tmp_path / "m.gramian").write_bytes(b"")
        refused(run("m.gramian"), "gramian report")
        refused(run("test.npz"), "--data")
        refused(run("ww.pt"), "there is no file ww.pt; did you mean 'w.pt'?")


class TestChoice:
    def test_one_two_and_runs(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for step in (2, 10, 1):
            torch.save(weights(step), f"step-{step}.pt")
        assert not choose_checkpoints(["step-1.pt"]).run
        assert not choose_checkpoints(["step-10.pt", "step-2.pt"]).run
        for words in (["step-*.pt"], ["."], ["step-10.pt", "step-1.pt", "step-2.pt"], ["step-[12]*.pt"]):
            chosen = choose_checkpoints(words)
            assert chosen.run
            assert [path.name for path in chosen.paths] == ["step-1.pt", "step-2.pt", "step-10.pt"]
        assert "3 checkpoints from" in chosen.name

    def test_a_folder_of_shards_is_one_checkpoint(self, tmp_path):
        folder = write_folder(tmp_path / "net", state(), 3)
        assert not choose_checkpoints([str(folder)]).run
        assert set(read_weights(folder)) == set(state())
