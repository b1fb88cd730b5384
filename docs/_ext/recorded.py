"""Numbers and tables of the pages, read from recorded runs when the site is built."""

from __future__ import annotations

import csv
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from gramian.display import typographic_minus

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/results"


def record(name: str) -> Any:
    """Return a saved run of a benchmark."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def script(name: str) -> Any:
    """Import the script of a benchmark, which can print its own record as a table."""
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", ROOT / f"benchmarks/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look it up
    spec.loader.exec_module(module)
    return module


def quoted(page: str, start: str) -> str:
    """Return the first table of a page whose heading begins with ``start``."""
    text = (ROOT / page).read_text(encoding="utf-8")
    where = text.find(f"\n{start}")
    if where < 0:
        raise ValueError(f"{page} has no table that begins with {start!r}")
    return text[where + 1 :].split("\n\n")[0]


def errata_of(paper: str) -> str:
    """Return the misprints of one paper, from the table that a test compares with ``gramian.theory.errata``."""
    lines = quoted("docs/theory.md", "| paper, place |").splitlines()
    rows, wanted = lines[:2], False
    for line in lines[2:]:
        place = line.split("|")[1].strip()
        wanted = place.startswith(f"{paper} ") if place else wanted  # a row without a place belongs to the place above
        if wanted:
            rows.append(line)
    return "\n".join(rows)


def verdicts() -> str:
    """Count the claims of each paper by kind and verdict, from the committed records."""
    from gramian.experiments import papers
    from gramian.experiments.counts import count_rows, count_table, markdown
    from gramian.experiments.store import ExperimentStore
    from gramian.experiments.verdict import findings

    store = ExperimentStore(ROOT / "reproduction")
    rows = count_rows(findings(experiment, store) for experiment in papers.load())
    return markdown(count_table(rows, ("group", "kind")))


def steering() -> str:
    """Return positive continuations at either strength by the way directions were found."""
    headings = ("directions", "strength", "positive at −s", "at +s", "change (95 % over prompts)", "perplexity ratio")
    lines = [f"| {' | '.join(headings)} |", "|---|---|---|---|---|---|"]
    for limit in record("concept_steering")["limits"].values():
        for name, run in limit.items():
            if "positive" not in run:
                continue
            positive, (low, high) = run["positive"], run["change_interval"]
            change = f"{100 * run['change']:.0f} points ({100 * low:.0f} to {100 * high:.0f})"
            ratio = max(run["perplexity_ratio"].values())
            shares = f"{positive['-s']:.0%} | {positive['+s']:.0%}"
            lines.append(f"| {name.replace('_', ' ')} | {run['strength']:.3f} | {shares} | {change} | {ratio:.2f} |")
        for name, gap in limit["paired"].items():
            low, high = gap["interval"]
            change = f"{100 * gap['mean']:.0f} points ({100 * low:.0f} to {100 * high:.0f})"
            lines.append(f"| {name.replace('_', ' ')}, paired | | | | {change} | |")
    return "\n".join(lines)


def probes() -> str:
    """Return the comparison of RFM with the best baseline on each layer, by concept."""
    headings = ("concept", "texts", "layers not below the best baseline", "mean gain", "detector − best layer (95 %)")
    lines = [f"| {' | '.join(headings)} |", "|---|---|---|---|---|"]
    for name, run in record("concept_probes").items():
        if "summary" not in run:
            continue
        found = run["summary"]
        gap, low, high = found["detector_minus_best_layer_on_test"]
        texts, not_below = f"{run['train']} + {run['test']}", f"{found['layers_not_below']:.0%}"
        detector = f"{gap:+.4f} ({low:+.4f} to {high:+.4f})"
        lines.append(f"| {name} | {texts} | {not_below} | {found['mean_gain']:+.4f} | {detector} |")
    return "\n".join(lines)


def artefacts(paper: str) -> str:
    """Return the figures, tables and theorems of a paper with the experiments that run them."""
    path = next((ROOT / "src/gramian/experiments").glob(f"{paper.lower()}_*/artefacts.csv"))
    lines = [f"| in paper {paper} | experiment | remark |", "|---|---|---|"]
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
        id = f"`{row['id']}`" if row["id"] else ""
        lines.append(f"| {row['artefact']} | {id} | {row['remark']} |")
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {
    "artefacts_a": lambda: artefacts("A"),
    "artefacts_b": lambda: artefacts("B"),
    "artefacts_c": lambda: artefacts("C"),
    "artefacts_d": lambda: artefacts("D"),
    "artefacts_e": lambda: artefacts("E"),
    "class_links": lambda: script("class_links").markdown(record("class_links")),
    "coverage": lambda: script("interval_coverage").summary(record("interval_coverage")),
    "forecast": lambda: script("forecast").markdown(record("forecast")),
    "fuzz": lambda: (RESULTS / "fuzz.md").read_text(encoding="utf-8"),
    "interruptions": lambda: script("interruptions").markdown(record("interruptions")),
    "three_machines": lambda: script("three_machines").markdown(record("three_machines")),
    "concept_probes": probes,
    "concept_steering": steering,
    "page_load": lambda: script("page_load").sentence(record("page_load")),
    "peer_rfm": lambda: script("peer_rfm").markdown(record("peer_rfm")),
    "nets_speed": lambda: script("nets_speed").markdown(record("nets_speed")),
    "inspect_cost": lambda: script("inspect_cost").markdown(record("inspect_cost")),
    "whitened_training": lambda: script("whitened_training").markdown(record("whitened_training")),
    "default_speed": lambda: script("default_speed").markdown(record("default_speed")),
    "halves": lambda: script("proofs").names(),
    "fresh_tables": lambda: script("proofs").FRESH.markdown(),
    "untouched_half": lambda: script("proofs").HALF.markdown(),
    "untouched_suites": lambda: script("proofs").by_suite(),
    "leaf_features": lambda: script("leaf_features").markdown(record("leaf_features")),
    "scale": lambda: script("scale").table(),
    "verdicts": verdicts,
}


def facts() -> dict[str, str]:
    """Return the numbers that sentences of the pages name, with no line break between a number and its unit."""
    found = _proof_facts() | _speed_facts() | _scale_facts()
    return {name: typographic_minus(text).replace(" ", "\u00a0") for name, text in found.items()}


def _proof_facts() -> dict[str, str]:
    """The place of the default on the data sets that no rule was chosen on, by log loss and by RMSE."""
    proofs, out = script("proofs"), {}
    for name, part in (("class", "classes"), ("number", "numbers")):
        found = proofs.FRESH.facts(part)
        (rank, by_rank), (normalised, by_norm) = found["best other rank"], found["best other normalised"]
        low, mean, high = proofs.percent(found["log ratio"])
        out |= {
            "methods": str(found["methods"]),
            f"{name}_sets": str(found["sets"]),
            f"{name}_rank": f"{found['rank']:.2f}",
            f"{name}_next_rank": f"{by_rank} {rank:.2f}",
            f"{name}_normalised": f"{found['normalised']:.3f}",
            f"{name}_next_normalised": f"{by_norm} {normalised:.3f}",
            f"{name}_change": f"{mean:+.1f} % ({low:+.1f} to {high:+.1f})",
            f"{name}_wins": str(found["wins"]),
        }
        half = proofs.HALF.facts(part)
        rank, by_rank = half["best other rank"]
        out |= {
            f"half_{name}_sets": str(half["sets"]),
            f"half_{name}_rank": f"{half['rank']:.2f}",
            f"half_{name}_next_rank": f"{by_rank} {rank:.2f}",
        }
    return out


def _speed_facts() -> dict[str, str]:
    """Median times and mean errors of the present default, relative to CatBoost's, from the table of the benchmark."""
    rows = [row.strip("|").split("|") for row in TABLES["default_speed"]().splitlines()[2:]]
    times, errors = [float(row[2].split()[0]) for row in rows], [float(row[4]) for row in rows]
    return {
        "speed_times": f"{min(times):.1f} to {max(times):.1f}",
        "speed_errors": f"{min(errors):.2f} to {max(errors):.2f}",
        "speed_tables": rows[0][1].strip(),
    }


