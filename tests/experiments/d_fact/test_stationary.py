"""Networks near a stationary point."""

from gramian.experiments.d_fact.stationary import Settling, relative_gradient, settle
from gramian.experiments.d_fact.training import ImageTraining, correlations, train


def test_near_a_stationary_point_fact_is_nearly_the_gram_matrix():
    training = ImageTraining("digits", 60, hidden=1, width=8, weight_decay=1e-2, epochs=20)
    trained = train(training, seed=0)
    *_, after = settle(trained, Settling(training, rounds=10, iterations=100, rest=1e-3))
    # Not to 0: a minimum may be in a kink of the ReLUs, where the gradient does not vanish.
    assert relative_gradient(after, 1e-2) < 0.1 * relative_gradient(trained, 1e-2)
    assert correlations(after, 1e-2)["fact"][0] > 0.99 > correlations(trained, 1e-2)["fact"][0]
