"""The matrix forms of the weights of a model, and the reasons why others have none."""

import types

import pytest
import torch
from torch import nn

from gramian.optim import MatrixForm, matrix_forms


@pytest.fixture(autouse=True)
def seeded():
    """Layers and data are drawn from torch's generator, which is given back as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def form_of(module, name="weight"):
    """The form of a parameter of a module that is followed by a head."""
    return matrix_forms(nn.ModuleDict({"layer": module, "head": nn.Linear(4, 2)}))[f"layer.{name}"]


@pytest.mark.parametrize(
    ("module", "name", "shape", "transposed"),
    [
        (nn.Linear(3, 5), "weight", (1, 5, 3), False),
        (nn.Bilinear(3, 4, 5), "weight", (1, 5, 3, 4), False),
        (nn.Conv1d(4, 6, 3), "weight", (1, 6, 4, 3), False),
        (nn.Conv2d(4, 6, (2, 3), groups=2), "weight", (2, 3, 2, 2, 3), False),
        (nn.Conv3d(4, 4, 2, groups=4), "weight", (4, 1, 1, 2, 2, 2), False),
        (nn.ConvTranspose1d(4, 6, 3), "weight", (1, 4, 6, 3), True),
        (nn.ConvTranspose2d(4, 6, 3, groups=2), "weight", (2, 2, 3, 3, 3), True),
        (nn.ConvTranspose3d(2, 3, 2), "weight", (1, 2, 3, 2, 2, 2), True),
        (nn.MultiheadAttention(4, 2), "in_proj_weight", (3, 4, 4), False),
        (nn.MultiheadAttention(4, 2), "out_proj.weight", (1, 4, 4), False),
        (nn.MultiheadAttention(4, 2, kdim=3), "k_proj_weight", (1, 4, 3), False),
        (nn.LSTM(3, 5, proj_size=2), "weight_ih_l0", (4, 5, 3), False),
        (nn.LSTM(3, 5, proj_size=2), "weight_hr_l0", (1, 2, 5), False),
        (nn.LSTM(3, 5, bidirectional=True), "weight_hh_l0_reverse", (4, 5, 5), False),
        (nn.GRU(3, 5), "weight_hh_l0", (3, 5, 5), False),
        (nn.RNNCell(3, 5), "weight_ih", (1, 5, 3), False),
    ],
)
def test_layers_of_torch(module, name, shape, transposed):
    form = form_of(module, name)
    assert form == MatrixForm(shape, transposed)
    weight = module.get_parameter(name)
    matrices = form.stack(weight)
    assert matrices.shape[:2] == (shape[0], shape[2] if transposed else shape[1])
    assert torch.equal(form.restore(matrices, weight.shape), weight)


@pytest.mark.parametrize(
    ("module", "name", "reason"),
    [
        (nn.Embedding(9, 4), "weight", "an embedding"),
        (nn.EmbeddingBag(9, 4), "weight", "an embedding"),
        (nn.LayerNorm((3, 4)), "weight", "a normalisation"),
        (nn.BatchNorm2d(4), "weight", "a vector"),
        (nn.Linear(3, 5), "bias", "a vector"),
        (nn.MultiheadAttention(4, 2, add_bias_kv=True), "bias_k", "not known"),
        (nn.utils.parametrizations.weight_norm(nn.Linear(3, 5)), "parametrizations.weight.original1", "not known"),
    ],
)
def test_other_parameters_have_a_reason(module, name, reason):
    assert form_of(module, name).startswith(reason)


def holder(module_name="mine", kind="Layer", **parameters):
    """A module of no known kind."""
    module = type(kind, (nn.Module,), {"__module__": module_name})()
    for name, value in parameters.items():
        setattr(module, name, nn.Parameter(value) if isinstance(value, torch.Tensor) else value)
    return module


def test_modules_of_no_known_kind():
    raw = holder(
        weight=torch.ones(3, 4), down_proj=torch.ones(2, 3, 4), pos_embed=torch.ones(1, 5, 4), queries=torch.ones(6, 4),
        down_proj_bias=torch.ones(2, 3), kernel=torch.ones(2, 3, 4, 4),
    )  # fmt: skip
    assert form_of(raw) == MatrixForm((1, 3, 4))
    assert form_of(raw, "down_proj") == MatrixForm((2, 3, 4))
    for name in ("pos_embed", "queries", "down_proj_bias", "kernel"):
        assert "whiten={name: True}" in form_of(raw, name)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (holder("transformers.pytorch_utils", "Conv1D", weight=torch.ones(3, 4)), "weight"),
        (holder("transformers.models.llama4", "Llama4TextExperts", down_proj=torch.ones(2, 3, 4)), "down_proj"),
        (holder("transformers.models.gpt_oss", "GptOssExperts", is_transposed=True, up=torch.ones(2, 3, 4)), "up"),
    ],
)
def test_weights_that_transformers_stores_with_the_inputs_first(module, name):
    assert form_of(module, name).transposed
    assert form_of(module, name).stack(module.get_parameter(name)).shape[1:] == (4, 3)


def test_the_head_is_the_layer_registered_last():
    found = matrix_forms(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.LayerNorm(4)))
    assert found["2.weight"] == "the head"
    assert isinstance(found["0.weight"], MatrixForm)


def test_a_stack_at_the_end_is_no_head():
    for last in (nn.LSTM(4, 4), holder(experts=torch.ones(2, 3, 4)), nn.Conv1d(4, 4, 2, groups=2)):
        found = matrix_forms(nn.Sequential(nn.Linear(3, 4), last))
        assert "the head" not in found.values()


def test_the_head_of_a_hugging_face_model_need_not_be_last():
    model = nn.ModuleDict({"lm_head": nn.Linear(4, 9), "block": nn.Linear(4, 4)})
    wrapper = nn.Sequential(model)
    model.get_output_embeddings = types.MethodType(lambda self: self["lm_head"], model)
    found = matrix_forms(wrapper)
    assert found["0.lm_head.weight"] == "the head"
    assert isinstance(found["0.block.weight"], MatrixForm)


@pytest.mark.parametrize("first", ["embedding", "head"])
def test_a_head_tied_with_an_embedding_is_left_and_is_the_head(first):
    parts = {"embedding": nn.Embedding(9, 4), "block": nn.Linear(4, 4), "head": nn.Linear(4, 9, bias=False)}
    parts["head"].weight = parts["embedding"].weight
    names = ["embedding", "block", "head"] if first == "embedding" else ["head", "embedding", "block"]
    found = matrix_forms(nn.ModuleDict({name: parts[name] for name in names}))
    if first == "embedding":
        assert isinstance(found["block.weight"], MatrixForm), "the block is not taken for the head"
        assert found["embedding.weight"].startswith("an embedding")
    else:
        assert found["head.weight"] == "tied with the embedding 'embedding'"


def test_exceptions_by_name():
    model = nn.Sequential(nn.Embedding(9, 4), nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), nn.Conv1d(4, 2, 3))
    found = matrix_forms(model, {"1": False, "1.1": True, "0": True, "2": True})
    assert found["1.0.weight"] == "whiten says so"
    assert found["1.1.weight"] == MatrixForm((1, 4, 4))
    assert found["1.1.bias"] == "a vector"
    assert found["0.weight"] == MatrixForm((1, 9, 4))
    assert found["2.weight"] == MatrixForm((1, 2, 4, 3)), "a head has its own form"
    turned = MatrixForm((1, 4, 4), transposed=True)
    assert matrix_forms(model, {"1.0.weight": turned})["1.0.weight"] == turned


@pytest.mark.parametrize(
    ("whiten", "words"),
    [
        ({"encoder": True}, "no parameter or module 'encoder'.*0.weight"),
        ({"0.bias": True}, "cannot whiten '0.bias'.*two or more dimensions"),
        ({"0.weight": MatrixForm((1, 2, 2))}, "does not fit a parameter of shape"),
        ({"kernel": True}, r"whiten=\{'kernel': MatrixForm"),
    ],
)
def test_wrong_exceptions_are_explained(whiten, words):
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    model.kernel = nn.Parameter(torch.ones(2, 3, 4, 4))
    with pytest.raises(ValueError, match=words):
        matrix_forms(model, whiten)


def test_other_mistakes_are_explained():
    with pytest.raises(ValueError, match=r"write \(1, \*weight.shape\)"):
        MatrixForm((3, 4))
    with pytest.raises(ValueError, match="run the model once"):
        matrix_forms(nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 2)))
