"""The commands on concepts: fit, score, steer, a page, and files that are refused."""

import csv
import json
import shutil
import struct
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import gramian.cli.concept as module
from gramian.cli.main import cli
from html_checks import check
from tiny_decoder import TinyDecoder, WordTokenizer

GOOD = ["the film was good", "a fine day", "it was very good", "the food is fine", "we saw a good film"]
BAD = ["the film was bad", "a dull day", "it was very bad", "the food is dull", "we saw a bad film"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """A tiny random decoder in place of the model of a folder."""
    monkeypatch.setattr(module, "load_folder", lambda folder: (TinyDecoder(blocks=2).eval(), WordTokenizer()))


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "texts.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "mood"])
        rows.writerows([[f"{text} {word}", mood] for word in ("and", "it", "not", "was") for mood, part in
                        (("up", GOOD), ("down", BAD)) for text in part])  # fmt: skip
    return path


@pytest.fixture(scope="module")
def fitted(texts):
    """The file of a concept, fitted once."""
    path = texts.with_name("joy.concept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "load_folder", lambda folder: (TinyDecoder(blocks=2).eval(), WordTokenizer()))
        given = ["concept", "fit", texts, "--model", "m", "--label", "mood", "--out", path, "--json"]
        result = CliRunner().invoke(cli, [str(word) for word in given])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["layers"] == ["layers.0", "layers.1"]
    assert {len(scores) for scores in found["scores"].values()} == {2}
    return path


@pytest.fixture
def joy(fitted, tmp_path):
    """A copy of the file that a test may change."""
    return Path(shutil.copy(fitted, tmp_path / "joy.concept"))


def test_fit_score_and_steer(run, texts, joy, tmp_path):
    result = run("concept", "score", joy, texts, "--model", "m", "--text", "text", "--json")
    found = json.loads(result.stdout)
    assert found["classes"] == ["down", "up"]
    assert len(found["scores"]) == 40
    assert all(0 <= score <= 1 for score in found["scores"])
    lines = run("concept", "score", joy, texts, "--model", "m", "--text", "text").stdout.splitlines()
    assert [float(line.split("\t")[0]) for line in lines] == pytest.approx(found["scores"], abs=1e-4)
    result = run(
        "concept", "steer", joy, "--model", "m", "--prompt", "the film", "--prompt", "we", "--strength", "0",
        "--strength", "5", "--max-tokens", 3, "--export", tmp_path / "joy.pt", "--json",
    )  # fmt: skip
    made = json.loads(result.stdout)["continuations"]
    assert [(row["prompt"], row["strength"]) for row in made] == [
        ("the film", 0.0), ("we", 0.0), ("the film", 5.0), ("we", 5.0),
    ]  # fmt: skip
    assert [row["text"] for row in made[:2]] != [row["text"] for row in made[2:]]
    assert set(torch.load(tmp_path / "joy.pt", weights_only=True)["directions"]) == {0, 1}


def test_the_table_and_the_page(run, texts, tmp_path):
    out, page = tmp_path / "joy.concept", tmp_path / "joy.html"
    result = run("concept", "fit", texts, "--model", "m", "--label", "mood", "--out", out, "--page", page)
    assert result.exit_code == 0, result.output
    assert "layers.1" in result.stdout
    assert "40 texts" in result.stdout
    found = check(page.read_text(encoding="utf-8"))
    assert {"scores-by-layer", "nearest-tokens", "texts", "steering", "damage"} <= set(found.ids)


@pytest.mark.parametrize("damage", ["cut", "changed", "other", "empty"])
def test_a_damaged_file_is_refused_in_one_line(run, joy, damage):
    data = bytearray(joy.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "changed":
        start = 8 + struct.unpack("<Q", data[:8])[0]
        data[(start + len(data)) // 2] ^= 0xFF
    elif damage == "other":
        data = bytearray(b"not a concept at all")
    else:
        data = bytearray()
    joy.write_bytes(bytes(data))
    result = run("concept", "steer", joy, "--model", "m", "--prompt", "we")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


def test_a_model_of_a_table_is_no_concept(run, model):
    result = run("concept", "score", model, model, "--model", "m")
    assert result.exit_code == 1
    assert "not a concept" in result.stderr


def test_a_missing_file_and_a_missing_label(run, texts, tmp_path):
    result = run("concept", "score", tmp_path / "no.concept", texts, "--model", "m")
    assert result.exit_code == 1
    assert "there is no file" in result.stderr
    plain = tmp_path / "plain.txt"
    plain.write_text("the film\nwe\n")
    result = run("concept", "fit", plain, "--model", "m", "--out", tmp_path / "x.concept")
    assert result.exit_code == 1
    assert "--label" in result.stderr


def test_steering_needs_a_prompt_or_a_file(run, joy):
    result = run("concept", "steer", joy, "--model", "m")
    assert result.exit_code == 2
    assert "--prompt" in result.stderr


def test_a_folder_without_a_model_is_refused(run, texts, joy, tmp_path, monkeypatch):
    monkeypatch.undo()
    result = run("concept", "score", joy, texts, "--model", tmp_path, "--text", "text")
    assert result.exit_code == 1
    assert "is not a folder of a Hugging Face model" in result.stderr
