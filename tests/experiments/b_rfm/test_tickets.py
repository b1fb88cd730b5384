"""Fig. 6: training again on some pixels."""

import pytest
import torch

from gramian.experiments.b_rfm.machines import ridge_fit
from gramian.experiments.b_rfm.picture_models import predictor, refit_accuracy, scores
from gramian.experiments.b_rfm.shared_features import RIDGE
from gramian.experiments.b_rfm.tickets import Ticket, gains, ticket_rows


def test_a_refit_on_all_columns_is_the_plain_kernel_and_on_useless_ones_is_chance():
    rows, test, known = ticket_rows(Ticket("made", (0, 4), 20, 15, 16), seed=0)
    assert known is None
    all_columns = torch.ones(rows[0].shape[1], dtype=torch.bool)
    assert refit_accuracy(all_columns, rows, test, RIDGE) == scores(predictor(ridge_fit(*rows, RIDGE)), *test) == 1.0
    corner = torch.zeros(16, 16, 3, dtype=torch.bool)
    corner[:2, :2] = True
    assert refit_accuracy(corner.flatten(), rows, test, RIDGE) < 0.9


def test_the_known_columns_of_the_star_decide_alone():
    rows, test, known = ticket_rows(Ticket("made", None, 40, 10, 16), seed=0)
    assert refit_accuracy(known, rows, test, RIDGE) == 1.0


@pytest.mark.parametrize(
    ("random", "laplace", "gain"), [(0.6, 0.6, 0.1), (0.9, 0.6, -0.1), (0.6, 0.85, -0.05), (0.9, 0.85, -0.1)]
)
def test_random_or_all_pixels_that_do_better_leave_no_gain(random, laplace, gain):
    numbers = {"made/accuracy": 0.8, "made/rfm": 0.7, "made/random": random, "made/laplace": laplace}
    found = gains([{"numbers": numbers, "arrays": {"task": "made"}}])
    assert found == pytest.approx({"made/gain over both": gain})
