"""The β-VAE: its loss against the densities of torch.distributions, and its measurements against their definitions."""

import pytest
import torch
from torch import distributions as D

from gramian.experiments.e_gram.vae import BetaVAE, interpolation_error, latent_linearity, train_vae


def made(seed=0):
    rng = torch.Generator().manual_seed(seed)
    return BetaVAE(6, 8, 3, rng).double(), torch.rand(20, 6, generator=rng, dtype=torch.float64)


@torch.no_grad()
def test_the_loss_is_cross_entropy_plus_divergence():
    vae, X = made()
    mean, log_variance = vae.encode(X)
    latent = D.Normal(mean, (log_variance / 2).exp())
    noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    decoded = vae.decode(latent.loc + noise * latent.scale)
    pixels = -(X * decoded.log() + (1 - X) * (1 - decoded).log()).sum(1)
    divergence = D.kl_divergence(latent, D.Normal(torch.zeros_like(mean), torch.ones_like(mean))).sum(1)
    found = vae.loss(X, 2.5, torch.Generator().manual_seed(7))
    torch.testing.assert_close(found, (pixels + 2.5 * divergence).mean())


@torch.no_grad()
def test_linearity_is_that_of_least_squares():
    vae, X = made()
    Z, Y = vae.encode(X)[0], X - X.mean(0)
    residual = Y - Z @ torch.linalg.lstsq(Z, Y).solution
    assert latent_linearity(vae, X) == pytest.approx(float(1 - residual.square().sum() / Y.square().sum()), rel=1e-9)


def test_a_linear_decoder_mixes_its_own_pictures():
    """A linear decoder maps a mixture of latent means to the mixture of its pictures."""
    vae, X = made()
    B = torch.randn(3, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    with torch.no_grad():
        pictures = vae.encode(X)[0] @ B

    class Linear(BetaVAE):
        def encode(self, X):
            return vae.encode(X)

        def decode(self, Z):
            return Z @ B

    linear = Linear(6, 8, 3, torch.Generator())
    first, second = X[:10], X[10:]
    weights = torch.linspace(0, 1, 5, dtype=torch.float64)
    for w, error in zip(weights, interpolation_error(linear, first, second, weights), strict=True):
        mixed = (1 - w) * pictures[:10] + w * pictures[10:]
        assert error == pytest.approx(float((mixed - ((1 - w) * first + w * second)).square().mean()))


def test_training_is_drawn_by_the_generator_and_watched():
    seen, ends = [], []
    for _ in range(2):
        rng = torch.Generator().manual_seed(5)
        vae = BetaVAE(6, 8, 3, rng)
        X = torch.rand(20, 6, generator=rng)
        train_vae(vae, X, beta=1.0, rate=1e-2, epochs=2, batch=8, rng=rng, watch=seen.append)
        ends.append(torch.cat([p.detach().flatten() for p in vae.parameters()]))
    assert seen == [0, 1, 2, 0, 1, 2]
    assert torch.equal(*ends)
