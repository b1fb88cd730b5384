"""Hidden states are those of the model alone, whatever the batches, and survive a killed process."""

import numpy as np
import pytest
import torch

from gramian.concepts import Activations, collect
from tiny_reader import Letters, Reader

TEXTS = ["one", "a longer text", "four", "x", "the longest text of them all", "one more"]


def alone(model, text, layer):
    """The hidden states of one text without padding, by the model's own code."""
    ids = torch.tensor([[ord(letter) for letter in text]])
    caught = []
    handle = model.blocks[layer].register_forward_hook(lambda module, inputs, output: caught.append(output[0]))
    model.eval()
    with torch.no_grad():
        model(ids, torch.ones_like(ids))
    handle.remove()
    return caught[0][0]


CHOSEN = {
    "last": lambda h: h[-1:],
    "mean": lambda h: h[min(1, len(h) - 1) :].mean(0, keepdim=True),  # without the first token
    "all": lambda h: h,
}


@pytest.mark.parametrize("batch_tokens", [1, 30, 1000])
@pytest.mark.parametrize("position", ["last", "mean", "all"])
def test_rows_are_those_of_each_text_alone(batch_tokens, position):
    model = Reader()
    found = collect(model, TEXTS, tokenizer=Letters(), position=position, batch_tokens=batch_tokens)
    assert found.layers == ("blocks.0", "blocks.1", "blocks.2")
    assert found.position == position
    for layer in range(3):
        states = [alone(model, text, layer) for text in TEXTS]
        torch.testing.assert_close(found.layer(f"blocks.{layer}"), torch.cat([CHOSEN[position](h) for h in states]))


def test_rows_follow_the_order_of_the_texts():
    order = [3, 0, 5, 1, 4, 2]
    rows = collect(Reader(), TEXTS, tokenizer=Letters(), batch_tokens=30).layer("blocks.2")
    turned = collect(Reader(), [TEXTS[i] for i in order], tokenizer=Letters(), batch_tokens=30).layer("blocks.2")
    torch.testing.assert_close(turned, rows[order])


def test_a_function_chooses_tokens_and_may_choose_none():
    model = Reader()
    found = collect(model, TEXTS, tokenizer=Letters(), position=lambda number, ids: [0, -1] if number in (1, 4) else [])
    assert found.text.tolist() == [1, 1, 4, 4]
    assert found.token.tolist() == [0, 12, 0, 27]
    expected = torch.cat([alone(model, TEXTS[i], 1)[[0, -1]] for i in (1, 4)])
    torch.testing.assert_close(found.layer("blocks.1"), expected)
    part = found.part([2, 0])
    torch.testing.assert_close(part.layer("blocks.1"), expected[[2, 0]])
    assert part.text.tolist() == [4, 1]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_killed_collection_continues_where_it_stopped(tmp_path, dtype, monkeypatch):
    model = Reader()
    settings = {"tokenizer": Letters(), "batch_tokens": 20, "dtype": dtype, "folder": tmp_path / "states"}
    whole = collect(model, TEXTS, **(settings | {"folder": None}))
    batches, model.calls = model.calls, 0

    def killed(input_ids, attention_mask, forward=model.forward):
        if model.calls == 2:
            raise Killed
        return forward(input_ids, attention_mask)

    monkeypatch.setattr(model, "forward", killed)
    with pytest.raises(Killed):
        collect(model, TEXTS, **settings)
    with pytest.raises(ValueError, match="incomplete: call collect"):
        Activations.open(tmp_path / "states")
    monkeypatch.undo()
    with open(tmp_path / "states" / "batches.jsonl", "a") as file:
        file.write('{"batch": 2, "ro')  # the line that was being written
    resumed = collect(model, TEXTS, **settings)
    assert model.calls == batches
    again = collect(model, TEXTS, **settings)  # complete: nothing is computed
    assert model.calls == batches
    for found in (resumed, again, Activations.open(tmp_path / "states")):
        assert found.layers == whole.layers
        for layer in whole.layers:
            assert torch.equal(found.layer(layer), whole.layer(layer))
            assert isinstance(found.values[layer], np.memmap)


@pytest.mark.parametrize("finished", [True, False])
def test_a_damaged_folder_is_refused(tmp_path, finished):
    model, folder = Reader(), tmp_path / "states"
    settings = {"tokenizer": Letters(), "batch_tokens": 20, "folder": folder}
    collect(model, TEXTS, **settings)
    if not finished:
        (folder / "complete.json").unlink()
    data = bytearray((folder / "layer_0001.bin").read_bytes())
    data[40] ^= 1
    (folder / "layer_0001.bin").write_bytes(data)
    with pytest.raises(ValueError, match=r"damaged .*checksum"):
        collect(model, TEXTS, **settings)
    (folder / "layer_0001.bin").write_bytes(data[:-1])
    with pytest.raises(ValueError, match="damaged"):
        collect(model, TEXTS, **settings)


@pytest.mark.parametrize("change", [("[0, 1, 2", "[0, 2, 1"), ('"last"', '"mean"'), ("{", "")])
def test_a_changed_plan_is_refused(tmp_path, change):
    collect(Reader(), TEXTS, tokenizer=Letters(), folder=tmp_path / "states")
    plan = tmp_path / "states" / "plan.json"
    text = plan.read_text()
    assert change[0] in text
    plan.write_text(text.replace(*change, 1))
    with pytest.raises(ValueError, match="damaged"):
        Activations.open(tmp_path / "states")


def test_a_folder_of_another_collection_is_refused(tmp_path):
    collect(Reader(), TEXTS, tokenizer=Letters(), folder=tmp_path / "states")
    for model, texts in ((Reader(), TEXTS[:3]), (Reader(seed=1), TEXTS)):
        with pytest.raises(ValueError, match="another collection"):
            collect(model, texts, tokenizer=Letters(), folder=tmp_path / "states")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").touch()
    with pytest.raises(ValueError, match="has other files"):
        collect(Reader(), TEXTS, tokenizer=Letters(), folder=tmp_path / "photos")
    with pytest.raises(ValueError, match="no folder of activations"):
        Activations.open(tmp_path / "photos")


def test_bad_arguments_are_named():
    model, settings = Reader(), {"tokenizer": Letters()}
    for texts, more, words in (
        ([], {}, "texts is empty"),
        ("text", {}, "put it in a list"),
        (["a", ""], {}, "text 1 has no tokens"),
        (TEXTS, {"position": lambda number, ids: [99]}, "position returns token 99 of text 0"),
        (TEXTS, {"position": lambda number, ids: []}, "selects no token"),
        (TEXTS, {"layers": ["nothing"]}, "no module 'nothing'"),
        (TEXTS, {"layers": [3]}, "no block 3"),
        (TEXTS, {"layers": ["head", "dropout"], "batch_tokens": 0}, "batch_tokens must be"),
        (TEXTS, {"dtype": torch.float64}, "dtype must be"),
    ):
        with pytest.raises(ValueError, match=words):
            collect(model, texts, **(settings | more))
    with torch.no_grad():
        model.embedding.weight *= 1e30
    with pytest.raises(ValueError, match=r"range of float16"):
        collect(model, TEXTS, dtype=torch.float16, **settings)
