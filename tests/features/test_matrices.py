"""The identities that tie the feature matrices together, on a small network, by autograd in float64."""

import pytest
import torch

from gramian.core import cosine, psd_power
from gramian.features import (
    agop,
    backward_fact,
    enfa,
    fact,
    fact_geometric,
    fact_symmetric,
    gradient_second_moment,
    nfm,
    virtual_covariance_shift,
)


@pytest.fixture
def layer(rng):
    """H, W, gradients at the input and output of one linear layer of a network with two outputs, and ∂L/∂W."""
    draw = lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)  # noqa: E731
    H, W, out, Y = draw(20, 5), draw(7, 5).requires_grad_(True), draw(2, 7), draw(20, 2)
    h = H.clone().requires_grad_(True)
    Z = h @ W.T
    f = torch.tanh(Z) @ out.T
    losses = (f - Y).square().sum(dim=1)
    Gz = torch.stack([torch.autograd.grad(f[:, c].sum(), Z, retain_graph=True)[0] for c in range(2)], dim=1)
    Gh = torch.stack([torch.autograd.grad(f[:, c].sum(), h, retain_graph=True)[0] for c in range(2)], dim=1)
    V, Vz, dW = torch.autograd.grad(losses.sum(), (h, Z, W))
    return {"H": H, "W": W.detach(), "Z": Z.detach(), "Gz": Gz, "Gh": Gh, "V": V, "Vz": Vz, "dW": dW / 20}


def test_agop_is_the_tangent_kernel_seen_through_the_weights(layer):
    W = layer["W"]
    torch.testing.assert_close(agop(layer["Gh"]), W.T @ agop(layer["Gz"]) @ W, rtol=1e-12, atol=1e-12)


def test_feature_learning_equation(layer):
    """Wᵀ ∂L/∂W = (1/n) Σ ∇ₕℓ hᵀ, and so FACT = WᵀW exactly where ∂L/∂W = −λW."""
    left = layer["W"].T @ layer["dW"]
    torch.testing.assert_close(left, -0.3 * fact(layer["V"], layer["H"], 0.3), rtol=1e-12, atol=1e-12)
    right = layer["dW"] @ layer["W"].T
    torch.testing.assert_close(right, -0.3 * backward_fact(layer["Vz"], layer["Z"], 0.3).T, rtol=1e-12, atol=1e-12)


def test_virtual_covariance_shift_is_the_change_of_the_weight_gram(layer):
    step = 1e-6
    moved = layer["W"] - step * layer["dW"]
    change = nfm(moved) - nfm(layer["W"])
    torch.testing.assert_close(virtual_covariance_shift(layer["V"], layer["H"], step), change, rtol=1e-4, atol=1e-13)
    exact = virtual_covariance_shift(layer["V"], layer["H"], step, first_order=True)
    symmetric = fact_symmetric(fact(layer["V"], layer["H"], 0.2), "average")
    torch.testing.assert_close(exact, 2 * step * 0.2 * symmetric, rtol=1e-12, atol=0)


def test_sums_means_and_weights_of_agop(layer):
    G = layer["Gh"]
    torch.testing.assert_close(gradient_second_moment(G), 20 * agop(G))
    doubled = torch.cat([G, G[:3]])
    weights = torch.ones(20, dtype=torch.float64)
    weights[:3] = 2
    for center in (False, True):
        torch.testing.assert_close(agop(G, weights=weights, center=center), agop(doubled, center=center))
    torch.testing.assert_close(agop(G, center=True), agop(G - G.mean(0)))
    torch.testing.assert_close(enfa(layer["V"]), agop(layer["V"][:, None, :]))


def test_symmetric_forms_are_fixed_at_a_gram_matrix(layer):
    M = nfm(layer["W"])
    for form in (fact_symmetric(M, "average"), fact_symmetric(M, "polar"), fact_geometric(M, M)):
        torch.testing.assert_close(form, M, rtol=1e-8, atol=1e-8)
    F, M2 = layer["W"][:5], M
    torch.testing.assert_close(fact_symmetric(F) @ fact_symmetric(F), F @ F.T, rtol=1e-8, atol=1e-8)
    fourth = psd_power(fact_geometric(F, M2), 4)
    torch.testing.assert_close(fourth, F @ M2 @ M2 @ F.T, rtol=1e-6, atol=1e-6)


def test_bad_arguments():
    one = torch.ones(1, 1)
    with pytest.raises(ValueError, match="weight_decay"):
        fact(one, one, 0.0)
    with pytest.raises(ValueError, match="one shape"):
        cosine(one, torch.ones(2, 2))
    with pytest.raises(ValueError, match="power"):
        psd_power(one, 0.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_roots_of_a_low_rank_matrix_stay_of_low_rank(dtype, rng):
    """Squaring before taking a root would leave eigenvalues of size ε^¼ where there are none."""
    u, v = torch.randn(5, 1, generator=rng, dtype=dtype), torch.randn(5, 1, generator=rng, dtype=dtype)
    M = torch.eye(5, dtype=dtype)
    for root in (fact_symmetric(u @ v.T), fact_geometric(u @ v.T, M)):
        values = torch.linalg.eigvalsh(root).abs().sort(descending=True).values
        assert values[1] < 10 * torch.finfo(dtype).eps ** 0.5 * values[0]
