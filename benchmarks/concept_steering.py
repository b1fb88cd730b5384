"""Steering a real language model by sentiment, read by a judge that was trained on another model.

    pip install "gramian[hf]"
    GRAMIAN_DATA=/folder python benchmarks/concept_steering.py --model FOLDER --judge FOLDER --neutral valid.txt

``--model`` is a folder with SmolLM2-135M-Instruct, ``--judge`` one with all-MiniLM-L6-v2, ``--neutral`` the file of
CoNLL-2003 (Reuters news, one token per line). Directions are those of 600 SST-2 sentences; the judge is a logistic
regression on sentence embeddings of 3,000 others. For each method, the strength is the largest one whose perplexity of
16 news sentences is at most ``--limit`` times that of the model alone, with either sign. 60 neutral prompts are then
continued at −s and +s with several seeds. Results are written after each method, and a second call continues.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from sklearn.linear_model import LogisticRegressionCV
from transformers import AutoModel, AutoTokenizer

from gramian.concepts import Concept, LayerDirection, collect, fit_concept
from gramian.concepts.damage import repetition
from gramian.concepts.generation import continue_prompts
from gramian.concepts.steering import choose_directions, steer
from gramian.concepts.strength_search import PerplexityRatio, damage_curve
from gramian.nets.checkpoints.pretrained import load_pretrained, load_tokenizer

METHODS = ("rfm", "mean_difference", "logistic")
TRAIN, JUDGED, NEWS, TOKENS = 600, 3000, 16, 20
PROMPTS = """The film was
The movie we watched last night
I thought the book
The restaurant on the corner
The food at the hotel
My day at work
The new teacher
The concert in the park
Our trip to the coast
The service at the bank
The phone I bought last week
The weather this weekend
My neighbour told me that the house
The meeting on Monday
The play at the theatre
When I think about my school, I
The city where I grew up
The new album
The actor in this film
The story of the novel
Her speech
The game yesterday
The hotel room
My first impression of the car
The museum
The coffee here
In my opinion, the plan
The lecture this morning
The doctor said that my results
The company I work for
The bus ride
The party last Saturday
The director of the film
The ending of the story
This computer
My experience with the course
The people at the office
The garden behind the house
The article in the newspaper
The performance of the team
The train to London
What I remember about the summer is
The painting on the wall
The dinner with my family
The software
The apartment we rented
The script
The music in the cafe
After reading the report, I felt
The shop near the station
My brother's new job
The documentary
I would describe the town as
The cook
The show on television
The letter from my friend
The beach
The university
The conversation with my boss
The result of the project""".splitlines()


def sentences(split: str) -> list[tuple[str, int]]:
    path = Path(os.environ["GRAMIAN_DATA"]) / "text" / f"sst2_{split}.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [(row[0], int(row[1])) for row in rows if len(row) == 2]


def news(path: Path, count: int) -> list[str]:
    """Sentences of 15 to 40 words that end in a full stop."""
    found: list[list[str]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            found[-1].append(line.split()[0])
        else:
            found.append([])
    whole = [words for words in found if 15 <= len(words) <= 40 and words[-1] == "."]
    random.Random(2).shuffle(whole)
    return [_joined(words) for words in whole[:count]]


def _joined(words: Sequence[str]) -> str:
    made = " ".join(words).replace("( ", "(")
    for mark in (".", ",", ";", ":", "'s", "n't", ")", "%", "?"):
        made = made.replace(f" {mark}", mark)
    return made


class Judge:
    """Probability that a text is positive: logistic regression on sentence embeddings of another model."""

    def __init__(self, folder: Path, rows: Sequence[tuple[str, int]]) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder).eval()
        X = self.embed([text for text, _ in rows])
        self.head = LogisticRegressionCV(Cs=[0.1, 1.0, 10.0], max_iter=2000).fit(X, [label for _, label in rows])

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        found = np.zeros((len(texts), self.model.config.hidden_size))
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        with torch.no_grad():
            for start in range(0, len(texts), 32):
                part = order[start : start + 32]
                made = self.tokenizer(
                    [texts[i] for i in part], padding=True, truncation=True, max_length=64, return_tensors="pt"
                )
                known = made["attention_mask"][..., None]
                mean = (self.model(**made).last_hidden_state * known).sum(1) / known.sum(1)
                found[part] = torch.nn.functional.normalize(mean, dim=1).numpy()
        return found

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        return self.head.predict_proba(self.embed([text.strip() or "." for text in texts]))[:, 1]


def random_directions(like: Sequence[LayerDirection], seed: int) -> list[LayerDirection]:
    rng = torch.Generator().manual_seed(seed)
    found = []
    for one in like:
        vector = torch.randn(len(one.vector), generator=rng)
        found.append(LayerDirection(one.layer, vector / vector.norm(), one.typical_norm, one.centre, 0.5))
    return found


def interval(change: np.ndarray) -> list[float]:
    """95 % interval of a mean over (prompts, seeds), by resampling prompts and, within each draw, seeds."""
    rng = np.random.default_rng(0)
    n, m = change.shape
    draws = [change[rng.integers(n, size=n)][:, rng.integers(m, size=m)].mean() for _ in range(2000)]
    return [round(float(end), 3) for end in np.quantile(draws, [0.025, 0.975])]


class Benchmark:
    """Model, judge and prompts; measures one set of directions at a time."""

    def __init__(self, model: torch.nn.Module, tokenizer: object, judge: Judge, neutral: list[str], seeds: int) -> None:
        self.model, self.tokenizer, self.judge, self.neutral, self.seeds = model, tokenizer, judge, neutral, seeds
        self.plain = self.positive()[0]

    def positive(self) -> tuple[np.ndarray, list[str]]:
        """1 for each continuation (prompts, seeds) that the judge calls positive, and those of the first seed."""
        made = [
            continue_prompts(
                self.model,
                PROMPTS,
                tokenizer=self.tokenizer,
                max_new_tokens=TOKENS,
                rng=torch.Generator().manual_seed(seed) if self.seeds else None,
                temperature=0.7,
            )
            for seed in range(max(self.seeds, 1))
        ]
        return np.stack([self.judge(texts) > 0.5 for texts in made], axis=1).astype(float), made[0]

    def measure(
        self, directions: Sequence[LayerDirection], limit: float, strength: float | None = None
    ) -> dict[str, object]:
        """Shares of positive continuations at −s and +s, at the largest s within the limit or at a given one."""
        begin = time.perf_counter()
        layers = [one.layer for one in choose_directions(directions)]
        ruler = PerplexityRatio(self.model, directions, tokenizer=self.tokenizer, neutral_texts=self.neutral)
        curve = damage_curve(ruler, layers, limit, refinements=4) if strength is None else ()
        s = max(one for one, ratio in curve if ratio <= limit) if strength is None else strength
        shares, texts = {}, {}
        for sign in (-1, 1):
            with steer(self.model, [(directions, sign * s)], layers=layers):
                shares[sign], texts[sign] = self.positive()
        change = shares[1] - shares[-1]
        return {
            "strength": s,
            "layers": [layers[0], layers[-1]],
            "perplexity_ratio": {"-s": ruler.signed(-s, layers), "+s": ruler.signed(s, layers)},
            "positive": {"-s": shares[-1].mean(), "0": self.plain.mean(), "+s": shares[1].mean()},
            "change": change.mean(),
            "change_interval": interval(change),
            "change_by_prompt": change.mean(1).round(3).tolist(),
            "repetition": {"-s": repetition(texts[-1]), "+s": repetition(texts[1])},
            "curve": [list(pair) for pair in curve],
            "examples": [[p, a.strip(), b.strip()] for p, a, b in zip(PROMPTS, texts[-1], texts[1], strict=True)][:6],
            "seconds": round(time.perf_counter() - begin, 1),
        }


def paired(results: dict[str, dict], method: str, other: str) -> dict[str, object]:
    """Difference of two methods' changes, prompt by prompt, with an interval over prompts."""
    gap = np.array(results[method]["change_by_prompt"]) - np.array(results[other]["change_by_prompt"])
    return {"mean": round(float(gap.mean()), 3), "interval": interval(gap[:, None])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--judge", type=Path, required=True)
    parser.add_argument("--neutral", type=Path, required=True)
    parser.add_argument("--limit", type=float, nargs="+", default=[1.3])
    parser.add_argument("--seeds", type=int, default=2, help="0: the most probable token")
    parser.add_argument("--random", type=int, default=2)
    parser.add_argument("--dtype", default="bfloat16", help="type of the weights during steering")
    parser.add_argument("--concept", type=Path, help="file of the fitted concept; written if it is not there yet")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "concept_steering.json")
    args = parser.parse_args()
    rows = sentences("train")
    random.Random(0).shuffle(rows)
    used, others = rows[:TRAIN], rows[TRAIN : TRAIN + JUDGED]
    model, tokenizer = load_pretrained(args.model), load_tokenizer(args.model)
    concept = fitted(args.concept, model, tokenizer, used)
    judge, dev = Judge(args.judge, others), sentences("dev")
    right = np.mean((judge([text for text, _ in dev]) > 0.5) == np.array([label for _, label in dev]))
    record = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
    bench = Benchmark(model.to(getattr(torch, args.dtype)), tokenizer, judge, news(args.neutral, NEWS), args.seeds)
    record |= {
        "model": "SmolLM2-135M-Instruct",
        "judge": f"all-MiniLM-L6-v2 embeddings + logistic regression, {JUDGED} SST-2 sentences",
        "judge_accuracy_on_sst2_dev": round(float(right), 3),
        "prompts": len(PROMPTS),
        "seeds": args.seeds,
        "new_tokens": TOKENS,
        "temperature": 0.7 if args.seeds else 0.0,
        "dtype": args.dtype,
        "neutral": f"{NEWS} sentences of CoNLL-2003",
        "unsteered_positive": bench.plain.mean(),
    }
    for limit in args.limit:
        found = record.setdefault("limits", {}).setdefault(str(limit), {})
        like = concept.directions(METHODS[0])
        jobs = {method: (concept.directions(method), False) for method in METHODS}
        for same in (True, False):
            end = f" at the strength of {METHODS[0]}" if same else ""
            jobs |= {f"random {i}{end}": (random_directions(like, i), same) for i in range(args.random)}
        for name, (directions, same) in jobs.items():
            if name not in found:
                found[name] = bench.measure(directions, limit, found[METHODS[0]]["strength"] if same else None)
                save(record, args.out)
                print(limit, name, found[name]["positive"], found[name]["perplexity_ratio"], flush=True)
        found["paired"] = {f"rfm − {other}": paired(found, "rfm", other) for other in METHODS[1:]}
        save(record, args.out)


def fitted(path: Path | None, model: torch.nn.Module, tokenizer: object, rows: Sequence[tuple[str, int]]) -> Concept:
    if path is not None and path.exists():
        return Concept.load(path)
    activations = collect(model, [text for text, _ in rows], tokenizer=tokenizer, position="last")
    concept = fit_concept(activations, [label for _, label in rows])
    if path is not None:
        concept.save(path)
    return concept


def save(record: dict[str, object], path: Path) -> None:
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False, default=float) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
