"""Identities between the feature matrices on a small network; the moment forms that all callers share."""

import sys

import pytest
import torch

from gramian.core import cosine, psd_power
from gramian.features import (
    Agop,
    agop,
    agop_from_moments,
    backward_fact,
    enfa,
    enfa_from_moments,
    fact,
    fact_from_moments,
    fact_geometric,
    fact_symmetric,
    gradient_second_moment,
    nfm,
    vcs_from_moments,
    virtual_covariance_shift,
)
from gramian.kernels import Gaussian, KernelOperator
from gramian.nets import InspectOptions, Monitor, inspect
from gramian.nets.matrices import MATRICES
from gramian.rfm import KernelMachine
from gramian.rfm.machine import sampled_agop
from nets.models import INPUTS, LABELS, mlp, seeded


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


def test_bad_arguments_are_refused_by_name():
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


def test_moment_forms_are_the_per_sample_forms_accumulated_in_batches(layer):
    G, V, H = layer["Gh"], layer["V"], layer["H"]
    halves = [slice(0, 7), slice(7, 20)]
    second = sum(gradient_second_moment(G[part]) for part in halves)
    for center in (False, True):
        torch.testing.assert_close(agop_from_moments(second, G.mean(0), 20, center=center), agop(G, center=center))
    # a sample with two rows: the mean is over rows, the division by samples
    centred = agop(G, center=True)
    torch.testing.assert_close(agop_from_moments(second, G.mean(0), 20, center=True, samples=10), 2 * centred)
    probes = torch.eye(5, dtype=torch.float64)[:, :3]
    torch.testing.assert_close(agop_from_moments(second @ probes, None, 20, probed=True), agop(G) @ probes)
    squares, cross = (sum(V[part].T @ other[part] for part in halves) for other in (V, H))
    torch.testing.assert_close(enfa_from_moments(squares, 20), enfa(V))
    torch.testing.assert_close(fact_from_moments(cross, 20, 0.3), fact(V, H, 0.3))
    torch.testing.assert_close(vcs_from_moments(cross, squares, 20, 0.5), virtual_covariance_shift(V, H, 0.5))
    first = virtual_covariance_shift(V, H, 0.5, first_order=True)
    torch.testing.assert_close(vcs_from_moments(cross, None, 20, 0.5), first)
    mean = layer["W"].T @ layer["dW"]  # the gradient of the mean loss counts as one sample
    torch.testing.assert_close(fact_from_moments(mean, 1, 0.3), fact(V, H, 0.3))
    with pytest.raises(ValueError, match="needs mean"):
        agop_from_moments(second, None, 20, center=True)


def doubled(monkeypatch, function):
    """Double the result of a moment form, under whatever name a module of gramian has imported it."""

    def twice(*args, **kwargs):
        return 2 * function(*args, **kwargs)

    for name, module in list(sys.modules.items()):
        if name.startswith("gramian"):
            for attribute, value in list(vars(module).items()):
                if value is function:
                    monkeypatch.setattr(module, attribute, twice)


def network_matrices():
    """Every matrix that a network reports, in each of its forms, by the moment form it must come from."""
    data, start = (INPUTS, LABELS), seeded(mlp, seed=9)
    found = {"agop": [], "enfa": [], "fact": [], "vcs": []}
    for options in (InspectOptions(), InspectOptions(max_dim=4), InspectOptions(max_dim=2, sketch=40)):
        report = inspect(seeded(mlp), data, "cross_entropy", weight_decay=0.1, initial=start, options=options)
        for layer in report.layers:
            sums = report.record(layer).sums
            for name, matrix in MATRICES.items():
                form = FORMS.get(name)
                if form is None:
                    continue
                if matrix.may_be_formed(sums):
                    found[form].append(matrix.blocks(sums))
                if matrix.thin is not None and not sums.sketched and matrix.side == "input":
                    found[form].append(matrix.thin_form(sums))
                if matrix.probed is not None and sums.sketched:
                    found[form].append(matrix.probed_form(sums))
                if matrix.psd and matrix.may_be_formed(sums):
                    found[form].append(torch.from_numpy(report.spectrum(layer, name)))
    model = seeded(mlp)
    for kind in ("diagonal", "full"):
        monitor = Monitor(model, data, "cross_entropy", vcs=kind)
        torch.nn.functional.cross_entropy(model(INPUTS), LABELS).backward()
        monitor.step()
        found["vcs"].append(torch.from_numpy(monitor.vcs("0")))
    return found


FORMS = {
    "agop": "agop", "agop_centered": "agop", "ptk": "agop", "bagop": "agop", "ptk_change": "agop",
    "enfa": "enfa", "benfa": "enfa", "fact": "fact", "fact_sym": "fact", "fact_polar": "fact", "bfact": "fact",
    "vcs": "vcs",
}  # fmt: skip


def machine_matrices():
    rng = torch.Generator().manual_seed(0)
    X, coef = (torch.randn(30, d, generator=rng, dtype=torch.float64) for d in (4, 2))
    machine = KernelMachine(KernelOperator(Gaussian(2.0), X), coef)
    weights = torch.rand(30, generator=rng, dtype=torch.float64)
    plain, centred = (Agop(center=center, scale=None)(machine, rng) for center in (False, True))
    sampled = [sampled_agop(machine.gradient, X, w) for w in (None, weights)]
    return {"agop": [machine.agop, plain, centred, *sampled], "fact": [machine.fact()]}


@pytest.mark.parametrize(
    "function", [agop_from_moments, enfa_from_moments, fact_from_moments, vcs_from_moments], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("matrices", [network_matrices, machine_matrices])
def test_machines_and_networks_have_their_normalisation_from_the_moment_form_alone(monkeypatch, function, matrices):
    """A module with its own division by n, sign or 1/λ would not follow when the shared form doubles."""
    before = matrices()
    doubled(monkeypatch, function)
    after = matrices()
    for form, values in before.items():
        factor = 2 if function.__name__ == f"{form}_from_moments" else 1
        for old, new in zip(values, after[form], strict=True):
            torch.testing.assert_close(new, factor * old, rtol=1e-9, atol=1e-12)


def test_the_per_sample_forms_are_defined_by_the_moment_forms(monkeypatch, layer):
    G, V, H = layer["Gh"], layer["V"], layer["H"]
    pairs = {
        agop_from_moments: lambda: agop(G),
        enfa_from_moments: lambda: enfa(V),
        fact_from_moments: lambda: fact(V, H, 0.3) + backward_fact(V, H, 0.3),
        vcs_from_moments: lambda: virtual_covariance_shift(V, H, 0.3),
    }
    for function, value in pairs.items():
        before = value()
        with monkeypatch.context() as patch:
            doubled(patch, function)
            torch.testing.assert_close(value(), 2 * before)
