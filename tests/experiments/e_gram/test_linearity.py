"""Fig. 4 and 9: the numbers of curves with known orders and shapes, and measurement at the right epochs."""

import numpy as np
import pytest

from gramian.experiments.e_gram.image_rows import ImageData
from gramian.experiments.e_gram.linearity import LinearityCourse, compare_courses, measure_course, shapes, summarise


def made_course(layers=3):
    epochs = [0, 1, 2, 4, 8, 16]
    steps = np.log1p(epochs)[:, None]
    linearity = 0.1 + 0.05 * steps * np.arange(1, layers + 1)
    surrogate = 0.3 * np.array(epochs)[:, None] + np.arange(layers)
    flat = [0.5] * len(epochs)
    lists = {"linearity": linearity.tolist(), "surrogate": surrogate.tolist()}
    return {"epochs": epochs, "train": flat, "test": flat} | lists


def test_growing_curves_have_full_order_and_their_shapes():
    found = summarise(made_course())
    assert [found[key] for key in ("TL/epochs", "S/epochs", "TL/layers", "S/layers")] == [1.0] * 4
    assert found["TL/layers at start"] == 0.0
    assert found["TL/logarithmic"] > 0
    assert found["S/exponential"] > 0
    falling = made_course()
    falling["linearity"] = falling["linearity"][::-1]
    assert summarise(falling)["TL/epochs"] == -1.0
    assert summarise(falling)["TL/rise"] == pytest.approx(-found["TL/rise"])


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_course_is_measured_at_its_points(optimizer):
    spec = LinearityCourse(
        ImageData("digits", 200, 50),
        optimizer,
        0.1 if optimizer == "sgd" else 0.01,
        hidden=2,
        width=8,
        epochs=4,
        points=3,
    )
    course = measure_course(spec, 0)
    assert course["epochs"] == [0, 2, 4]
    assert np.shape(course["linearity"]) == np.shape(course["surrogate"]) == (3, 2)
    assert course["linearity"][-1] != course["linearity"][0]
    assert measure_course(spec, 0) == course


def made_record(data, test, rise, first, last):
    """Make a record whose first and last layers have these target linearities, each by epoch."""
    linearity = [list(pair) for pair in zip(first, last, strict=True)]
    course = {"epochs": [0, 1, 2], "linearity": linearity, "surrogate": [[0.1, 0.3], [0.5, 1.0], [0.9, 1.7]]}
    return {
        "spec": {"data": {"name": data}},
        "numbers": {f"{data}/test": test, f"{data}/TL/rise": rise},
        "arrays": course,
    }


def test_an_untrained_network_has_no_spread_and_leads_need_both_sets():
    trained = made_record("cifar10", 0.5, 0.6, (0.1, 0.12, 0.15), (0.2, 0.4, 0.7))
    untrained = made_record("cifar100", 0.2, 0.0, (0.1, 0.2, 0.4), (0.1, 0.2, 0.4))
    found = compare_courses([trained])
    assert found["cifar10/TL/spread"] == pytest.approx(0.45)
    assert {key.partition("/")[2] for key in found} == {"TL/spread", "TL/on log epoch", "log S/on epoch"}
    both = compare_courses([trained, untrained])
    assert both == pytest.approx(both | found | {"cifar100/TL/spread": 0.0, "gap/test": 0.3, "gap/TL/rise": 0.6})


def test_the_shape_of_growth_needs_a_rise_and_a_good_fit():
    course = made_course()
    assert all(value > 0 for value in shapes(course).values())
    course["surrogate"] = [[row[0]] for row in course["surrogate"]]
    course["linearity"] = [[row[0]] for row in course["linearity"]]
    steps = np.log1p(course["epochs"])
    for curve in (-steps, -np.array(course["epochs"]), np.array([0, 1, 3, 5, 3, 1.0])):
        assert shapes(course | {"linearity": curve[:, None].tolist()})["TL/on log epoch"] < 0
    straight = np.array(course["epochs"], dtype=float)[:, None]
    assert shapes(course | {"linearity": straight.tolist()})["TL/on log epoch"] < 0
    assert shapes(course | {"surrogate": np.log10(1 + straight).tolist()})["log S/on epoch"] < 0
