"""The β-VAE of paper E (B.6): fully connected encoder and decoder, and its training."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gramian.core import threads
from gramian.experiments.e_gram.small_nets import perceptron
from gramian.nets import target_linearity


class BetaVAE(nn.Module):
    """Encoder ``x ↦ (μ, log σ²)`` and decoder ``z ↦ x``, both with two hidden layers and GELU.

    >>> vae = BetaVAE(6, 8, 2, torch.Generator().manual_seed(0))
    >>> mean, log_variance = vae.encode(torch.zeros(3, 6))
    >>> vae.decode(mean).shape, log_variance.shape
    (torch.Size([3, 6]), torch.Size([3, 2]))
    """

    def __init__(self, pixels: int, width: int, latent: int, rng: torch.Generator):
        super().__init__()
        self.encoder = perceptron((pixels, width, width, 2 * latent), "gelu", rng)
        self.decoder = perceptron((latent, width, width, pixels), "gelu", rng)

    def encode(self, X: Float[Tensor, "n d"]) -> tuple[Float[Tensor, "n k"], Float[Tensor, "n k"]]:
        """Return mean and logarithm of the variance of the latent vectors."""
        mean, log_variance = self.encoder(X).chunk(2, dim=1)
        return mean, log_variance

    def decode(self, Z: Float[Tensor, "n k"]) -> Float[Tensor, "n d"]:
        """Return pixels in (0, 1)."""
        return torch.sigmoid(self.decoder(Z))

    def loss(self, X: Float[Tensor, "n d"], beta: float, rng: torch.Generator) -> Float[Tensor, ""]:
        """Return the mean over rows of cross-entropy, summed over pixels, plus β times the divergence from N(0, I)."""
        mean, log_variance = self.encode(X)
        noise = torch.randn(mean.shape, generator=rng, dtype=mean.dtype)
        logits = self.decoder(mean + noise * (log_variance / 2).exp())
        pixels = nn.functional.binary_cross_entropy_with_logits(logits, X, reduction="sum")
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum() / 2
        return (pixels + beta * divergence) / len(X)


def train_vae(
    vae: BetaVAE,
    X: Float[Tensor, "n d"],
    *,
    beta: float,
    rate: float,
    epochs: int,
    batch: int,
    rng: torch.Generator,
    watch: Callable[[int], None] | None = None,
) -> None:
    """Train in place by Adam; ``watch`` is called with the number of finished epochs, 0 before the first.

    >>> rng = torch.Generator().manual_seed(0)
    >>> vae, X = BetaVAE(6, 8, 2, rng), torch.rand(64, 6, generator=rng)
    >>> before = reconstruction_error(vae, X)
    >>> train_vae(vae, X, beta=0.01, rate=0.01, epochs=20, batch=16, rng=rng)
    >>> reconstruction_error(vae, X) < before
    True
    """
    optimizer = torch.optim.Adam(vae.parameters(), lr=rate, fused=True)
    with threads(1), torch.enable_grad():
        for epoch in range(epochs):
            if watch is not None:
                watch(epoch)
            for rows in torch.randperm(len(X), generator=rng).split(batch):
                optimizer.zero_grad()
                vae.loss(X[rows], beta, rng).backward()
                optimizer.step()
        if watch is not None:
            watch(epochs)


@torch.no_grad()
def reconstruction_error(vae: BetaVAE, X: Float[Tensor, "n d"]) -> float:
    """Return the mean squared error of a pixel that is decoded from the mean of its latent vector."""
    return float((vae.decode(vae.encode(X)[0]) - X).square().mean())


@torch.no_grad()
def latent_linearity(vae: BetaVAE, X: Float[Tensor, "n d"]) -> float:
    """Return the target linearity of the latent means, not centred, towards centred pixels, with γ = 0."""
    return target_linearity(vae.encode(X)[0], X, 0.0, center=False)


@torch.no_grad()
def interpolation_error(
    vae: BetaVAE, first: Float[Tensor, "n d"], second: Float[Tensor, "n d"], weights: Float[Tensor, " w"]
) -> list[float]:
    """Return the mean squared error between decoded mixtures of latent means and mixtures of pictures, by weight.

    >>> vae = BetaVAE(6, 8, 2, torch.Generator().manual_seed(0))
    >>> X = torch.rand(4, 6, generator=torch.Generator().manual_seed(1))
    >>> error, = interpolation_error(vae, X, X, torch.tensor([0.3]))
    >>> abs(error - reconstruction_error(vae, X)) < 1e-6
    True
    """
    Z_first, Z_second = vae.encode(first)[0], vae.encode(second)[0]
    return [
        float((vae.decode((1 - w) * Z_first + w * Z_second) - ((1 - w) * first + w * second)).square().mean())
        for w in weights
    ]
