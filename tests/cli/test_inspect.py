"""gramian inspect as a user runs it: weights from anywhere, a factory of their own, data in any form."""

import csv
import json
import sys
import uuid

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from PIL import Image
from safetensors.torch import save_file
from torch import nn

import gramian
from gramian import report as pages
from gramian.cli.main import cli

NET = """
import numpy as np, torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=6, outputs=1):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, width), nn.ReLU())
        self.head = nn.Linear(width, outputs)

    def forward(self, x):
        return self.head(self.body(x))

ready = Net()
text = "no network"

def needs(width):
    return Net(width)

def classes():
    return Net(outputs=3)

def pictures():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))

def tokens():
    return nn.Sequential(nn.Embedding(7, 4), nn.Flatten(), nn.Linear(8, 1))

def fails():
    return {}["missing"]

def loader():
    X = torch.linspace(-1, 1, 60).reshape(20, 3)
    return [(X[:10], X[:10, :1]), (X[10:], X[10:, :1])]

def loss(output, target):
    return (output - target).abs().mean()
"""
N = 40


def refused(result, *words):
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr


@pytest.fixture
def net(tmp_path, monkeypatch):
    """The name of a module in the current folder, another for each test: Python imports a name but once."""
    monkeypatch.chdir(tmp_path)
    name = f"net_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(NET)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    np.savez("test.npz", X=X, y=X[:, 0] * X[:, 1], label=np.arange(N) % 3)
    yield name
    sys.modules.pop(name, None)


@pytest.fixture
def run(net):
    """inspect with the class Net of the module and the data, unless the arguments name others."""

    def go(*arguments, model="Net", data="test.npz"):
        given = [str(a) for a in arguments]
        return CliRunner().invoke(cli, ["inspect", "--model", f"{net}:{model}", "--data", data, *given])

    return go


def weights(seed=1, outputs=1):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = nn.Sequential()
        made.add_module("body", nn.Sequential(nn.Linear(3, 6), nn.ReLU()))
        made.add_module("head", nn.Linear(6, outputs))
    return made.state_dict()


def layers(result):
    assert result.exit_code == 0, result.output
    return {row["layer"]: row for row in json.loads(result.stdout)["layers"]}


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
    @pytest.mark.parametrize("content", [b"", b"nonsense" * 20])
    def test_what_is_no_checkpoint(self, run, tmp_path, name, content):
        (tmp_path / name).write_bytes(content)
        refused(run(name), name)

    def test_a_checkpoint_cut_short(self, run, tmp_path):
        torch.save(weights(), "w.pt")
        (tmp_path / "w.pt").write_bytes((tmp_path / "w.pt").read_bytes()[:-300])
        refused(run("w.pt"), "w.pt cannot be read as a checkpoint")

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


