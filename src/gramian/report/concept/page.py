"""The page about a concept: scores by layer, nearest tokens, texts with coloured tokens, steering and its damage."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from gramian.core import version
from gramian.core.atomic import atomic_write
from gramian.display import Column, Entry, Table, format_number
from gramian.report.concept.record import ConceptRecord, ReadText
from gramian.report.web import (
    PageSection,
    facts,
    folded,
    lines,
    note,
    number,
    number_cell,
    page,
    panels,
    prose,
    table,
    tag,
    text,
    tiles,
)
from gramian.report.web.charts import Line

_LIMITS = """A probe shows that a concept can be read from hidden states. It does not show that the model uses it:
labels, topics and styles that go together in the training texts are one direction. A change under steering shows that
the direction has an effect, not that it is the only one. Scores hold for texts like those of the fit."""


def write_concept_page(record: ConceptRecord, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write the page as one HTML file that needs no network access, and return its path.

    >>> import tempfile
    >>> from gramian.report.concept import MethodScores
    >>> record = ConceptRecord("joy", ("0", "1"), (MethodScores("rfm", (0.7, 0.8)),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     "Scores by layer" in write_concept_page(record, f"{folder}/joy.html").read_text(encoding="utf-8")
    True
    """
    out = Path(path)
    if out.is_dir():
        raise ValueError(f"path must be that of a file, and {out} is a folder: add a name such as joy.html")
    atomic_write(out, concept_page(record, title=title))
    return out


def concept_page(record: ConceptRecord, *, title: str | None = None) -> str:
    """Return the page as text."""
    for method in record.methods:
        for part in (method.scores, method.low, method.high):
            if part is not None and len(part) != len(record.layers):
                raise ValueError(f"method {method.method!r} has {len(part)} scores for {len(record.layers)} layers")
    sections = [
        PageSection("Scores by layer", _scores(record)),
        PageSection("Nearest tokens", _nearest(record)),
        PageSection("Texts", _texts(record)),
        PageSection("Steering", _steered(record)),
        PageSection("Damage", _damage(record)),
        PageSection("Limits", prose(_LIMITS)),
        PageSection("Settings", facts([*record.settings.items(), ("gramian", version.__version__)])),
    ]
    lead = f"Directions of {len(record.layers)} layers, from labelled texts."
    return page(title or f"The concept {record.name}", lead, sections, top=_tiles(record))


def _tiles(record: ConceptRecord) -> str:
    found = [(str(len(record.layers)), "layers")]
    for method in record.methods[:2]:
        known = [(score, layer) for score, layer in zip(method.scores, record.layers, strict=True) if score == score]
        if known:
            score, layer = max(known, key=lambda pair: pair[0])
            found.append((number(score, 3), f"best {record.score_name} of {_method(method.method)}, {layer}"))
    return tiles(found)


def _scores(record: ConceptRecord) -> str:
    if not record.methods:
        return ""
    depth = list(range(len(record.layers)))
    series = [Line(_method(one.method), depth, one.scores, one.low, one.high) for one in record.methods]
    alt = f"{record.score_name} of {len(series)} methods in {len(depth)} layers"
    made = lines(series, alt, x="layer, counted from 0", y=f"out-of-fold {record.score_name}")
    has_intervals = any(one.low is not None for one in record.methods)
    bars = " Bars are 95 % intervals over the texts." if has_intervals else ""
    made += note(text(f"Every text is scored by probes that were fitted without it.{bars}"))
    columns: list[str | Column] = ["layer", *(Column(_method(one.method)) for one in record.methods)]
    rows: list[list[Entry]] = [
        [layer, *(number_cell(one.scores[i], _three_digits) for one in record.methods)]
        for i, layer in enumerate(record.layers)
    ]
    return made + folded("All scores", table(Table(columns, rows)))


def _three_digits(value: float) -> str:
    return format_number(value, digits=3)


def _method(name: str) -> str:
    return {"rfm": "RFM", "pca": "PCA"}.get(name, name.replace("_", " "))


def _nearest(record: ConceptRecord) -> str:
    if not record.nearest:
        return ""
    rows: list[list[Entry]] = [[one.layer, _quoted(one.more), _quoted(one.less)] for one in record.nearest]
    about = (
        "Tokens whose rows of the unembedding have the largest and the smallest cosine with the direction of a layer. "
        "Layers in between change a direction, so the tokens of early layers are a hint and no more."
    )
    return prose(about) + table(Table(["layer", Column("more likely", "left"), Column("less likely", "left")], rows))


def _quoted(tokens: Sequence[str]) -> str:
    return " · ".join(repr(token)[1:-1].strip() or "␣" for token in tokens)


def _texts(record: ConceptRecord) -> str:
    if not record.texts:
        return ""
    largest = max((abs(score) for one in record.texts for score in one.token_scores if score == score), default=0.0)
    made = "".join(_read(one, largest or 1.0) for one in record.texts)
    about = "Orange tokens have more of the concept, blue ones less; the score of a token is shown when pointed at."
    return note(text(about)) + made


def _read(one: ReadText, largest: float) -> str:
    words = text(one.text)
    if one.tokens:
        words = "".join(_token(*pair, largest) for pair in zip(one.tokens, one.token_scores, strict=True))
    label = f"label {one.label}, " if one.label else ""
    return tag("p", words) + note(text(f"{label}probability of the concept {number(one.probability, 2)}"))


def _token(token: str, score: float, largest: float) -> str:
    if not math.isfinite(score):
        return text(token)
    share = round(60 * min(abs(score) / largest, 1.0))
    colour = "orange" if score > 0 else "blue"
    style = f"background:color-mix(in srgb, var(--{colour}) {share}%, transparent);border-radius:3px"
    return tag("span", text(token), style=style, title=number(score, 2))


def _steered(record: ConceptRecord) -> str:
    prompts = list(dict.fromkeys(one.prompt for one in record.steered))
    found = []
    for prompt in prompts:
        rows: list[list[Entry]] = [
            [number(one.strength, 2), one.text.strip()] for one in record.steered if one.prompt == prompt
        ]
        found.append((prompt, prose(f"{prompt} …") + table(Table(["strength", Column("continuation", "left")], rows))))
    if not found:
        return ""
    about = "Strengths are multiples of the typical length of a layer's hidden states; 0 is the model alone."
    return note(text(about)) + panels("prompt", found)


def _damage(record: ConceptRecord) -> str:
    if not record.damage:
        return ""
    points = sorted(record.damage, key=lambda one: one.strength)
    strengths = [one.strength for one in points]
    ratio = Line("", strengths, [one.perplexity_ratio for one in points])
    again = Line("", strengths, [one.repetition for one in points])
    rows: list[list[Entry]] = [
        [
            number(one.strength, 2),
            number_cell(one.perplexity_ratio, _three_digits),
            number_cell(one.repetition, _three_digits),
        ]
        for one in points
    ]
    charts = lines([ratio], "perplexity ratio by strength", x="strength", y="perplexity of neutral texts, ratio")
    charts += lines([again], "repetition by strength", x="strength", y="share of repeated n-grams")
    about = "Perplexity of neutral texts as a multiple of that of the model alone, and repetition in continuations."
    columns: list[str | Column] = ["strength", Column("perplexity ratio"), Column("repetition")]
    return prose(about) + tag("div", charts, class_="side") + table(Table(columns, rows))
