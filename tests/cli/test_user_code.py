"""Networks from the user's own factories."""

import json
import sys

import pytest
import torch
from click.testing import CliRunner

from example_network import layers, refused
from gramian.cli.main import cli


@pytest.fixture
def run(inspecting):
    return inspecting


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
