"""Claims: a null that would pass is refused, and constructors give the region that they name."""

import math

import pytest

from gramian.experiments import Null, at_least, at_most, between, negative, number, positive, unavailable

NULL = Null(0.5, "no training")


def test_a_null_in_the_band_or_its_slack_is_refused():
    for low, high, slack in ((0.4, 0.6, 0.0), (0.55, 0.6, 0.05), (0.2, 0.4, 0.1)):
        with pytest.raises(ValueError, match=r"no training: 0.5\) would pass: narrow"):
            between("x", low, high, "law", slack=slack, null=NULL)
    with pytest.raises(ValueError, match="would pass"):
        at_least("x", 0.6, "law", slack=0.1, null=NULL)
    with pytest.raises(ValueError, match="needs a null"):
        between("x", 0.6, 0.7, "law")
    assert between("x", 0.6, 0.7, "law", slack=0.05, null=NULL).null is NULL


def test_slack_ends_half_way_to_the_null():
    claim = number("x", 1.0, 0.2, "one seed", null=NULL)
    assert claim.slack == pytest.approx((0.5 - 0.2) / 2)
    assert number("x", 1.0, 0.02, "one seed", null=NULL).slack == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("claim", "threshold", "sign"),
    [
        (positive("x", "sign"), 0.0, True),
        (negative("x", "sign", null=NULL), 0.5, True),
        (at_least("x", 0.7, "law", null=NULL), 0.7, False),
        (at_most("x", 0.2, "law", null=NULL), 0.2, False),
        (between("x", 0.6, 0.7, "law", null=NULL), None, False),
        (number("x", math.nan, 0.0, "nan"), None, False),
    ],
)
def test_the_threshold_is_the_finite_end(claim, threshold, sign):
    assert (claim.threshold, claim.is_sign) == (threshold, sign)


def test_what_is_not_judged_alone_needs_no_null():
    claims = (number("x", 1.0, 0.1, "law", column="y"), unavailable("x", "no data"), number("x", math.nan, 0.0, "nan"))
    assert [claim.judged_alone for claim in claims] == [False] * 3
