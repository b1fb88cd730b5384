"""gramian inspect as a user runs it: data in any form, and what comes out."""

import csv
import json

import numpy as np
import pytest
import torch
from PIL import Image

import gramian
from example_network import N, layers, refused, weights
from gramian import report as pages
from gramian.cli.samples import Wanted, read_samples


@pytest.fixture
def run(inspecting):
    return inspecting


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

    @pytest.mark.parametrize("dtype", ["U3", "S3", "complex128", "datetime64[D]"])
    def test_inputs_that_are_no_real_numbers(self, run, dtype):
        X = np.zeros((5, 3), dtype=int).astype(dtype)
        np.savez("odd.npz", X=X)
        refused(run(data="odd.npz"), "odd.npz", "'X'", str(X.dtype))
        np.save("odd.npy", X)
        refused(run(data="odd.npy"), "odd.npy", str(X.dtype))

    def test_pictures_of_16_bits_keep_their_steps(self, tmp_path):
        folder = tmp_path / "deep"
        folder.mkdir()
        pixels = np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000
        Image.fromarray(pixels).save(folder / "a.png")
        found = read_samples(str(folder), Wanted(9)).X
        assert found.shape == (1, 1, 8, 8)
        assert found.dtype == np.float32
        assert np.allclose(found[0, 0], pixels / 65535)
        Image.fromarray(np.full((8, 8, 3), 51, dtype=np.uint8)).save(folder / "b.png")
        both = read_samples(str(folder), Wanted(9)).X
        assert both.shape == (2, 3, 8, 8)
        assert np.allclose(both[0], pixels / 65535)
        assert np.allclose(both[1], 0.2)
        assert read_samples(str(folder), Wanted(9, image_size=(4, 4))).X.shape == (2, 3, 4, 4)

    @pytest.mark.parametrize("dtype", ["int32", "float32"])
    def test_pictures_of_32_bits_are_refused(self, run, tmp_path, dtype):
        (tmp_path / "deep").mkdir()
        Image.fromarray(np.zeros((8, 8), dtype=dtype)).save(tmp_path / "deep" / "a.tif")
        refused(run(data="deep"), "a.tif", "32 bits", "save it with 8 or 16 bits")

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
