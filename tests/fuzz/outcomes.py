"""The outcome of a case, and the mechanical criterion for a clear error."""

import re
from collections import Counter
from dataclasses import dataclass

GOOD = "right"
CLEAR = "clear error"
UNCLEAR = "unclear error"
WRONG = "silently wrong"
MEMORY = "memory"
OUTCOMES = (GOOD, CLEAR, UNCLEAR, WRONG, MEMORY)

_NAMES = re.compile(
    r"\b(columns?|X|y|sample_weight|target|class(es)?|row|rows|features?|labels?|eval_set|encoder|sample\(s\)|feature\(s\))\b"
)
_RAW = re.compile(
    r"np\.(str_|int\d+|float\d+|bool_?)\(|object at 0x|NoneType|has no attribute|unhashable|not subscriptable"
    r"|takes \d+ positional|argument must be a string|could not convert string|broadcast"
)


@dataclass(frozen=True)
class Outcome:
    """A kind of outcome, and what happened."""

    kind: str
    detail: str = ""


def is_clear(error):
    """Return whether an error is a plain ValueError or TypeError whose message names a column, argument or quantity.

    The message must not contain the words of an interpreter's own errors, unless it names an argument before them.
    """
    if type(error) not in (ValueError, TypeError):
        return False
    text = str(error)
    raw = _RAW.search(text)
    named = _NAMES.search(text)
    return named is not None and (raw is None or named.start() < raw.start())


def of_error(error, where):
    text = f"{where}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return Outcome(CLEAR if is_clear(error) else UNCLEAR, text)


def counts(outcomes):
    """Return the number of outcomes of each kind."""
    found = Counter(outcome.kind for outcome in outcomes)
    return {kind: found.get(kind, 0) for kind in OUTCOMES}
