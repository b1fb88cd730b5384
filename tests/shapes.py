"""The runtime type checker of the test run: beartype, with an int accepted where a float is asked for.

The estimators are exempt. Their annotations tell an editor what may be passed; what is passed is checked in ``fit``,
with messages of our own, and tests pass wrong values to see them.
"""

from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype

ESTIMATORS = ("gramian.rfm.classifier", "gramian.rfm.estimator", "gramian.rfm.regressor", "gramian.rfm.search")
_check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def checked(thing: Callable[..., Any]) -> Callable[..., Any]:
    """Check the types and shapes of a function or class, unless it belongs to an estimator."""
    return thing if thing.__module__.startswith(ESTIMATORS) else _check(thing)
