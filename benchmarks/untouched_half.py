"""The default beside the untuned defaults of other packages, on the half of the data sets that no rule was chosen on.

The fits are those of the command line. All runs add to one file of records, and a run that was stopped continues:

    OUT=benchmarks/results/untouched_half.jsonl
    GRAMIAN_DATA=... gramian bench tables --suite uci-small-untouched --splits 2 --out $OUT
    GRAMIAN_DATA=... gramian bench tables --suite grinsztajn-reg-untouched --splits 1 --out $OUT
    GRAMIAN_DATA=... gramian bench tables --suite grinsztajn-clf-untouched --splits 1 --out $OUT
    … and for each suite once more with: --methods gramian@seed-1 --seed 1
    python benchmarks/untouched_half.py halves                   # writes the names in both halves
    python benchmarks/untouched_half.py show

The half was looked at on 17 November 2026, with the rules of that day. Rules that are chosen later need other data
sets: the UCI sets with more than 5,000 rows have not been used.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from gramian.bench.halves import half_of
from gramian.bench.losses import LossComparison, PairedDifference, SeedDifference, compare_losses, seed_differences
from gramian.bench.tasks import SUITES
from gramian.display import typographic_minus
from gramian.records import LinesStore

RESULTS = Path(__file__).parent / "results" / "untouched_half.jsonl"
HALVES = RESULTS.with_name("halves.json")
AGAIN = "gramian@seed-1"
PARTS = {
    "classes": ("uci-small-untouched", "grinsztajn-clf-untouched"),
    "UCI": ("uci-small-untouched",),
    "Grinsztajn, classes": ("grinsztajn-clf-untouched",),
    "numbers": ("grinsztajn-reg-untouched",),
}


def read() -> list[dict[str, Any]]:
    """Return the records; of several for one cell the last counts."""
    return LinesStore(RESULTS).all()


def comparison(records: list[dict[str, Any]], part: str) -> LossComparison:
    """Compare the methods with their first seed."""
    return compare_losses([r for r in records if r["method"] != AGAIN], PARTS[part])


def seeds(records: list[dict[str, Any]], part: str) -> list[SeedDifference]:
    """Compare two seeds of the default on each table."""
    again = [r | {"method": "gramian"} for r in records if r["method"] == AGAIN]
    return seed_differences(comparison(records, part), compare_losses(again, PARTS[part]), "gramian")


def facts(records: list[dict[str, Any]], part: str) -> dict[str, Any]:
    """Return the place of the default: its ranks, the paired differences to CatBoost, and the seeds."""
    found = comparison(records, part)
    rows = {row["method"]: row for row in found.rows()}
    ours, others = rows["gramian"], [row for name, row in rows.items() if name != "gramian"]
    return {
        "sets": len(found.sets),
        "methods": len(found.methods),
        "rank": ours["rank"],
        "best other rank": min((row["rank"], row["method"]) for row in others),
        "normalised": ours["normalised"],
        "best other normalised": max((row["normalised"], row["method"]) for row in others),
        "difference": found.difference("gramian", "CatBoost"),
        "log ratio": found.log_ratio("gramian", "CatBoost"),
        "wins": found.wins("gramian", "CatBoost"),
        "unstable": [one for one in seeds(records, part) if not one.is_small],
    }


def percent(log_ratio: PairedDifference) -> tuple[float, float, float]:
    """Return the mean ratio as a difference in percent between the ends of its interval."""
    low, mean, high = (100 * math.expm1(value) for value in (log_ratio.low, log_ratio.mean, log_ratio.high))
    return low, mean, high


def markdown() -> str:
    """Return the tables of classes and of numbers with their sentences."""
    records = read()
    out = []
    for part in ("classes", "numbers"):
        found = facts(records, part)
        unstable = ", ".join(
            f"{one.set} ({one.difference:.3f} against {one.first_to_fifth:.3f})" for one in found["unstable"]
        )
        low, mean, high = percent(found["log ratio"])
        out.append(comparison(records, part).markdown())
        out.append(
            f"gramian minus CatBoost in normalised loss, paired over the {found['sets']} sets: "
            f"{found['difference'].text()}. "
            f"Its loss differs from CatBoost's by {mean:+.1f} % ({low:+.1f} to {high:+.1f}), and it is lower on "
            f"{found['wins']} of {found['sets']} sets. Sets on which two seeds of the default differ by more than "
            f"the first method from the fifth: {unstable or 'none'}.\n"
        )
    return typographic_minus("\n".join(out))


def by_suite() -> str:
    """Return the table of classes for each suite."""
    records = read()
    return "\n".join(comparison(records, part).markdown() for part in ("UCI", "Grinsztajn, classes"))


def write_halves() -> None:
    """Write the names of the choosing and the untouched sets, from the data at hand."""
    named = {
        suite: {half: half_of(SUITES[suite].names(None), half) for half in ("choosing", "untouched")}
        for suite in ("uci-small", "grinsztajn-reg", "grinsztajn-clf")
    }
    HALVES.write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")


def halves() -> str:
    """Return the names of the choosing and the untouched sets as a table."""
    lines = ["| suite | rules were chosen on | untouched |", "|---|---|---|"]
    for suite, named in json.loads(HALVES.read_text(encoding="utf-8")).items():
        lines.append(f"| `{suite}` | {', '.join(named['choosing'])} | {', '.join(named['untouched'])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("halves")
    commands.add_parser("show")
    given = parser.parse_args()
    if given.command == "halves":
        write_halves()
    else:
        print(f"{markdown()}\n{by_suite()}")
