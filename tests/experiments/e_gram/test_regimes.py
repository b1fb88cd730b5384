"""The training of Fig. 8 is gradient descent on the mean squared error."""

import torch

from gramian.experiments.e_gram import regimes


def test_one_step_is_that_of_torch():
    spec = regimes.StaircaseTraining(6, n=30, epochs=2, every=1)
    data = regimes.staircase(30, seed=0)
    X, y = torch.from_numpy(data.X).float(), torch.from_numpy(data.y).float()[:, None]
    weights = regimes.initial(spec, 10, torch.Generator().manual_seed(1_000_000))
    optimizer = torch.optim.SGD(weights, lr=spec.rate)
    errors = []
    for _ in range(3):
        optimizer.zero_grad()
        output = torch.relu(torch.relu(X @ weights[0].T) @ weights[1].T) @ weights[2].T / 6**0.5
        errors.append(float((output - y).detach().norm()))
        torch.nn.functional.mse_loss(output, y).backward()
        optimizer.step()
    splits, size = regimes.train(spec, seed=0)
    torch.testing.assert_close(torch.tensor([split.error for split in splits]), torch.tensor(errors))
    assert abs(size - float(y.norm())) < 1e-5


def test_the_initial_weights_have_variance_one_over_their_inputs():
    for W in regimes.initial(regimes.StaircaseTraining(400), 10, torch.Generator().manual_seed(0))[:2]:
        assert abs(float(W.detach().square().mean()) * W.shape[1] - 1) < 0.05
