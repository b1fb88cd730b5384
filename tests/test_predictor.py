"""The NumPy predictor: the same predictions as the model's, from every kind of table, alone, and from no bad file."""

import io
import json
import shutil
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

import gramian.predictor
from exported_models import MAKERS, ONE, fitted, frame, rows
from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import Gaussian
from gramian.predictor import PredictorFileError, load
from gramian.rfm.export import predictor_of


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A function from the name of a model to its exported file."""
    folder, made = tmp_path_factory.mktemp("exported"), {}

    def file(name):
        if name not in made:
            made[name] = folder / f"{len(made)}.npz"
            fitted(name)[0].export(made[name])
        return made[name]

    return file


def spread(y):
    return np.std(y, axis=0).max() or 1.0


@pytest.mark.parametrize("name", MAKERS)
class TestEquality:
    def test_predictions_are_those_of_the_model(self, files, name):
        model, new = fitted(name)
        predicted, expected = load(files(name)).predict(new), model.predict(new)
        assert predicted.shape == expected.shape
        assert predicted.dtype == expected.dtype
        if hasattr(model, "classes_"):
            assert (predicted == expected).all()
            p = load(files(name)).predict_proba(new)
            np.testing.assert_allclose(p, model.predict_proba(new), rtol=0, atol=1e-5)
            np.testing.assert_allclose(p.sum(axis=1), 1.0)
        else:
            np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-5 * spread(expected))

    def test_a_row_does_not_depend_on_its_batch(self, files, name):
        predictor, (_, new) = load(files(name)), fitted(name)
        whole = predictor.outputs(new)
        part = new.iloc[7:9] if hasattr(new, "iloc") else new[7:9]
        one = new.iloc[[7]] if hasattr(new, "iloc") else new[[7]]
        assert (predictor.outputs(part) == whole[7:9]).all()
        assert (predictor.outputs(one) == whole[[7]]).all()


def test_float64_arithmetic_is_nearer_to_the_function_than_a_float32_model(tmp_path):
    X, y = rows(600)
    model = RFMRegressor(kernel="laplace", dtype="float32", update="agop", n_rounds=1, ridge=1e-6).fit(X, y)
    machine = model.machine_
    assert str(machine.X.dtype) == "torch.float32"
    exact = machine.operator.widened().predict(machine.X[:50].double(), machine.coef.double()).numpy()
    exact = model.model_.target_scaler.inverse_transform(exact)[:, 0]
    Z = model.model_.features.expand(machine.X[:50].numpy())
    found = predictor_of(model.model_).outputs_at(Z)[:, 0]
    np.testing.assert_allclose(found, exact, atol=1e-6 * spread(y))
    # The model itself rounds every kernel value to float32: its error is at most that of the sum of coefficients.
    bound = 4 * np.finfo(np.float32).eps * float(machine.coef.abs().sum()) * float(model.model_.target_scaler.scale[0])
    assert np.abs(model.model_.outputs_at(Z)[:, 0] - found).max() <= bound


class TestTables:
    """Frames, lists of dicts, lists of rows and arrays of the same values have the same predictions."""

    @pytest.mark.parametrize("name", ["frame", "frame, scores", "frame, only scores", "frame, classes"])
    def test_dicts_lists_and_object_arrays(self, files, name):
        predictor, (_, new) = load(files(name)), fitted(name)
        expected = predictor.predict(new)
        dicts = new.astype(object).to_dict("records")
        assert (predictor.predict(dicts) == expected).all()
        assert (predictor.predict([{"more": 1, **row} for row in dicts]) == expected).all()
        assert (predictor.predict(new.astype(object).to_numpy()) == expected).all()
        assert (predictor.predict(new.astype(object).values.tolist()) == expected).all()

    def test_frames_with_columns_in_another_order_and_of_nullable_types(self, files):
        predictor, (_, new) = load(files("frame")), fitted("frame")
        expected = predictor.predict(new)
        assert (predictor.predict(new[new.columns[::-1]]) == expected).all()
        assert (predictor.predict(new.convert_dtypes()) == expected).all()

    def test_polars(self, files):
        polars = pytest.importorskip("polars")
        predictor, (_, new) = load(files("frame")), fitted("frame")
        plain = new.astype({"state": object, "floor": float})
        expected = predictor.predict(plain)
        assert (predictor.predict(polars.from_pandas(plain)) == expected).all()

    def test_numbers_may_be_text_booleans_decimals_or_durations(self, tmp_path):
        rng = np.random.default_rng(0)
        table = np.column_stack([rng.normal(size=50), rng.integers(0, 2, 50)]).astype(object)
        table[3, 0] = None
        model = RFMRegressor(kernel="laplace", **ONE).fit(table, rng.normal(size=50))
        predictor = predictor_of(model.model_)
        for row in (
            ["1.5", "true"],
            [Decimal("1.5"), True],
            [1.5, np.bool_(True)],
            [" ", 1],
            [None, "1"],
            ["NaN", 1.0],
        ):
            given = np.array([row], dtype=object)
            assert predictor.predict(given) == pytest.approx(model.predict(given))
        days = (np.arange(50) * 7).astype("m8[h]")
        model = RFMRegressor(kernel="laplace", **ONE).fit(days[:, None], np.arange(50.0))
        given = np.array([[np.timedelta64(30, "m")], [np.timedelta64("NaT")]])[:1]
        assert predictor_of(model.model_).predict(given) == pytest.approx(model.predict(given))

    def test_dates_are_no_numbers(self):
        X = np.random.default_rng(0).normal(size=(50, 2))
        predictor = predictor_of(RFMRegressor(kernel="laplace", **ONE).fit(X, X[:, 0]).model_)
        days = np.full((2, 2), np.datetime64("2020-01-01", "ns"))
        with pytest.raises(ValueError, match="column 'x0' holds dates, and the model needs a number"):
            predictor.predict(days)

    @pytest.mark.filterwarnings("ignore:.*entries of:UserWarning")
    def test_later_rows_of_complete_numbers_are_read_as_by_the_model(self):
        X = np.random.default_rng(0).normal(size=(50, 2))
        model = RFMRegressor(kernel="laplace", **ONE).fit(X, X[:, 0])
        rows = [["1.5", "True"], ["", 0.5], ["NA", None], [Decimal("0.25"), "1e-1"]]
        masked = np.ma.masked_array(X[:2].copy(), [[True, False], [False, False]])
        masked.data[0, 0] = -999
        for given in (rows, masked):
            np.testing.assert_allclose(predictor_of(model.model_).predict(given), model.predict(given), rtol=1e-9)

    def test_levels_that_are_numbers(self, tmp_path):
        import pandas as pd

        rng = np.random.default_rng(0)
        table = pd.DataFrame({"code": pd.Categorical(rng.integers(1, 5, 60)), "x": rng.normal(size=60)})
        model = RFMRegressor(kernel="laplace", **ONE).fit(table, rng.normal(size=60))
        predictor = predictor_of(model.model_)
        answers = {float(predictor.predict([{"code": code, "x": 0.3}])[0]) for code in (2, 2.0, "2", np.int32(2), b"2")}
        assert len(answers) == 1
        given = pd.DataFrame({"code": pd.Categorical([2]), "x": [0.3]})
        assert answers.pop() == pytest.approx(float(model.predict(given)[0]))

    def test_a_level_may_look_like_a_missing_entry(self, files):
        predictor = load(files("frame"))
        at = predictor.names.index("colour")
        code = predictor.columns[at]
        named = replace(code, levels=["nan" if level == "green" else level for level in code.levels])
        values = np.array(["green", None], dtype=object)
        as_level = np.array(["nan", None], dtype=object)
        expected = code.encode(values, "colour", predictor.blanks)
        assert (named.encode(as_level, "colour", predictor.blanks) == expected).all()

    def test_a_missing_entry_where_training_rows_had_none_is_the_mean_with_a_warning(self, files):
        model, new = fitted("laplace")
        given = new[:3].copy()
        given[1, 2] = np.nan
        with pytest.warns(UserWarning, match="'x2'"):
            found = load(files("laplace")).predict(given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(found, model.predict(given))
        masked = np.ma.MaskedArray(new[:3], mask=np.isnan(given))
        with pytest.warns(UserWarning, match="'x2'"):
            assert (load(files("laplace")).predict(masked) == found).all()

    def test_what_is_no_row_of_the_table_is_refused_by_name(self, files):
        numeric, mixed = load(files("laplace")), load(files("frame"))
        new = fitted("frame")[1]
        with pytest.raises(ValueError, match="no column 'rooms'"):
            mixed.predict(new.drop(columns="rooms"))
        with pytest.raises(ValueError, match="no column 'rooms'"):
            mixed.predict([{"area": 1.0}])
        with pytest.raises(ValueError, match="the same name"):
            mixed.predict(new.rename(columns={"same": "rooms"}))
        with pytest.raises(ValueError, match="'rooms' holds the value 'many'"):
            mixed.predict([{**new.iloc[0].to_dict(), "rooms": "many"}])
        with pytest.raises(ValueError, match="'rooms' contains infinity"):
            mixed.predict(new.assign(rooms=np.inf))
        for wrong in (np.zeros((2, 5)), np.zeros((2, 5)).tolist()):
            with pytest.raises(ValueError, match="5 columns, and the model was fitted to 4"):
                numeric.predict(wrong)
        with pytest.raises(ValueError, match="1 dimensions"):
            numeric.predict(np.zeros(4))
        with pytest.raises(AttributeError, match="regression"):
            numeric.predict_proba(np.zeros((1, 4)))

    def test_no_rows(self, files):
        assert load(files("laplace")).predict(np.zeros((0, 4))).shape == (0,)


@pytest.mark.parametrize(
    "labels", [np.array([3, 1]), np.array([True, False]), np.array([1.0, 2.0]), np.array(["b", "a"]), ["x", "ä"]]
)
def test_labels_keep_their_type(tmp_path, labels):
    X, _ = rows(60)
    model = RFMClassifier(kernel="laplace", **ONE).fit(X, np.array(labels)[(X[:, 0] > 0).astype(int)])
    model.export(tmp_path / "m.npz")
    found, expected = load(tmp_path / "m.npz").predict(X), model.predict(X)
    assert found.dtype == expected.dtype
    assert (found == expected).all()


class TestAlone:
    """The module imports NumPy and the standard library only, and works as a file of its own."""

    def test_importing_it_from_gramian_imports_no_other_package(self, files):
        code = (
            "import sys; from gramian.predictor import load; import numpy as np; "
            f"load({str(files('laplace'))!r}).predict(np.zeros((1, 4))); "
            "print([m for m in ('torch', 'sklearn', 'pandas', 'scipy', 'safetensors') if m in sys.modules])"
        )
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert out.stdout.strip() == "[]"

    def test_a_copy_next_to_the_file_is_enough(self, files, tmp_path):
        shutil.copy(gramian.predictor.__file__, tmp_path / "predictor.py")
        shutil.copy(files("frame, classes"), tmp_path / "m.npz")
        model, _ = fitted("frame, classes")
        row = {**frame(1, seed=3)[0].iloc[0].to_dict(), "floor": 2, "garden": True}
        text = json.dumps(row, default=float)
        code = (
            "import json, sys; sys.modules['gramian'] = None\n"
            "from predictor import load\n"
            f"print(load('m.npz').predict_proba([json.loads({text!r})]).tolist())"
        )
        out = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        import pandas as pd

        expected = model.predict_proba(pd.DataFrame([row]))
        np.testing.assert_allclose(json.loads(out.stdout), expected, atol=1e-12)


class TestBadFiles:
    """Any file that was not written by export raises one error, in little memory, and runs nothing."""

    @staticmethod
    def rewritten(path, new, change=None, arrays=None):
        """A copy of a file with a changed manifest or other members."""
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(members["manifest.json"])
        if change is not None:
            change(manifest)
        members["manifest.json"] = json.dumps(manifest).encode()
        members.update(arrays or {})
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return new

    @staticmethod
    def member(array, **options):
        file = io.BytesIO()
        np.lib.format.write_array(file, array, **options)
        return file.getvalue()

    def test_every_cut_and_many_changed_bytes(self, files, tmp_path):
        content, bad = files("laplace").read_bytes(), tmp_path / "bad.npz"
        expected = load(files("laplace")).predict(np.ones((1, 4)))
        rng = np.random.default_rng(0)
        for size in rng.integers(0, len(content), 40):
            bad.write_bytes(content[:size])
            with pytest.raises(PredictorFileError):
                load(bad)
        for at in rng.integers(0, len(content), 150):
            changed = bytearray(content)
            changed[at] ^= 1 << int(rng.integers(8))
            bad.write_bytes(changed)
            try:
                found = load(bad).predict(np.ones((1, 4)))
            except PredictorFileError:
                continue
            assert (found == expected).all()  # a byte that nothing depends on

    @pytest.mark.parametrize("content", [b"", b"text", b"\x80\x04K\x01.", b"PK\x05\x06" + bytes(18)])
    def test_other_files(self, tmp_path, content):
        bad = tmp_path / "bad.npz"
        bad.write_bytes(content)
        with pytest.raises(PredictorFileError, match="no predictor file"):
            load(bad)

    def test_other_archives_of_numpy(self, tmp_path):
        np.savez(tmp_path / "bad.npz", a=np.zeros(3))
        with pytest.raises(PredictorFileError, match=r"model\.export"):
            load(tmp_path / "bad.npz")

    def test_pickles_inside_are_not_opened(self, files, tmp_path):
        class Trap:
            def __reduce__(self):
                return (tmp_path.joinpath("sprung").write_text, ("",))

        trap = self.member(np.array([Trap()], dtype=object), allow_pickle=True)
        with pytest.raises(PredictorFileError, match="damaged"):
            load(self.rewritten(files("laplace"), tmp_path / "bad.npz", arrays={"center.npy": trap}))
        assert not (tmp_path / "sprung").exists()

    @pytest.mark.parametrize(
        "change",
        [
            lambda m: m.update(format=2),
            lambda m: m.pop("format"),
            lambda m: m.pop("sums"),
            lambda m: m.update(sums=[]),
            lambda m: m.update(columns=[]),
            lambda m: m.update(columns=[{"kind": "date", "kept": [0]}] * 4),
            lambda m: m.update(columns=[{"kind": "number", "kept": [7]}] * 4),
            lambda m: m.update(columns=[{"kind": "number", "kept": [0], "more": 1}] * 4),
            lambda m: m["sums"][0].update(kernel="other"),
            lambda m: m["sums"][0].update(options={}),
            lambda m: m["sums"][0].update(rows="nothing"),
            lambda m: m["sums"][0].update(coef="center"),
            lambda m: m["sums"][0].update(factor="out_center"),
            lambda m: m["sums"][0].update(leaf=3),
            lambda m: m["sums"][0].update(scores=[[9, "center", "scale"]]),
            lambda m: m.update(sums=m["sums"] * 20_000),
            lambda m: m.update(names=["a"]),
            lambda m: m.update(target={}),
            lambda m: m.update(labels={"values": ["a", "b", "c"], "dtype": "U"}),
            lambda m: m.update(labels={"values": ["a", "b"], "dtype": "U1000000000"}),
            lambda m: m.update(labels={"values": ["a", "b"], "dtype": "V9999999"}),
        ],
    )
    def test_manifests_that_do_not_fit(self, files, tmp_path, change):
        with pytest.raises(PredictorFileError):
            load(self.rewritten(files("laplace"), tmp_path / "bad.npz", change))

    def test_memory_is_bounded_by_the_size_of_the_file(self, files, tmp_path):
        large = self.member(np.zeros(40_000_000))
        bad = self.rewritten(files("laplace"), tmp_path / "bad.npz", arrays={"large.npy": large})
        header = self.member(np.zeros(3)).replace(b"(3,), }" + b" " * 10, b"(30000000000,), }")
        lying = self.rewritten(files("laplace"), tmp_path / "lying.npz", arrays={"center.npy": header})
        del large
        for path in (bad, lying):
            assert path.stat().st_size < 1_000_000
            tracemalloc.start()
            with pytest.raises(PredictorFileError):
                load(path)
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
            tracemalloc.stop()


def test_shares_of_a_model_are_counted_once():
    """A predictor whose sums have coefficients twice as large has outputs twice as far from their centre."""
    predictor = predictor_of(RFMRegressor(kernel=Gaussian(2.0), **ONE).fit(*rows()).model_)
    twice = replace(predictor, sums=[replace(part, coef=2 * part.coef) for part in predictor.sums])
    X = rows(20, seed=2)[0]
    np.testing.assert_allclose(
        twice.outputs(X) - predictor.out_center, 2 * (predictor.outputs(X) - predictor.out_center), rtol=1e-12
    )
