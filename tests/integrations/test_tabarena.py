"""The folder for TabArena: its search space is ours, its glue is that of our model, and TabArena accepts it."""

import ast
import importlib.util
import sys
from types import ModuleType

import numpy as np
import pytest

from gramian.integrations.autogluon import make_estimator, model
from gramian.rfm.search import published_space
from pages import ROOT

MODELS = ROOT / "integrations/tabarena/packages/tabarena/src/tabarena/models"
FOLDER = MODELS / "gramian"


def search_space(monkeypatch):
    """The module of the search space, with empty modules in place of TabArena's."""
    names = {
        "tabarena.models.gramian.model": {"GramianModel": object},
        "tabarena.models.utils": {"convert_numpy_dtypes": plain},
        "tabarena.utils.config_utils": {"CustomAGConfigGenerator": dict},
    }
    for name, values in names.items():
        parts = name.split(".")
        for end in range(1, len(parts)):
            monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(".".join(parts[:end])))
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("tabarena_search_space", FOLDER / "hpo.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def plain(params):
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in params.items()}


def test_every_configuration_is_a_point_of_the_published_space(monkeypatch):
    """A trial that suggests the configuration's numbers gives the same kernel, update and ridge."""
    optuna = pytest.importorskip("optuna")
    configs = search_space(monkeypatch).generate_configs_gramian(100)
    assert {config["kernel"] for config in configs} == {"lp", "exponential"}
    for config in configs:
        q, p = config["kernel__exponent"], config.get("kernel__p", 2.0)
        least = max(q, 1.0)
        trial = optuna.trial.FixedTrial(
            {
                "exponent": q,
                "bandwidth_scale": config["kernel__bandwidth_scale"],
                "ridge": config["ridge"],
                "power": config["update__power"],
                "norm": "p" if config["kernel"] == "lp" else "euclidean",
                "p_share": (p - least) / (2 - least),
                "diagonal": config["update__diagonal"],
            }
        )
        expected, found = published_space(trial), make_estimator("binary", config)
        assert (found.update, found.ridge) == (expected["update"], expected["ridge"])
        assert type(found.kernel) is type(expected["kernel"])
        for name, value in vars(expected["kernel"]).items():
            assert getattr(found.kernel, name) == (pytest.approx(value) if name == "p" else value)


def test_configurations_are_plain_and_reproducible(monkeypatch):
    space = search_space(monkeypatch)
    first, second = space.generate_configs_gramian(5), space.generate_configs_gramian(5)
    assert first == second
    assert len({config["ridge"] for config in first}) == 5
    assert {type(value) for config in first for value in config.values()} <= {bool, float, str}


def test_the_two_model_classes_call_the_library_in_the_same_way():
    """TabArena imports no optional package at the top, so that its class cannot be ours; its calls are."""

    def calls(path):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {"fit_estimator", "make_estimator", "fit_bytes"}
        found = [
            node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names
        ]
        texts = {node.func.id: ast.unparse(node) for node in found}
        return {
            name: text.replace("time.monotonic() - started", "time.time() - start_time") for name, text in texts.items()
        }

    ours, theirs = calls(ROOT / "src/gramian/integrations/autogluon/model.py"), calls(FOLDER / "model.py")
    assert ours == theirs
    assert len(ours) == 3


def test_no_optional_package_is_imported_at_the_top():
    for path in FOLDER.glob("*.py"):
        top = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
        assert not [node.module for node in top if (node.module or "").startswith("gramian")], path.name


def test_the_readme_names_every_file():
    text = (ROOT / "integrations/tabarena/README.md").read_text(encoding="utf-8")
    for path in FOLDER.glob("*.py"):
        assert f"`{path.name}`" in text


@pytest.mark.slow
def test_tabarena_finds_and_verifies_the_model(tmp_path, monkeypatch):
    """The check of TabArena's own ``tests/tabarena/models/test_all_models.py``, with the folder added to its path."""
    models = pytest.importorskip("tabarena.models", reason="TabArena is not installed: pip install tabarena")
    from autogluon.tabular.testing import FitHelper
    from tabarena.benchmark.experiment import TabArenaV0pt1ExperimentBundle
    from tabarena.models import _registry, warmup

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(MODELS)])
    monkeypatch.setattr(_registry, "_REGISTRY", None)
    info = models.get_model_registry()["Gramian"]
    experiments = TabArenaV0pt1ExperimentBundle(models=[("Gramian", 2)]).build_experiments()
    assert len(experiments) == 3
    assert experiments[0].name == info.method_metadata.config_default
    assert info.method_metadata.ag_key == info.model_cls.ag_key
    assert info.model_cls.seed_name == model.GramianModel.seed_name
    warmup.warmup_model_cls(info.model_cls, problem_type="binary", num_cpus=1, num_gpus=0)
    FitHelper.verify_model(model_cls=info.model_cls, model_hyperparameters={"preset": "fast"})
