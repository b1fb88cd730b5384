"""Initial weights under the names of wrappers, in another precision, and where they cannot be used."""

import numpy as np
import pytest
import torch
from torch import nn

from gramian.nets import inspect
from gramian.nets.initial import initial_tensors
from nets.models import mlp, seeded

X = torch.randn(12, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize(
    "wrap",
    [
        nn.DataParallel,
        lambda model: torch.compile(model, backend="eager"),
        lambda model: torch.compile(nn.DataParallel(model), backend="eager"),
    ],
)
def test_names_of_wrappers(wrap, tmp_path):
    model, start = seeded(mlp), seeded(mlp, seed=3)
    state = wrap(start).state_dict()
    assert set(state).isdisjoint(model.state_dict())
    torch.save(state, tmp_path / "start.pt")
    expected = inspect(model, X, initial=start).matrix("0", "ptk_change")
    for given in (state, wrap(start), tmp_path / "start.pt"):
        np.testing.assert_array_equal(inspect(model, X, initial=given).matrix("0", "ptk_change"), expected)
    wrapped = wrap(model)
    assert not inspect(wrapped, X, initial=wrapped.state_dict()).matrix("0", "nfm_change").any()


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16, torch.float32])
def test_initial_weights_in_another_precision(precision):
    model, start = seeded(mlp, dtype=precision), seeded(mlp, seed=3)
    report = inspect(model, X.to(precision), initial=start.state_dict())
    W0 = start[0].weight.detach().to(precision).double()
    np.testing.assert_allclose(report.matrix("0", "nfm_initial"), (W0.mT @ W0).numpy(), rtol=1e-12)
    assert report.rows[0]["c_nfa_cos"] > 0


def test_extra_state_and_buffers():
    class Extra(nn.Linear):
        def __init__(self):
            super().__init__(5, 2)
            self.register_buffer("seen", torch.tensor(3))

        def get_extra_state(self):
            return {"version": 1}

        def set_extra_state(self, state):
            pass

    model = seeded(Extra)
    assert initial_tensors(model, model.state_dict())["seen"].dtype == torch.int64
    assert not inspect(model, X, initial=model.state_dict()).matrix("model", "nfm_change").any()


def test_weights_that_do_not_belong_to_the_model():
    model = seeded(mlp)
    state = model.state_dict()
    with pytest.raises(ValueError, match="no entry for"):
        inspect(model, X, initial={key: value for key, value in state.items() if key != "2.bias"})
    with pytest.raises(ValueError, match="another shape"):
        inspect(model, X, initial=state | {"0.weight": torch.zeros(2, 2)})
    nn.utils.parametrizations.weight_norm(model[2])
    with pytest.raises(ValueError, match=r"weights of \['2'\] come from a parametrisation.*leave initial out"):
        inspect(model, X, initial=model.state_dict())
