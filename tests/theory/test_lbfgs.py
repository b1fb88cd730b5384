"""Minimisation by L-BFGS."""

import torch

from gramian.theory.lbfgs import LBFGS


def rosenbrock(x):
    return (1 - x[0]).square() + 100 * (x[1] - x[0].square()).square()


def test_it_is_torchs_lbfgs_with_a_strong_wolfe_line_search():
    ours, theirs = (torch.tensor([-1.0, 1.0], dtype=torch.float64, requires_grad=True) for _ in range(2))
    LBFGS([ours], lambda: rosenbrock(ours), max_steps=7, history=3).run()
    options = {"tolerance_grad": 1e-12, "tolerance_change": 0.0, "line_search_fn": "strong_wolfe"}
    optimizer = torch.optim.LBFGS([theirs], max_iter=7, history_size=3, **options)

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(theirs)
        loss.backward()
        return loss

    optimizer.step(closure)
    assert torch.equal(ours, theirs)


def test_a_second_run_continues_and_works_without_gradient_tracking():
    x = torch.tensor([-1.0, 1.0], dtype=torch.float64, requires_grad=True)
    descent = LBFGS([x], lambda: rosenbrock(x), max_steps=5, history=5)
    losses = []
    with torch.no_grad():
        for _ in range(12):
            descent.run()
            losses.append(float(rosenbrock(x)))
    assert losses[-1] < 1e-20 < losses[0]
