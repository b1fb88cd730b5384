"""The list of all experiments, read from a file: completion and checks of ids import no paper and no torch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from importlib.resources import files

FILE = "index.json"
"""The file with the ids and titles; a test compares it with the registered experiments."""


def read_index() -> Mapping[str, str]:
    """Return the titles of all experiments by id.

    >>> read_index()["d/table2"]
    'Tables 1 and 2: ...'
    """
    text = files("gramian.experiments").joinpath(FILE).read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)
    return found


def similar_ids(id: str, known: Iterable[str]) -> str:
    """Return the end of an error message about an unknown id: the ids that look like it.

    >>> similar_ids("d/tabel2", ["a/fig1", "d/table2"])
    '; did you mean d/table2?'
    """
    found = get_close_matches(id, list(known), n=5, cutoff=0.5)
    return f"; did you mean {', '.join(found)}?" if found else "; gramian reproduce --list shows all of them"


def check_patterns(patterns: Iterable[str], known: Iterable[str]) -> None:
    """Raise a ValueError for a pattern (``d/table2``, ``a/*``) that matches none of the known ids.

    >>> check_patterns(["d/*"], ["d/table2"])
    """
    ids = list(known)
    for pattern in patterns:
        if not any(fnmatchcase(id, pattern) for id in ids):
            raise ValueError(f"no experiment matches {pattern!r}{similar_ids(pattern, ids)}")
