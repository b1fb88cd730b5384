"""The files of a release agree with one another: versions, bounds, citation, templates."""

import re
import tomllib

import numpy as np
import pytest
from safetensors.numpy import load_file

from gramian import RFMRegressor, __version__
from pages import FOLDER, ROOT

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base"}


def read(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def lower_bounds(requirements):
    """Return name → lowest version of requirements such as ``numpy>=1.26``."""
    return dict(re.fullmatch(r"([\w-]+) ?>=([\d.]+)", one).groups() for one in requirements)


REQUIRED = lower_bounds(PROJECT["dependencies"] + PROJECT["optional-dependencies"]["tables"])


def same_release(version, bound):
    """Return True if a version begins with the numbers of a bound: 2.4.0 is of 2.4."""
    return version.split(".")[: len(bound.split("."))] == bound.split(".")


def test_all_files_have_the_version_of_the_package():
    assert read("CITATION.cff")["version"] == __version__
    assert read("conda/recipe.yaml")["context"]["version"] == __version__
    text = (FOLDER / "papers.md").read_text(encoding="utf-8")
    assert re.findall(r"version = \{(.*?)\}", text) == [__version__]


def test_the_lowest_versions_are_those_of_the_bounds():
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert set(REQUIRED) <= set(pinned)
    tests = lower_bounds(one for one in PROJECT["optional-dependencies"]["dev"] if re.match(r"[\w-]+>=", one))
    for name, version in pinned.items():
        assert same_release(version, {**tests, **REQUIRED}[name]), name


def test_the_recipe_has_the_requirements_of_the_package():
    recipe = read("conda/recipe.yaml")
    run = lower_bounds(recipe["requirements"]["run"])
    assert run.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    assert run == {CONDA_NAMES.get(name, name): bound for name, bound in REQUIRED.items()}
    assert recipe["build"]["python"]["entry_points"] == ["gramian = gramian.cli.main:main"]
    assert PROJECT["scripts"] == {"gramian": "gramian.cli.main:main"}


def test_the_workflow_runs_every_version_of_python_that_the_package_names():
    named = [c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if re.fullmatch(r".* :: 3\.\d+", c)]
    matrix = read(".github/workflows/ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == named
    assert {entry["dependencies"] for entry in matrix["include"]} | set(matrix["dependencies"]) == {
        "lowest",
        "pinned",
        "newest",
    }


def test_the_bounds_of_the_page_are_those_of_the_package():
    text = (FOLDER / "stability.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]*?) \| ([\d., ]+) \| the newest \|$", text, re.MULTILINE)
    shown = {}
    for names, bounds in rows:
        plain = re.sub(r" \(.*\)", "", names).lower().split(", ")
        shown |= dict(zip(plain, bounds.split(", "), strict=True))
    assert len(shown) >= 6
    assert shown == {name: REQUIRED[name] for name in shown}
    lowest, newest = re.search(r"^\| Python \| (\S+) \| (\S+) \|$", text, re.MULTILINE).groups()
    assert f">={lowest}" == PROJECT["requires-python"]
    assert f"Programming Language :: Python :: {newest}" in PROJECT["classifiers"]


def test_every_paper_is_cited_alike():
    cited = {re.search(r"\d{4}\.\d{5}", entry["url"])[0]: entry for entry in read("CITATION.cff")["references"]}
    page = (FOLDER / "papers.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    entries = [block for block in re.findall(r"```bibtex\n(.*?)```", page, re.DOTALL) if "eprint" in block]
    fields = [dict(re.findall(r"^  (\w+) += \{(.*)\},?$", block, re.MULTILINE)) for block in entries]
    assert [entry["eprint"] for entry in fields] == list(cited)
    assert len(cited) == 5
    for entry in fields:
        assert entry["title"] == cited[entry["eprint"]]["title"]
        assert int(entry["year"]) == cited[entry["eprint"]]["year"]
        authors = [f"{a['family-names']}, {a['given-names']}" for a in cited[entry["eprint"]]["authors"]]
        assert entry["author"].split(" and ") == authors
        row = next(line for line in page.splitlines() if line.startswith("|") and entry["eprint"] in line)
        short = next(line for line in readme.splitlines() if entry["eprint"] in line)
        for author in authors:
            family, given = author.split(", ")
            assert f"{given} {family}" in row
            assert family in short


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_templates_of_issues_are_forms(path):
    form = read(path)
    if path.stem == "config":
        assert form["blank_issues_enabled"] is True
        return
    assert {"name", "description", "body"} <= set(form)
    ids = [part["id"] for part in form["body"]]
    assert len(set(ids)) == len(ids)
    assert all(part["attributes"]["label"] for part in form["body"])


def test_hooks_run_the_linters_of_the_makefile():
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    entries = " ".join(hook["entry"] for hook in repository["hooks"])
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\nlint: setup\n")[1].split("\n\n")[0]
    for tool in re.findall(r"\$\(BIN\)/(\S+)", recipe):
        assert f".venv/bin/{tool}" in entries


def test_no_licence_classifier_stands_beside_the_expression():
    assert PROJECT["license"] == "BSD-3-Clause"
    assert not [one for one in PROJECT["classifiers"] if one.startswith("License ::")]


def test_a_model_file_holds_training_rows_as_the_pages_warn(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = RFMRegressor(kernel="laplace", update="agop", n_rounds=1, standardize=False).fit(X, X[:, 0])
    model.save(tmp_path / "m.gramian")
    (stored,) = [array for array in load_file(tmp_path / "m.gramian").values() if array.shape == X.shape]
    rows = stored + X.mean(0)  # centred, and in another order
    assert np.allclose(rows[rows[:, 0].argsort()], X[X[:, 0].argsort()])
    for path in (ROOT / "SECURITY.md", FOLDER / "saving.md"):
        assert "holds training rows" in path.read_text(encoding="utf-8").replace("hold training", "holds training")
