"""Models from folders: how transformers is called (by a stand-in), and real tiny models where it is installed."""

import json
import sys
import types

import pytest
import torch
from torch import nn

from gramian.nets import inspect
from gramian.nets.checkpoints.pretrained import (
    as_texts,
    is_pretrained_folder,
    load_pretrained,
    load_tokenizer,
    model_and_data,
    state_of,
)
from nets.checkpoints.made import state, write_folder


@pytest.fixture
def asked(monkeypatch):
    """A stand-in for transformers that records how it is called."""
    calls = []

    def auto(name):
        def from_pretrained(folder, **options):
            calls.append((name, folder, options))
            with torch.random.fork_rng():
                return nn.Linear(2, 1).to(options.get("dtype")).train()

        return types.SimpleNamespace(from_pretrained=from_pretrained)

    names = ["AutoModel", "AutoModelForCausalLM", "AutoModelForSequenceClassification", "AutoModelForMaskedLM"]
    bars = []
    logging = types.SimpleNamespace(
        is_progress_bar_enabled=lambda: True,
        disable_progress_bar=lambda: bars.append("off"),
        enable_progress_bar=lambda: bars.append("on"),
    )
    fake = types.SimpleNamespace(**{name: auto(name) for name in [*names, "AutoTokenizer"]})
    fake.__version__, fake.utils, fake.bars = "5.0.0", types.SimpleNamespace(logging=logging), bars
    monkeypatch.setitem(sys.modules, "transformers", fake)
    return calls


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [
        ("LlamaForCausalLM", "AutoModelForCausalLM"),
        ("GPT2LMHeadModel", "AutoModelForCausalLM"),
        ("BertForSequenceClassification", "AutoModelForSequenceClassification"),
        ("BertForMaskedLM", "AutoModelForMaskedLM"),
        ("BertModel", "AutoModel"),
        (None, "AutoModel"),
    ],
)
def test_the_class_follows_from_the_config(tmp_path, asked, architecture, expected):
    config = {"model_type": "x"} | ({"architectures": [architecture]} if architecture else {})
    folder = write_folder(tmp_path / "net", state(), config=config)
    model = load_pretrained(folder)
    options = {"local_files_only": True, "trust_remote_code": False, "dtype": torch.float32}
    assert asked == [(expected, str(folder), options)]
    assert sys.modules["transformers"].bars == ["off", "on"]
    assert next(model.parameters()).dtype == torch.float32
    assert not model.training


def test_a_gguf_file_is_named(tmp_path, asked):
    (tmp_path / "a.gguf").write_bytes(b"")
    load_pretrained(tmp_path)
    load_tokenizer(tmp_path)
    assert [(name, options["gguf_file"]) for name, _, options in asked] == [
        ("AutoModelForCausalLM", "a.gguf"),
        ("AutoTokenizer", "a.gguf"),
    ]
    (tmp_path / "b.gguf").write_bytes(b"")
    with pytest.raises(ValueError, match="holds 2 GGUF files"):
        load_pretrained(tmp_path)


class TestRefused:
    def test_without_transformers_the_extra_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "transformers", None)
        folder = write_folder(tmp_path / "net", state(), config={"architectures": ["LlamaForCausalLM"]})
        with pytest.raises(ImportError, match=r"gramian\[hf\]"):
            inspect(folder, ["a text"])

    def test_without_a_config(self, tmp_path, asked):
        folder = write_folder(tmp_path / "net", state())
        assert not is_pretrained_folder(folder)
        with pytest.raises(ValueError, match=r"not a folder of Hugging Face.*leave data out"):
            inspect(str(folder), ["a text"])
        with pytest.raises(ValueError, match=r"has no config\.json"):
            load_pretrained(folder)

    def test_what_transformers_cannot_build(self, tmp_path, asked, monkeypatch):
        folder = write_folder(tmp_path / "net", state(), config={"model_type": "x"})

        def fails(folder, **options):
            raise ValueError("Unrecognized model\n in folder")

        monkeypatch.setattr(sys.modules["transformers"].AutoModel, "from_pretrained", fails)
        monkeypatch.setattr(sys.modules["transformers"].AutoTokenizer, "from_pretrained", fails)
        with pytest.raises(
            ValueError, match="cannot be built by transformers' AutoModel: Unrecognized model in folder"
        ):
            load_pretrained(folder)
        with pytest.raises(ValueError, match="has no tokenizer that can be read"):
            load_tokenizer(folder)

    def test_a_path_that_holds_no_texts(self):
        with pytest.raises(ValueError, match="no file of texts"):
            as_texts("a single text")


