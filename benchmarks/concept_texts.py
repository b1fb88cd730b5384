"""Concepts made of real texts, each with a training and a test set of different texts. Nothing is made up.

- sentiment: SST-2 sentences with their labels, training split against test split.
- tense: CoNLL-2003 news sentences whose finite verbs are all past (VBD) or all present (VBZ, VBP); last token.
- part of speech: CoNLL-2003 words that are nouns, verbs or adjectives, one word per sentence; the text ends with it.
- entity: CoNLL-2003 words that begin a person, a place or an organisation, one per sentence; the text ends with it.
- language: messages of programs in Danish and in Norwegian, from the system's gettext catalogues; the messages of the
  test set are translations of other originals than those of the training set.
- length: the number of words of SST-2 sentences, a graded label.

CoNLL's train.txt gives the training texts and test.txt the test texts.
"""

from __future__ import annotations

import gettext
import gzip
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SIZE = 600
_CATALOGUES = ("vim", "glib20", "gtk30", "libc", "gtk30-properties", "libapt-pkg6.0", "apt")


@dataclass(frozen=True)
class Task:
    """Texts and labels of one concept; labels are names of classes, or numbers for a graded concept."""

    name: str
    made_of: str
    train: tuple[list[str], list]
    test: tuple[list[str], list]

    def __post_init__(self) -> None:
        known = set(self.train[0])
        kept = [row for row in zip(*self.test, strict=True) if row[0] not in known]
        object.__setattr__(self, "test", _columns(kept))


@dataclass(frozen=True)
class Places:
    """Folders of the sources."""

    data: Path
    conll: Path
    catalogues: Path = Path("/usr/share/locale")


def _sst2(places: Places, split: str) -> list[tuple[str, str]]:
    with gzip.open(places.data / "text" / f"sst2_{split}.tsv.gz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    rows = [(line[0], "positive" if line[1] == "1" else "negative") for line in lines]
    random.Random(0).shuffle(rows)
    return rows


def sentiment(places: Places) -> Task:
    train, test = _sst2(places, "train")[:SIZE], _sst2(places, "test")[:SIZE]
    return Task("sentiment", "SST-2 sentences", _columns(train), _columns(test))


def length(places: Places) -> Task:
    rows = [[(text, len(text.split())) for text, _ in _sst2(places, split)] for split in ("train", "test")]
    # Other sentences than those of the sentiment task.
    return Task(
        "length", "words in SST-2 sentences", _columns(rows[0][2 * SIZE : 3 * SIZE]), _columns(rows[1][SIZE : 2 * SIZE])
    )


def _sentences(places: Places, file: str) -> Iterator[list[list[str]]]:
    words: list[list[str]] = []
    for line in (places.conll / file).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("-DOCSTART-"):
            words.append(line.split())
        elif words:
            yield words
            words = []


def _tense(sentence: list[list[str]], rng: random.Random) -> tuple[str, str] | None:
    tags = {word[1] for word in sentence}
    past, present = "VBD" in tags, bool(tags & {"VBZ", "VBP"})
    if past == present or not 6 <= len(sentence) <= 30:
        return None
    return " ".join(word[0] for word in sentence), "past" if past else "present"


def _part_of_speech(sentence: list[list[str]], rng: random.Random) -> tuple[str, str] | None:
    kinds = {"NN": "noun", "NNS": "noun", "JJ": "adjective", "VB": "verb", "VBD": "verb", "VBZ": "verb", "VBN": "verb"}
    kind = rng.choice(["noun", "adjective", "verb"])
    places = [i for i, word in enumerate(sentence) if kinds.get(word[1]) == kind and 2 <= i < 25]
    if not places:
        return None
    return " ".join(word[0] for word in sentence[: rng.choice(places) + 1]), kind


def _entity(sentence: list[list[str]], rng: random.Random) -> tuple[str, str] | None:
    names = {"PER": "person", "LOC": "place", "ORG": "organisation"}
    kind = rng.choice(list(names))
    places = [i for i, word in enumerate(sentence) if word[3] == f"B-{kind}" and 1 <= i < 25]
    if not places:
        return None
    return " ".join(word[0] for word in sentence[: rng.choice(places) + 1]), names[kind]


def _conll(places: Places, name: str, choose: Callable, made_of: str) -> Task:
    parts = []
    for file in ("train.txt", "test.txt"):
        rng = random.Random(0)
        sentences = list(_sentences(places, file))
        rng.shuffle(sentences)
        found = [row for row in (choose(sentence, rng) for sentence in sentences) if row is not None]
        distinct = list(dict(found).items())
        parts.append(_columns(_balanced(distinct)))
    return Task(name, made_of, parts[0], parts[1])


def language(places: Places) -> Task:
    found: dict[str, dict[str, str]] = {}
    for domain in _CATALOGUES:
        for tongue in ("da", "nb"):
            path = places.catalogues / tongue / "LC_MESSAGES" / f"{domain}.mo"
            path = (
                path
                if path.exists()
                else path.parents[4] / "vim" / "vim90" / "lang" / tongue / "LC_MESSAGES" / path.name
            )
            if path.exists():
                with open(path, "rb") as file:
                    for key, text in gettext.GNUTranslations(file)._catalog.items():
                        if isinstance(key, str) and len(text.split()) >= 4 and len(text) < 150:
                            found.setdefault(key, {})[tongue] = " ".join(text.split())
    both = [(key, texts) for key, texts in sorted(found.items()) if len(texts) == 2 and texts["da"] != texts["nb"]]
    random.Random(0).shuffle(both)
    half = len(both) // 2
    parts = []
    for part in (both[:half], both[half:]):
        # Each original gives one text, in a language by turns, so that the content says nothing about the language.
        rows = [(texts["da"], "Danish") if i % 2 else (texts["nb"], "Norwegian") for i, (_, texts) in enumerate(part)]
        parts.append(_columns(_balanced(list(dict(rows).items()))))
    return Task("language", "messages of programs in Danish and Norwegian", parts[0], parts[1])


def _balanced(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    kinds = sorted({label for _, label in rows})
    each = min(SIZE // len(kinds), min(sum(label == kind for _, label in rows) for kind in kinds))
    chosen = [row for kind in kinds for row in [row for row in rows if row[1] == kind][:each]]
    random.Random(1).shuffle(chosen)
    return chosen


def _columns(rows: list) -> tuple[list[str], list]:
    return [text for text, _ in rows], [label for _, label in rows]


TASKS: dict[str, Callable[[Places], Task]] = {
    "sentiment": sentiment,
    "tense": lambda places: _conll(places, "tense", _tense, "CoNLL-2003 sentences by the tense of their verbs"),
    "part of speech": lambda places: _conll(
        places, "part of speech", _part_of_speech, "CoNLL-2003 words, read at the word"
    ),
    "entity": lambda places: _conll(places, "entity", _entity, "CoNLL-2003 names, read at their first word"),
    "language": language,
    "length": length,
}
