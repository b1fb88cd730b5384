"""Columns that the predictor does not know are refused by name and reason."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from exported_models import ONE, fitted
from gramian import RFMRegressor
from gramian.rfm.export import NotExportableError, describe
from gramian.rfm.export.columns import missing_texts
from gramian.tables.encodings import Number
from gramian.tables.values import read_levels


@dataclass(frozen=True, eq=False)
class Money(Number):
    unit: str = ""


def with_encoding(model, encoding):
    """A fitted model in which the first column has another encoding."""
    encoder = model.preprocessing.reader.encoder
    changed = type(encoder)()
    vars(changed).update(vars(encoder))
    changed.records_ = (replace(encoder.records_[0], encoding=encoding), *encoder.records_[1:])
    return replace(
        model, preprocessing=replace(model.preprocessing, reader=replace(model.preprocessing.reader, encoder=changed))
    )


def test_dates_are_refused():
    pd = pytest.importorskip("pandas")
    days = pd.DataFrame({"sold on": pd.date_range("2024-01-01", periods=40), "x": np.arange(40.0)})
    model = RFMRegressor(kernel="laplace", **ONE).fit(days, np.arange(40.0))
    with pytest.raises(NotExportableError, match=r"column 'sold on' is encoded as Date \(days since"):
        describe(model.model_)


def test_an_encoding_of_another_type_or_with_an_unknown_option_is_refused(monkeypatch):
    model = fitted("frame")[0].model_
    known = model.preprocessing.reader.encoder.records_[0].encoding
    money = Money(known.fill, known.indicator, known.value, None, None, unit="€")
    with pytest.raises(NotExportableError, match="column 'area' is encoded as Money"):
        describe(with_encoding(model, money))
    from gramian.rfm.export import columns

    monkeypatch.setitem(columns._KNOWN, Money, columns._KNOWN[Number])
    with pytest.raises(NotExportableError, match="column 'area' is encoded with the option 'unit'"):
        describe(with_encoding(model, money))
    assert describe(with_encoding(model, replace(money, unit=""))).manifest["names"][0] == "area"


def test_texts_of_missing_entries_are_those_of_the_reader():
    for text in missing_texts():
        assert not read_levels(np.array([text], dtype=object)).texts
    assert "red" not in missing_texts()