def _scale_facts() -> dict[str, str]:
    exact = max(record("peer_rfm"), key=lambda row: row["n"])
    runs = {(r["task"], r["who"]): r for r in record("scale") if not r["label"]}
    many, boosted = runs["covertype", "gramian"], runs["covertype", "lightgbm"]
    return {
        "peer_rows": f"{exact['n']:,}",
        "peer_times": f"{exact['xrfm']['seconds'] / exact['gramian']['seconds']:.1f}",
        "peer_memory": f"{exact['xrfm']['peak_mb'] / exact['gramian']['peak_mb']:.1f}",
        "many_rows": f"{many['rows']:,}",
        "many_score": f"{100 * many['score']:.1f} %",
        "many_seconds": f"{many['seconds']:.0f} s",
        "many_boosted": f"{100 * boosted['score']:.1f} %",
        "many_boosted_seconds": f"{boosted['seconds']:.0f} s",
    }


class Recorded(SphinxDirective):
    """``{recorded} peer_rfm``: the table of a recorded run, with gramian's row in bold."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        text = TABLES[self.arguments[0]]()
        return self.parse_text_to_nodes(text.replace("\n| gramian |", "\n| **gramian** |"))


class ErrataOf(SphinxDirective):
    """``{errata} A``: the misprints of a paper, with the printed, the corrected and the measured number."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(errata_of(self.arguments[0]))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("recorded", Recorded)
    app.add_directive("errata", ErrataOf)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
