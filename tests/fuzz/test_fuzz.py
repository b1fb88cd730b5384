"""A quick part of the fuzzing with fixed seeds; ``make fuzz`` runs thousands of fresh cases."""

import pytest
from hypothesis import HealthCheck, given, settings

from fuzz import damage, laws
from fuzz.choices import Seeded
from fuzz.long_run import Memory
from fuzz.outcomes import CLEAR, GOOD, OUTCOMES, is_clear
from fuzz.tables import TableCase, table_case, table_cases

pytest.importorskip("pandas")
FINE = (GOOD, CLEAR)
QUICK = settings(
    max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@QUICK
@given(table_cases)
def test_a_table_is_fitted_by_all_laws_or_refused_clearly(case):
    outcome = laws.judge(case)
    assert outcome.kind in FINE, outcome.detail


@pytest.mark.parametrize("number", range(14))
def test_a_table_of_a_seed_is_fitted_by_all_laws_or_refused_clearly(number):
    case = table_case(Seeded("frames", "quick", number))
    outcome = laws.judge(case)
    assert outcome.kind in FINE, f"{outcome.detail}\n{case}"


@settings(parent=QUICK, max_examples=30)
@given(damage.file_cases)
def test_a_changed_file_is_read_as_it_is_or_refused_clearly(tmp_path_factory, case):
    outcome = damage.judge(case, tmp_path_factory.getbasetemp() / "fuzz.gramian", Memory())
    assert outcome.kind in FINE, outcome.detail


def test_files_of_a_seed_are_read_as_they_are_or_refused_clearly(tmp_path):
    kinds = []
    for number in range(60):
        case = damage.file_case(Seeded("files", "quick", number))
        outcome = damage.judge(case, tmp_path / "m.gramian", Memory())
        kinds.append(outcome.kind)
        assert outcome.kind in FINE, f"{outcome.detail}\n{case}"
    assert set(kinds) == set(FINE), "some crafted files are harmless"
    assert set(FINE) < set(OUTCOMES)


@pytest.mark.parametrize(
    ("error", "clear"),
    [
        (ValueError("column 'a' holds dates"), True),
        (TypeError("X is a dict"), True),
        (ValueError("sample_weight must be numbers: could not convert string to float: 'a'"), True),
        (ValueError("could not convert string to float: 'a' in column 'b'"), False),
        (ValueError("operands could not be broadcast together"), False),
        (OverflowError("column 'a'"), False),
        (KeyError("column"), False),
    ],
)
def test_the_criterion_of_a_clear_error(error, clear):
    assert is_clear(error) is clear


def test_a_broken_law_is_noticed(monkeypatch):
    """The judge itself can fail: a fit that ignores weights, or a prediction that is not finite."""
    case = TableCase(1, 40, (("float", 0.2), ("text", 0.0)), weights="whole")
    assert laws.judge(case).kind == GOOD
    fit = laws.fit
    monkeypatch.setattr(laws, "fit", lambda case, X, y, weights: fit(case, X, y, None))
    assert laws.judge(case).detail.startswith("weights_are_rows")
    monkeypatch.undo()
    monkeypatch.setattr(laws, "values_of", lambda model, X: float("nan") * model.predict(X))
    assert "finite" in laws.judge(case).detail
