"""gramian inspect as a user runs it: weights from anywhere, and a factory of their own."""

import json
import sys

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import save_file
from torch import nn

import gramian
from example_network import N, layers, refused, weights
from gramian.cli.checkpoints import read_weights
from gramian.cli.main import cli


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

    def test_safetensors(self, run):
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

    def test_other_shapes(self, run):
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
        refused(run("w.pt"), "holds no weights under a name we know; it has 'epoch', 'note'")
        torch.save([1, 2], "w.pt")
        refused(run("w.pt"), "holds a list")
        (tmp_path / "m.gramian").write_bytes(b"")
        refused(run("m.gramian"), "gramian report")
        refused(run("test.npz"), "--data")
        refused(run("ww.pt"), "there is no file ww.pt; did you mean 'w.pt'?")


class TestFactories:
    def test_without_a_checkpoint_the_network_is_as_it_is_made(self, run):
        first, again, other = (run("--json", "--seed", seed) for seed in (0, 0, 1))
        assert layers(first) == layers(again)
        assert layers(first)["head"] != layers(other)["head"]
        assert json.loads(first.stdout)["checkpoint"] is None
        assert "at initialisation" in run().stdout

    def test_arguments_and_a_ready_network(self, run):
        assert layers(run("--model-args", '{"width": 9}', "--json", model="needs"))["head"]["shape"] == "1×9"
        assert list(layers(run("--json", model="ready"))) == ["body.0", "head"]

    def test_a_file_instead_of_a_module(self, net):
        args = ["inspect", "--model", f"{net}.py:Net", "--data", "test.npz", "--json"]
        assert list(layers(CliRunner().invoke(cli, args))) == ["body.0", "head"]

    def test_errors_name_the_fix(self, run, net, tmp_path):
        refused(run(model="Nett"), "has no Nett; did you mean Net?")
        refused(run(model="needs"), "missing 1 required positional argument: 'width'", "--model-args")
        refused(run("--model-args", "width=3", model="needs"), "--model-args must be JSON")
        refused(run("--model-args", "[3]", model="needs"), "must be a JSON object")
        refused(run(model="fails"), "KeyError: 'missing'")
        refused(run(model="text"), "a torch.nn.Module is needed, not a str")
        refused(run(model="loader"), "a torch.nn.Module is needed, not a list")
        for wrong, word in ((f"{net}.Net", "write package.module:name"), ("no_such_net:Net", "no module no_such_net")):
            refused(CliRunner().invoke(cli, ["inspect", "--model", wrong, "--data", "test.npz"]), word)
        (tmp_path / f"bad_{net}.py").write_text("import no_such_package_at_all")
        args = ["inspect", "--model", f"bad_{net}:Net", "--data", "test.npz"]
        refused(CliRunner().invoke(cli, args), "needs no_such_package_at_all, which is not installed")

    def test_nothing_global_remains(self, run):
        path, state = list(sys.path), torch.get_rng_state()
        run("--json")
        assert sys.path == path
        assert torch.equal(torch.get_rng_state(), state)
