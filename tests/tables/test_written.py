"""Encodings of text that is read as numbers or dates."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from gramian.tables import TableEncoder, unseen_levels
from gramian.tables.values import Levels
from gramian.tables.written import find_writing

pd = pytest.importorskip("pandas")


def fit(values, **options):
    """Encode one column beside a plain one; back come the encoder, the record and the block."""
    values = pd.Series(values, dtype=object)
    frame = pd.DataFrame({"c": values, "plain": np.arange(len(values)) ** 2 + 0.5})
    encoder = TableEncoder(**options).fit(frame)
    return encoder, encoder.records_[0], encoder.transform(frame)[:, encoder.groups_ == 0]


def later(encoder, values):
    frame = pd.DataFrame({"c": pd.Series(values, dtype=object), "plain": 0.0})
    return encoder.transform(frame)[:, encoder.groups_ == 0]


def test_dates_are_tried_before_numbers():
    assert find_writing(Levels(np.array([0]), ["01.02.2003"])).day_first
    assert find_writing(Levels(np.array([0]), ["$5"])).kind == "money"
    assert find_writing(Levels(np.array([0]), ["red"])) is None


def test_money_is_encoded_as_the_same_numbers_are():
    values = [1037.5, 12.0, None, -3.2, 12.0]
    encoder, record, block = fit(["$1,037.50", "$12", "NA", "($3.20)", "12"])
    assert record.kind == "money"
    assert record.done.startswith("money in $ with commas between thousands, read as numbers; missing: the median 12")
    assert record.encoded == ("c", "c__missing")
    assert record.missing == 1
    assert np.array_equal(block, fit(values)[2])
    assert later(encoder, ["$2,000", "", 7.5, Decimal(3)])[:, 0].tolist() == [2000, 12, 7.5, 3]


def test_rank_gauss_applies_to_money():
    texts, values = ["$5", "$7", "$1,000", "$8"], [5.0, 7.0, 1000.0, 8.0]
    for option in (True, "only"):
        assert np.array_equal(fit(texts, rank_gauss=option)[2], fit(values, rank_gauss=option)[2])


def test_numbers_that_are_no_text_are_used_as_they_are():
    """385.512 is a number, though the texts have points between thousands; also among texts, and in any batch."""
    encoder, record, block = fit(["1.037,50 €", "12,00 €", 385.512, "3,10 €"])
    assert record.kind == "money"
    assert block.ravel().tolist() == [1037.5, 12, 385.512, 3.1]
    assert later(encoder, [385.512]).tolist() == later(encoder, [385.512, "5 €"])[:1].tolist() == [[385.512]]
    assert later(encoder, ["385.512"]).tolist() == [[385_512]]


def test_a_text_in_another_unit_is_refused_by_name():
    encoder, _, _ = fit(["5 kg", "6 kg", "8.5 kg"])
    with pytest.raises(ValueError, match="column 'c' holds the value '5 lb'"):
        later(encoder, ["7 kg", "5 lb"])


def test_infinity_is_refused_by_name():
    with pytest.raises(ValueError, match="infinity in column 'c'"):
        fit(["$5", "$6", "$1e999"])


def test_bounds_are_ordered_and_noted():
    encoder, record, block = fit(["<1", "1", "2", "3", ">3", None])
    assert record.kind == "bounded number"
    assert block[:, 0].tolist() == [0.5, 1, 2, 3, 4, 2]
    assert block[:, 1].tolist() == [0, 0, 0, 0, 0, 1]
    assert record.notes == (
        "bounds are read as numbers just beyond them, and ranges as their middle: '<1' as 0.5, '>3' as 4",
    )
    assert later(encoder, [">2", "7"])[:, 0].tolist() == [3, 7]


def test_words_among_numbers_have_columns_of_their_own():
    encoder, record, block = fit(["1", "2", "never", "4", "", "never", "?", ">4"])
    assert record.kind == "number or word"
    assert record.encoded == ("c", "c__missing", "c=?", "c=never")
    assert block[:, 1].tolist() == [0, 0, 0, 0, 1, 0, 0, 0]
    assert block[:, 2].tolist() == [0, 0, 0, 0, 0, 0, 1, 0]
    assert block[:, 3].tolist() == [0, 0, 1, 0, 0, 1, 0, 0]
    assert block[2, 0] == block[4, 0] == block[6, 0] == 3
    assert any("'?', 'never'" in note for note in record.notes)
    assert later(encoder, ["often"]).tolist() == [[3, 0, 0, 0]]
    new = pd.DataFrame({"c": ["often", "never", "5", None, "often"], "plain": 1.0})
    assert unseen_levels(encoder, new) == {"c": {"often": 2}}


def test_a_rare_word_is_at_a_bounded_distance():
    encoder, _, block = fit([*(str(k) for k in range(400)), "never"])
    at = encoder.get_feature_names_out().tolist().index("c=never")
    scaled = (block[:, at] - encoder.centers_[at]) / encoder.scales_[at]
    assert np.isclose((scaled[-1] - scaled[0]) ** 2, 8)


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%b %d, %Y", "%d.%m.%y %H:%M"])
def test_local_dates_are_encoded_as_the_same_dates_are(form):
    days = [dt.datetime(2021, 1, 1) + dt.timedelta(days=13 * k, hours=7 * k % 24) for k in range(40)]
    if "%H" not in form:
        days = [day.replace(hour=0) for day in days]
    texts = [day.strftime(form) for day in days]
    encoder, record, block = fit([*texts, "N/A"])
    assert record.kind == "date"
    assert np.array_equal(block, fit([*days, None])[2])
    assert np.array_equal(later(encoder, [texts[3], days[3], days[3].isoformat()]), np.tile(block[3], (3, 1)))
    with pytest.raises(ValueError, match="column 'c' holds the value 'soon'"):
        later(encoder, [texts[0], "soon"])
    with pytest.raises(ValueError, match="column 'c' holds numbers"):
        later(encoder, [5.0])


def test_the_order_of_day_and_month_is_noted():
    assert fit(["24.07.2008", "01.02.1999"])[1].notes == ("dates are read with the day first, as '24.07.2008' shows",)
    (note,) = fit(["04/07/2008", "01/02/1999"])[1].notes
    assert "'01/02/1999' are read with the month first" in note
    assert fit(["Mar 3, 2021", "May 4, 2021"])[1].notes == ()


def test_trial_values_can_be_encoded():
    for values in (["$5", "$7"], ["1", "2", "3", "never"], ["24.07.2008", "01.02.1999"], ["1,5", "2,25"]):
        encoder, record, _ = fit(values)
        trial = record.encoding.trial_values()
        assert np.isfinite(later(encoder, trial)).all()
        assert None in trial.tolist()