def test_texts_in_every_form(tmp_path):
    (tmp_path / "t.txt").write_text("a\nb\n")
    assert as_texts(tmp_path / "t.txt").texts == ("a", "b")
    assert as_texts((["a"], torch.tensor([1]))).labels == (1,)
    assert as_texts([torch.zeros(2)]) is None
    assert as_texts((torch.zeros(2), torch.zeros(2))) is None


def test_the_state_of_files_and_modules(tmp_path):
    torch.save(state(), tmp_path / "w.pt")
    assert torch.equal(state_of(tmp_path / "w.pt")["lm_head.weight"], state()["lm_head.weight"])
    assert state_of(state()).keys() == state().keys()


# With transformers installed.

WORDS = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "a", "good", "bad", "film", "is", "this", "dull", "fine"]


@pytest.fixture
def transformers():
    return pytest.importorskip("transformers")


def write_tokenizer(folder):
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))


def tiny(transformers, folder, kind="llama", seed=0, **options):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if kind == "llama":
            config = transformers.LlamaConfig(
                vocab_size=12, hidden_size=8, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
                tie_word_embeddings=True, max_position_embeddings=32, initializer_range=0.5,
            )  # fmt: skip
            model = transformers.LlamaForCausalLM(config)
        else:
            config = transformers.BertConfig(
                vocab_size=12, hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
                max_position_embeddings=32, num_labels=2,
            )  # fmt: skip
            model = transformers.BertForSequenceClassification(config)
    model.save_pretrained(folder, **options)
    write_tokenizer(folder)
    return model.eval()


TEXTS = ["a good film", "this film is bad", "this is dull", "fine film"]


def test_a_language_model_from_a_sharded_folder(transformers, tmp_path):
    model = tiny(transformers, tmp_path, max_shard_size="2KB")
    assert (tmp_path / "model.safetensors.index.json").is_file()
    report = inspect(tmp_path, TEXTS, outputs=4)
    assert "model.layers.0.self_attn.q_proj" in report.layers
    ids = [torch.tensor([[WORDS.index(word) for word in text.split()]]) for text in TEXTS]
    losses = [float(model(input_ids=one, labels=one).loss.detach()) for one in ids]
    assert report.settings["loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    again = inspect(tmp_path, list(reversed(TEXTS)), outputs=4, batch_size=1)
    for name in report.layers:
        if not report.record(name).sums.tied_to:
            A, B = report.matrix(name, "enfa"), again.matrix(name, "enfa")
            assert abs(A - B).max() <= 1e-4 * abs(A).max(), f"{name}: batches or order change it"


def test_the_initial_checkpoint_may_be_a_folder_with_tied_weights(transformers, tmp_path):
    tiny(transformers, tmp_path / "early")
    tiny(transformers, tmp_path / "late", seed=1)
    report = inspect(tmp_path / "late", TEXTS, outputs=4, initial=tmp_path / "early")
    assert report.rows[1]["c_nfa_cos"] == report.rows[1]["c_nfa_cos"]


def test_a_classifier_with_labels_from_a_file(transformers, tmp_path):
    model = tiny(transformers, tmp_path, "bert")
    (tmp_path / "texts.csv").write_text("text,label\n" + "".join(f"{text},{i % 2}\n" for i, text in enumerate(TEXTS)))
    report = inspect(tmp_path, tmp_path / "texts.csv")
    ids = [torch.tensor([[WORDS.index(word) for word in text.split()]]) for text in TEXTS]
    losses = [float(model(input_ids=one, labels=torch.tensor([i % 2])).loss.detach()) for i, one in enumerate(ids)]
    assert report.settings["loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert report.settings["classes"] == 2


def test_batches_are_passed_on(transformers, tmp_path):
    tiny(transformers, tmp_path, "bert")
    batch = {"input_ids": torch.tensor([[4, 5, 7]]), "labels": torch.tensor([1])}
    _, data, loss = model_and_data(tmp_path, [batch])
    assert data == [batch]
    assert loss is None


def test_code_in_the_folder_is_not_run(transformers, tmp_path):
    tiny(transformers, tmp_path, "bert")
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"auto_map": {"AutoModel": "trap.Trap", "AutoConfig": "trap.TrapConfig"}, "model_type": "trap"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'trapped')!r}, 'w')")
    with pytest.raises(ValueError, match="cannot be built"):
        load_pretrained(tmp_path)
    assert not (tmp_path / "trapped").exists()
