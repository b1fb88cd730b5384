"""gramian inspect as a user runs it: data in any form, and what comes out."""

import json

import numpy as np
import pytest
from PIL import Image

from example_network import N, layers, refused


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

    def test_a_loader_over_a_stream_without_a_length(self, run, net, tmp_path):
        code = """
class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter([(x, x[:1]) for x, _ in loader() for x in x])

def stream():
    return torch.utils.data.DataLoader(Stream(), batch_size=10)
"""
        path = tmp_path / f"{net}.py"
        path.write_text(path.read_text() + code)
        result, expected = (run("--loss", "mse", "--json", data=f"{net}:{name}") for name in ("stream", "loader"))
        assert layers(result) == layers(expected)

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
        refused(run("--loss", "huber"), "use one of auto, none, mse")
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
        refused(run(model="pictures", data="pictures"), "8×8 and 9×9 pixels", "image size of 8x8")
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
        refused(run(data="t.csv"), "'b' hold text: drop them")
        (tmp_path / "t.csv").write_text("a,b,c\n1,,2\n2,3,4\n")
        refused(run(data="t.csv"), "'b' have empty cells")
        np.savez("plain.npz", X=np.zeros((5, 3)))
        refused(run("--loss", "mse", data="plain.npz"), "needs targets")
        refused(run("--device", "cuda:99"), "cuda")
        refused(run("--layers", "tail.*"), "tail.*")
