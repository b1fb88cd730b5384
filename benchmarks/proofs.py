"""The default beside the untuned defaults of other packages, on data sets that no rule was chosen on: two proofs.

The untouched half was looked at on 17 November 2026, with the rules of that day. Since then both halves are for
choosing, and the rules of the present default were shown on fresh tables: UCI tables on which no rule was chosen, fixed
before the comparison (`gramian.bench.halves`). Rules that are chosen later need other data sets.

The fits are those of the command line. All runs of a proof add to one file of records, and a run that was stopped
continues. In a clone at the commit of the rules, the fresh tables are

    OUT=benchmarks/results/fresh_tables.jsonl
    GRAMIAN_DATA=... gramian bench tables --suite uci-regression --splits 2 --out $OUT
    GRAMIAN_DATA=... gramian bench tables --suite uci-rest --splits 2 --sets ... --out $OUT    # at most 1,000 rows
    GRAMIAN_DATA=... gramian bench tables --suite uci-rest --splits 1 --out $OUT
    … and for each suite once more with: --methods gramian@seed-1 --seed 1
    python benchmarks/proofs.py names                            # writes the names of all sets
    python benchmarks/proofs.py show
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gramian.bench.halves import half_of
from gramian.bench.losses import LossComparison, PairedDifference, SeedDifference, compare_losses, seed_differences
from gramian.bench.tasks import SUITES
from gramian.display import typographic_minus
from gramian.records import LinesStore

RESULTS = Path(__file__).parent / "results"
NAMES = RESULTS / "halves.json"
AGAIN = "gramian@seed-1"


@dataclass(frozen=True)
class Proof:
    """A comparison on data sets that no rule was chosen on: its file of records, and suites by the name of a part."""

    file: str
    parts: Mapping[str, tuple[str, ...]]

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The records; of several for one cell the last counts."""
        return LinesStore(RESULTS / self.file).all()

    def comparison(self, part: str) -> LossComparison:
        """Compare the methods with their first seed."""
        return compare_losses([r for r in self.records if r["method"] != AGAIN], self.parts[part])

    def seeds(self, part: str) -> list[SeedDifference]:
        """Compare two seeds of the default on each table."""
        again = [r | {"method": "gramian"} for r in self.records if r["method"] == AGAIN]
        return seed_differences(self.comparison(part), compare_losses(again, self.parts[part]), "gramian")

    def facts(self, part: str) -> dict[str, Any]:
        """Return the place of the default: its ranks, the paired differences to CatBoost, and the seeds."""
        found = self.comparison(part)
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
            "unstable": [one for one in self.seeds(part) if not one.is_small],
        }

    def markdown(self) -> str:
        """Return the tables of classes and of numbers with their sentences."""
        out = []
        for part in ("classes", "numbers"):
            found = self.facts(part)
            unstable = ", ".join(
                f"{one.set} ({one.difference:.3f} against {one.first_to_fifth:.3f})" for one in found["unstable"]
            )
            low, mean, high = percent(found["log ratio"])
            out.append(self.comparison(part).markdown())
            out.append(
                f"gramian minus CatBoost in normalised loss, paired over the {found['sets']} sets: "
                f"{found['difference'].text()}. "
                f"Its loss differs from CatBoost's by {mean:+.1f} % ({low:+.1f} to {high:+.1f}), and it is lower on "
                f"{found['wins']} of {found['sets']} sets. Sets on which two seeds of the default differ by more than "
                f"the first method from the fifth: {unstable or 'none'}.\n"
            )
        return typographic_minus("\n".join(out))


HALF = Proof(
    "untouched_half.jsonl",
    {
        "classes": ("uci-small-untouched", "grinsztajn-clf-untouched"),
        "UCI": ("uci-small-untouched",),
        "Grinsztajn, classes": ("grinsztajn-clf-untouched",),
        "numbers": ("grinsztajn-reg-untouched",),
    },
)
FRESH = Proof("fresh_tables.jsonl", {"classes": ("uci-rest",), "numbers": ("uci-regression",)})


def percent(log_ratio: PairedDifference) -> tuple[float, float, float]:
    """Return the mean ratio as a difference in percent between the ends of its interval."""
    low, mean, high = (100 * math.expm1(value) for value in (log_ratio.low, log_ratio.mean, log_ratio.high))
    return low, mean, high


def by_suite() -> str:
    """Return the table of classes for each suite of the untouched half."""
    return "\n".join(HALF.comparison(part).markdown() for part in ("UCI", "Grinsztajn, classes"))


def write_names() -> None:
    """Write the names of the choosing, the untouched and the fresh sets, from the data at hand."""
    named = {
        suite: {half: half_of(SUITES[suite].names(None), half) for half in ("choosing", "untouched")}
        for suite in ("uci-small", "grinsztajn-reg", "grinsztajn-clf")
    }
    for suite in ("uci-rest", "uci-regression"):
        named[suite] = {"fresh": SUITES[suite].names(None)}
    NAMES.write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")


def names() -> str:
    """Return the names of all sets as a table."""
    lines = ["| suite | choosing half | untouched half | fresh |", "|---|---|---|---|"]
    for suite, named in json.loads(NAMES.read_text(encoding="utf-8")).items():
        cells = (", ".join(named.get(part, ())) for part in ("choosing", "untouched", "fresh"))
        lines.append(f"| `{suite}` | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("names")
    commands.add_parser("show")
    given = parser.parse_args()
    if given.command == "names":
        write_names()
    else:
        print("\n".join([FRESH.markdown(), HALF.markdown(), by_suite()]))