class TestData:
    def test_all_forms_say_the_same(self, run, net):
        pd = pytest.importorskip("pandas")
        data = np.load("test.npz")
        frame = pd.DataFrame(data["X"], columns=["a", "b", "c"]).assign(y=data["y"], id=[f"n{i}" for i in range(N)])
        frame.to_csv("t.csv", index=False)
        frame.to_parquet("t.parquet")
        np.save("x.npy", data["X"])
        np.save("y.npy", data["y"])
        expected = layers(run("--json"))["body.0"]
        table = ("--target", "y", "--drop", "id", "--json")
        for result in (
            run(*table, data="t.csv"),
            run(*table, data="t.parquet"),
            run("--target", "y.npy", "--json", data="x.npy"),
        ):
            assert layers(result)["body.0"] == pytest.approx(expected, nan_ok=True)

    def test_a_function_of_the_users(self, run, net):
        result = run("--loss", "mse", "--json", data=f"{net}:loader")
        assert json.loads(result.stdout)["samples"] == 20
        assert layers(result)["head"]["enfa_half_cos"] is not None

    def test_classes_by_number_and_by_word(self, run):
        pytest.importorskip("pandas")
        result = run("--target", "label", "--json", model="classes")
        assert json.loads(result.stdout)["loss"] == "cross_entropy"
        assert layers(result)["head"]["nc1"] is not None
        data = np.load("test.npz")
        words = np.array(["a", "b", "c"])[data["label"]]
        np.savez("words.npz", X=data["X"], y=words)
        again = run("--json", model="classes", data="words.npz")
        assert layers(again) == layers(result)
        assert json.loads(again.stdout)["classes"] == ["a", "b", "c"]

    def test_loss_by_name_by_function_and_none(self, run, net):
        own = run("--loss", f"{net}:loss", "--json")
        assert json.loads(own.stdout)["loss"] == f"{net}:loss"
        assert layers(own)["body.0"]["enfa_half_cos"] != layers(run("--json"))["body.0"]["enfa_half_cos"]
        none = run("--loss", "none", "--json")
        assert json.loads(none.stdout)["loss"] is None
        assert layers(none)["body.0"]["enfa_half_cos"] is None
        refused(run("--loss", "huber"), "it is one of auto, none, mse")
        refused(run("--loss", "cross_entropy"), "whole numbers")

    def test_samples_are_drawn_not_cut_off(self, run, net):
        X = np.concatenate([np.zeros((500, 3)), np.ones((500, 3))])
        np.savez("sorted.npz", X=X, y=X[:, 0])
        record = json.loads(run("--samples", 50, "--json", data="sorted.npz").stdout)
        assert (record["samples"], record["rows_in_data"]) == (50, 1000)
        assert record["layers"][0]["target_linearity"] > 0, "the first 50 rows have but one target"

    def test_pictures_in_folders(self, run, tmp_path):
        rng = np.random.default_rng(0)
        for label in ("cat", "dog"):
            (tmp_path / "pictures" / label).mkdir(parents=True)
            for i in range(6):
                pixels = rng.integers(0, 255, size=(8, 8, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(tmp_path / "pictures" / label / f"{i}.png")
        result = run("--json", model="pictures", data="pictures")
        record = json.loads(result.stdout)
        assert (record["samples"], record["classes"], record["loss"]) == (12, ["cat", "dog"], "cross_entropy")
        Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(tmp_path / "pictures" / "cat" / "large.png")
        refused(run(model="pictures", data="pictures"), "8×8 and 9×9 pixels", "--image-size 8x8")
        assert run("--image-size", "8", model="pictures", data="pictures").exit_code == 0
        assert run("--image-size", "x", model="pictures", data="pictures").exit_code == 2
        (tmp_path / "empty").mkdir()
        refused(run(data="empty"), "holds no pictures")

    def test_whole_numbers_for_a_model_that_looks_them_up(self, run):
        rng = np.random.default_rng(0)
        np.savez("tokens.npz", X=rng.integers(0, 7, size=(30, 2)), y=rng.normal(size=30))
        assert "2" in layers(run("--json", model="tokens", data="tokens.npz"))

    def test_errors_name_the_fix(self, run, tmp_path):
        pytest.importorskip("pandas")
        np.savez("wide.npz", X=np.zeros((5, 4)))
        refused(run(data="wide.npz"), "does not take samples of shape (4,)")
        np.savez("odd.npz", a=np.zeros((5, 3)), b=np.zeros((5, 3)))
        refused(run(data="odd.npz"), "name the inputs X")
        np.savez("uneven.npz", X=np.zeros((5, 3)), y=np.zeros(4))
        refused(run(data="uneven.npz"), "5 inputs and 4 targets")
        np.savez("objects.npz", X=np.array([[{}]], dtype=object))
        refused(run(data="objects.npz"), "more than numbers")
        refused(run("--target", "z"), "no array 'z'", "it has X, y, label")
        refused(run(data="no.npz"), "there is no file no.npz")
        (tmp_path / "t.csv").write_text("a,b,c\n1,x,2\n")
        refused(run(data="t.csv"), "'b' hold text: --drop them")
        (tmp_path / "t.csv").write_text("a,b,c\n1,,2\n2,3,4\n")
        refused(run(data="t.csv"), "'b' have empty cells")
        np.savez("plain.npz", X=np.zeros((5, 3)))
        refused(run("--loss", "mse", data="plain.npz"), "needs targets")
        refused(run("--device", "cuda:99"), "cuda")
        refused(run("--layers", "tail.*"), "tail.*")


class TestOutput:
    def test_text_without_colour_in_a_pipe(self, run):
        result = run()
        assert result.exit_code == 0
        assert "\x1b" not in result.output
        assert "body.0" in result.stdout
        assert result.stderr == ""

    def test_csv(self, run):
        rows = list(csv.DictReader(run("--csv").stdout.splitlines()))
        assert [row["layer"] for row in rows] == ["body.0", "head"]
        assert rows[0]["fact_cos"] == ""
        assert float(rows[0]["nfa_half_cos"]) > 0
        assert run("--csv", "--json").exit_code == 2

    def test_more_columns_on_request(self, run):
        torch.save(weights(1), "w.pt")
        torch.save(weights(2), "w0.pt")
        found = layers(run("w.pt", "--weight-decay", 0.01, "--initial", "w0.pt", "--layers", "head", "--json"))
        assert list(found) == ["head"]
        assert found["head"]["fact_cos"] is not None
        assert found["head"]["c_nfa_cos"] is not None

    def test_two_checkpoints_are_compared(self, run):
        torch.save(weights(1), "a.pt")
        torch.save(weights(2), "b.pt")
        record = json.loads(run("a.pt", "b.pt", "--json").stdout)
        assert (record["first"]["checkpoint"], record["second"]["checkpoint"]) == ("a.pt", "b.pt")
        change = (weights(2)["head.weight"] - weights(1)["head.weight"]).norm() / weights(1)["head.weight"].norm()
        assert record["comparison"]["layers"][1]["weight_change"] == pytest.approx(float(change), rel=1e-5)
        text = run("a.pt", "b.pt").stdout
        assert "From a.pt to b.pt" in text
        assert all(len(line) <= 80 for line in text.splitlines())
        assert text.count("head") == 2, "columns go on in a second table"
        same = json.loads(run("a.pt", "a.pt", "--json").stdout)["comparison"]["layers"]
        assert [row["weight_change"] for row in same] == [0, 0]
        assert run("a.pt", "b.pt", "a.pt").exit_code == 2

    def test_pages(self, run, monkeypatch, tmp_path):
        asked = []

        def write(*things, **options):
            asked.append((things, options))
            things[-1].write_text("<html>")

        monkeypatch.setattr(pages, "write_report", write, raising=False)
        monkeypatch.setattr(pages, "write_comparison", write, raising=False)
        torch.save(weights(1), "a.pt")
        torch.save(weights(2), "b.pt")
        assert json.loads(run("a.pt", "--html", "one.html", "--json").stdout)["html"] == "one.html"
        assert "two.html" in run("a.pt", "b.pt", "--html", "two.html").stdout
        (one, about), (two, both) = asked
        assert isinstance(one[0], gramian.FeatureReport)
        assert about == {"title": "a.pt"}
        assert len(two) == 3
        assert both == {"names": ("a.pt", "b.pt")}
        refused(run("a.pt", "--html", tmp_path / "no" / "x.html"), "there is no folder")

    def test_real_pages(self, run, tmp_path):
        torch.save(weights(1), "a.pt")
        torch.save(weights(2), "b.pt")
        for paths in (("a.pt",), ("a.pt", "b.pt")):
            result = run(*paths, "--html", "page.html")
            if "got FeatureReport" in result.stderr:
                pytest.skip("gramian.report.write_report takes fitted models only")
            assert result.exit_code == 0, result.output
            text = (tmp_path / "page.html").read_text()
            assert "body.0" in text
            assert "a.pt" in text
