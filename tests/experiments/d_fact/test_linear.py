"""Training of deep linear networks."""

import torch

from gramian.experiments.d_fact import linear


def test_a_step_by_moments_is_the_step_of_torch_sgd():
    """Batches through their moments give the same weights as autograd on the rows."""
    spec = linear.Linear(3, width=7, epochs=2, n=60, d=4, c=3, batch=16)
    ours, X, Y = linear.train(spec, torch.Generator().manual_seed(0))
    rng = torch.Generator().manual_seed(0)
    torch.randn(60, 4, generator=rng), torch.randn(3, 4, generator=rng)
    weights = [
        torch.empty(b, a).uniform_(-(a**-0.5), a**-0.5, generator=rng).requires_grad_()
        for a, b in ((4, 7), (7, 7), (7, 3))
    ]
    optimizer = torch.optim.SGD(weights, lr=spec.rate, weight_decay=spec.weight_decay)
    for _ in range(2):
        for rows in torch.randperm(60, generator=rng).split(16):
            optimizer.zero_grad()
            f = X[rows] @ weights[0].mT @ weights[1].mT @ weights[2].mT
            torch.nn.functional.mse_loss(f, Y[rows]).backward()
            optimizer.step()
    for a, b in zip(ours, weights, strict=True):
        torch.testing.assert_close(a, b.detach(), rtol=1e-4, atol=1e-6)
