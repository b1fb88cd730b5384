"""Fig. 5: orders over target linearity on made records, and the error of the mean image."""

import pytest
import torch

from gramian.experiments.e_gram.generation import BETAS
from gramian.experiments.e_gram.image_rows import ImageData, image_rows
from gramian.experiments.e_gram.latent_paths import compare_interpolations, ends_and_middle, mean_image_error


def record(beta, **numbers):
    spec = {"beta": beta, "data": {"name": "mnist"}}
    return {"spec": spec, "numbers": {f"mnist/{beta:g}/{key}": value for key, value in numbers.items()}}


def test_order_of_the_interpolation_error_over_linearity():
    """The ends follow β, and the middle runs the other way: each is compared by itself."""
    records = [record(beta, TL=1 / (1 + beta), interpolation=beta**2, structure=0.1) for beta in BETAS]
    for made, beta in zip(records, BETAS, strict=True):
        made["arrays"] = {"interpolation": [beta, 40.0 - beta, 60.0 - beta, beta]}
    expected = {"error/order": 1.0, "error and TL": -1.0, "better": 6.0, "ends and TL": -1.0, "middle and TL": 1.0}
    assert compare_interpolations(records) == pytest.approx(expected)
    assert compare_interpolations([]) == {}
    worse = [record(beta, TL=1 / (1 + beta), interpolation=beta**2, structure=-0.1) for beta in BETAS]
    assert compare_interpolations(worse) == {"better": 0.0}


def test_the_middle_is_one_value_or_two():
    assert ends_and_middle([1, 9, 5, 9, 3]) == (2, 5)
    assert ends_and_middle([1, 5, 7, 3]) == (2, 6)


def test_the_mean_image_interpolates_with_the_distance_from_the_mixture():
    rows = image_rows(ImageData("digits", 100, 20), torch.Generator().manual_seed(0))
    first, second = rows.X_test[:5], rows.X_test[5:10]
    ends = [float((rows.X.mean(0) - part).square().mean()) for part in (first, second)]
    assert mean_image_error(rows, first, second, torch.tensor([0.0, 1.0])) == pytest.approx(sum(ends) / 2)
