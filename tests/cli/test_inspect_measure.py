"""Weights alone, runs, and networks of Hugging Face folders, as the command measures them."""

import json

import pytest
import torch
from click.testing import CliRunner

import gramian
from example_network import refused, weights
from gramian.cli.main import cli
from gramian.nets import inspect_checkpoints, inspect_weights
from nets.checkpoints.made import state, write_folder


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for step in (0, 9, 10):
        torch.save({"model": weights(step)}, f"step-{step}.pt")

    def go(*words):
        return CliRunner().invoke(cli, ["inspect", *map(str, words)])

    return go


def record(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def same(rows, expected):
    assert len(rows) == len(expected)
    for row, other in zip(rows, expected, strict=True):
        assert row == {key: None if value != value else value for key, value in other.items()}


class TestWeights:
    def test_one_checkpoint(self, run):
        found = record(run("step-0.pt", "--json"))
        same(found["layers"], inspect_weights("step-0.pt").rows)
        assert found["checkpoint"] == "step-0.pt"
        assert found["skipped"] == {"body.0.bias": "a vector", "head.bias": "a vector"}
        text = run("step-0.pt").stdout
        assert "body.0" in text
        assert "if random" in text
        assert "the weights under 'model'" in text

    def test_two_checkpoints_and_an_initial_one(self, run):
        expected = inspect_weights("step-9.pt", initial="step-0.pt").rows
        found = record(run("step-0.pt", "step-9.pt", "--json"))
        same(found["layers"], expected)
        assert (found["initial"], found["checkpoint"]) == ("step-0.pt", "step-9.pt")
        same(record(run("step-9.pt", "--initial", "step-0.pt", "--json"))["layers"], expected)

    def test_a_folder_with_shards(self, run, tmp_path):
        write_folder(tmp_path / "net", state(), 3, {"model_type": "llama"})
        found = record(run("net", "--json", "--layers", "*.q_proj"))
        assert [row["layer"] for row in found["layers"]] == [f"model.layers.{i}.self_attn.q_proj" for i in (0, 1)]
        assert "model.layers.1.mlp.up_proj" in run("net/").stdout
        refused(run("net", "--layers", "absent"), "which is no weight matrix")

    def test_a_run(self, run):
        found = record(run("step-*.pt", "--json"))
        assert (found["steps"], found["kind"]) == ([0, 9, 10], "weights")
        same(found["rows"], inspect_checkpoints("step-*.pt").rows)
        text = run("step-10.pt", "step-0.pt", "step-9.pt").stdout
        assert "3 checkpoints, step 0 to 10" in text
        assert " → " in text


class TestNetworks:
    def test_a_run_of_a_network_of_the_user(self, net, inspecting):
        for step in (0, 9, 10):
            torch.save(weights(step), f"step-{step}.pt")
        found = record(inspecting("step-*.pt", "--json"))
        assert (found["steps"], found["kind"], found["loss"]) == ([0, 9, 10], "features", "mse")
        single = record(inspecting("step-9.pt", "--initial", "step-0.pt", "--json"))
        rows = [row for row in found["rows"] if row["step"] == 9]
        for row, expected in zip(rows, single["layers"], strict=True):
            assert {key: row[key] for key in expected} == pytest.approx(expected)
        assert rows[0]["c_nfa_cos"] is not None
        assert "C-NFA" in inspecting("step-*.pt").stdout

    def test_random_projections(self, inspecting):
        found = record(inspecting("--outputs", 2, "--target", "label", "--json", model="classes"))
        assert found["settings"]["projections"] == 2

    def test_weights_of_a_folder_in_a_network_of_the_user(self, tmp_path, net, inspecting):
        write_folder(tmp_path / "net", weights(3), 2)
        torch.save(weights(3), "w.pt")
        assert record(inspecting("net", "--json"))["layers"] == record(inspecting("w.pt", "--json"))["layers"]


class TestPretrained:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        transformers = pytest.importorskip("transformers")
        from nets.checkpoints.test_pretrained import TEXTS, tiny

        monkeypatch.chdir(tmp_path)
        for step in (5, 10):
            tiny(transformers, tmp_path / f"checkpoint-{step}", seed=step)
        (tmp_path / "texts.tsv").write_text("".join(f"{text}\t{i % 2}\n" for i, text in enumerate(TEXTS)))
        return tmp_path

    def test_texts_through_a_language_model(self, run, folder):
        words = ("--data", "texts.tsv", "--outputs", 4, "--json")
        found = record(run("checkpoint-5", *words))
        assert (found["loss"], found["rows_in_data"], found["samples"]) == ("model", 4, 4)
        texts = [line.split("\t")[0] for line in (folder / "texts.tsv").read_text().splitlines()]
        expected = gramian.inspect("checkpoint-5", texts, outputs=4)
        assert found["settings"]["loss"] == pytest.approx(expected.settings["loss"])
        assert record(run("checkpoint-5", *words, "--samples", 2))["samples"] == 2
        assert record(run("checkpoint-5", *words, "--loss", "none"))["loss"] is None
        both = record(run("checkpoint-5", "checkpoint-10", *words))
        assert both["comparison"]["layers"][0]["weight_change"] > 0

    def test_a_run_of_folders(self, run, folder):
        found = record(run(".", "--data", "texts.tsv", "--outputs", 4, "--json"))
        assert found["steps"] == [5, 10]
        assert [row["c_nfa_cos"] is None for row in found["rows"] if row["layer"] == "model.layers.0.mlp.up_proj"] == [
            True,
            False,
        ]

    def test_data_that_is_no_text(self, run, folder):
        refused(run("checkpoint-5", "--data", "x.npz"), "takes texts", "--model")


def test_without_transformers_the_extra_is_named(run, tmp_path, monkeypatch):
    write_folder(tmp_path / "net", state(), config={"architectures": ["LlamaForCausalLM"]})
    (tmp_path / "t.txt").write_text("a\n")
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    refused(run("net", "--data", "t.txt"), "gramian[hf]", "leave data out")


def test_prefixes_are_left_out_of_the_names_of_weights(run):
    torch.save({"state_dict": {f"module.{key}": value for key, value in weights(9).items()}}, "wrapped.pt")
    same(record(run("wrapped.pt", "--json"))["layers"], inspect_weights("step-9.pt").rows)
    expected = inspect_weights("step-9.pt", initial="step-0.pt").rows
    same(record(run("step-0.pt", "wrapped.pt", "--json"))["layers"], expected)
    assert "'module.' (DataParallel) left out of the names" in run("wrapped.pt").stdout
