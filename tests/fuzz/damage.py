"""Damaged and crafted model files: cut, flipped, or changed inside with every checksum put right."""

import hashlib
import json
import tempfile
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import gramian
from fuzz.choices import strategy
from fuzz.outcomes import CLEAR, GOOD, MEMORY, UNCLEAR, WRONG, Outcome, is_clear
from gramian.files import ModelFileError
from gramian.rfm.options import TreePartition

MODELS = ("numbers", "frame", "classes", "tree", "two targets")
DAMAGE = ("cut", "longer", "flip", "zero", "swap")
CRAFT = ("value", "value", "value", "value", "key", "drop", "shape", "content", "dtype", "repeat", "text")
VALUES = (
    None, True, False, 0, -1, 1, 7, 2**31, 2**62, -(2**63), 2**80, 0.5, 1e308, -1e-300, "", "x", "median", "x" * 1000,
    [], [1, 2], {}, {"tuple": []}, {"tuple": [1, "a"]}, {"float": "nan"}, {"float": "inf"}, {"float": "x"},
    {"set": [1]}, {"dict": [["a", 1]]}, {"dict": [[{"object": 0}, 1]]}, {"object": 0}, {"object": 1},
    {"object": 10**9}, {"array": 0}, {"array": 1}, {"array": -1}, {"dtype": "<f8"}, {"dtype": "<U999999999"},
    {"scalar": ["<f4", 1]}, {"scalar": ["<U9", "a"]}, {"scalar": ["<M8[D]", 5]}, {"torch_dtype": "float16"},
    {"device": "cuda"}, {"slice": [0, 1, 2]}, {"call": ["os.system", "true"]}, {"tuple": [[[[[[[[1]]]]]]]]},
)  # fmt: skip
NUMBERS = ("F64", "F32", "F16", "I64", "I32", "U8", "BOOL")


@dataclass(frozen=True)
class FileCase:
    """A model, a way to change its file, and the numbers that say where and how."""

    model: str
    change: str
    where: int
    how: int
    again: int = 0


def file_case(choose):
    """Make a case from choices: damage in a third of cases, a crafted file in the others."""
    changes = choose.one([DAMAGE, CRAFT, CRAFT])
    numbers = (choose.whole(0, 2**32 - 1) for _ in range(2))
    return FileCase(choose.one(MODELS), choose.one(changes), *numbers, again=choose.one([0, 0, 0, 1, 2]))


file_cases = strategy(file_case)
"""The hypothesis strategy of files."""


@cache
def saved(name):
    """Return the content of a model's file, rows to predict, and their predictions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + X[:, 1] ** 2
    table = X
    options = {"preset": "fast", "n_rounds": 1}
    if name in ("frame", "classes"):
        table = pd.DataFrame({"size": X[:, 0], "colour": rng.choice(["red", "blue", "green"], 40)})
        table["when"] = np.datetime64("2024-01-01", "ns") + rng.integers(0, 500, 40).astype("m8[D]")
        table["grade"] = pd.Categorical(rng.choice(["low", "high"], 40), ["low", "high"], ordered=True)
        table["name"] = [f"n{k}" for k in rng.integers(0, 36, 40)]
        table.loc[::7, "size"] = np.nan
    if name == "classes":
        model = gramian.RFMClassifier(**options).fit(table, np.array(["no", "yes", "maybe"])[np.digitize(y, [0, 1])])
    elif name == "tree":
        table, y = np.tile(X, (5, 1)) + rng.normal(size=(200, 3)), np.tile(y, 5)
        options |= {"kernel": "gaussian", "update": "agop", "solver": TreePartition(leaf_rows=80)}
        model = gramian.RFMRegressor(**options).fit(table, y)
    else:
        model = gramian.RFMRegressor(**options).fit(table, np.column_stack([y, -y]) if name == "two targets" else y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.gramian")
        model.save(path)
        return path.read_bytes(), table, predictions(model, table)


def predictions(model, table):
    return model.predict_proba(table) if hasattr(model, "classes_") else model.predict(table)


def changed(case):
    """Return the content of the file of a case."""
    content = saved(case.model)[0]
    rng = np.random.default_rng([case.where, case.how])
    if case.change in DAMAGE:
        return _damaged(content, case.change, rng)
    head, body = _opened(content)
    arrays = {name: body[slice(*entry["data_offsets"])] for name, entry in head.items() if name != "__metadata__"}
    manifest = json.loads(head["__metadata__"]["gramian"])
    for _ in range(1 + case.again):
        _craft(manifest, head, arrays, case.change, rng)
    return _sealed(manifest, head, arrays)


def _damaged(content, change, rng):
    at = int(rng.integers(len(content)))
    if rng.random() < 0.3:
        at = int(rng.integers(min(64, len(content))))
    if change == "cut":
        return content[:at]
    if change == "longer":
        return content[:at] + rng.bytes(int(rng.integers(1, 50))) + content[at:]
    if change == "flip":
        return content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :]
    if change == "zero":
        return content[:at] + bytes(16) + content[at + 16 :]
    other = int(rng.integers(len(content)))
    return content[:at] + content[other : other + 32] + content[at + 32 :]


def _opened(content):
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def _craft(manifest, head, arrays, change, rng):
    places = list(_places(manifest))
    parent, key = places[int(rng.integers(len(places)))]
    if change == "value":
        parent[key] = json.loads(json.dumps(VALUES[int(rng.integers(len(VALUES)))]))
    elif change == "key" and isinstance(parent, dict):
        parent[f"{key}x" if rng.random() < 0.5 else "predict"] = parent.pop(key)
    elif change == "drop":
        del parent[key]
    elif change in ("text", "repeat") and not isinstance(manifest.get("arrays"), list):
        return
    elif change == "text":
        manifest["arrays"].append({"dtype": f"<U{10 ** int(rng.integers(2, 9))}", "shape": [1], "items": ["x"]})
        parent[key] = {"array": len(manifest["arrays"]) - 1}
    elif change == "repeat":
        numbers = [k for k, record in enumerate(manifest["arrays"]) if isinstance(record, dict) and "data" in record]
        first = len(manifest["arrays"])
        manifest["arrays"] += [dict(manifest["arrays"][numbers[int(rng.integers(len(numbers)))]])] * 200
        parent[key] = {"tuple": [{"array": k} for k in range(first, first + 200)]}
    elif change in ("shape", "content", "dtype"):
        name = sorted(arrays)[int(rng.integers(len(arrays)))]
        _craft_array(head, arrays, name, change, rng)


def _craft_array(head, arrays, name, change, rng):
    entry = head[name]
    if change == "shape":
        shapes = [
            [],
            [0],
            entry["shape"][::-1],
            [*entry["shape"], 1],
            [1, *entry["shape"]],
            [0, 2**60],
            [len(arrays[name])],
        ]
        entry["shape"] = shapes[int(rng.integers(len(shapes)))]
    elif change == "dtype":
        entry["dtype"] = NUMBERS[int(rng.integers(len(NUMBERS)))]
    elif arrays[name]:
        numbers = bytearray(arrays[name])
        at = int(rng.integers(len(numbers) // 8 or 1)) * 8
        special = [np.nan, np.inf, -1.0, 0.0, 1e300, 5e-324]
        number = np.float64(special[int(rng.integers(len(special)))]).tobytes()
        numbers[at : at + 8] = number[: len(numbers) - at]
        arrays[name] = bytes(numbers)


def _places(node):
    """Yield all places of a manifest: containers with a key or an index."""
    keys = list(node) if isinstance(node, dict) else range(len(node))
    for key in keys:
        yield node, key
        if isinstance(node[key], dict | list):
            yield from _places(node[key])


def _sealed(manifest, head, arrays):
    """Return a file whose arrays have the names of their content, and whose manifest has the right checksum."""
    names, entries, body = {}, {}, b""
    kinds = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
    for name, data in arrays.items():
        entry = head[name]
        sha = hashlib.sha256(f"{np.dtype(kinds.get(entry['dtype'], '<i2')).str}{tuple(entry['shape'])}".encode())
        sha.update(data)
        names[name] = sha.hexdigest()
        entries[names[name]] = entry | {"data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(manifest)
    for old, new in names.items():
        text = text.replace(old, new)
    manifest = json.loads(text)
    manifest.pop("sha256", None)
    rest = json.dumps(manifest, separators=(",", ":"))
    seal = f'{{"sha256":"{hashlib.sha256(rest.encode()).hexdigest()}",{rest[1:]}'
    packed = json.dumps({"__metadata__": {"gramian": seal}, **entries}).encode()
    return len(packed).to_bytes(8, "little") + packed + body


def judge(case, path, memory=None):
    """Load the file of a case and predict; ``memory`` measures the growth of the process in bytes."""
    _, table, expected = saved(case.model)
    content = changed(case)
    Path(path).write_bytes(content)
    allowed = 4 * len(content) + 200_000_000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = memory() if memory is not None else 0
        try:
            model = gramian.load(path)
        except ModelFileError as error:
            model, outcome = None, Outcome(CLEAR, str(error))
        except Exception as error:
            model, outcome = None, Outcome(UNCLEAR, f"load: {type(error).__name__}: {str(error)[:200]}")
        grown = memory() - start if memory is not None else 0
        if grown > allowed:
            return Outcome(MEMORY, f"{grown / 1e6:.0f} MB for a file of {len(content) / 1e6:.1f} MB")
        return outcome if model is None else _tried(case, model, table, expected)


def _tried(case, model, table, expected):
    try:
        found = predictions(model, table)
    except Exception as error:
        if is_clear(error):  # the file asks for other columns than the table has
            return Outcome(CLEAR, f"predict: {error}")
        return Outcome(UNCLEAR, f"predict: {type(error).__name__}: {str(error)[:200]}")
    same = found.shape == expected.shape and np.array_equal(found, expected)
    if case.change in DAMAGE and not same:
        return Outcome(WRONG, "a damaged file is read, and predicts something else")
    return Outcome(GOOD, "the same predictions" if same else "other predictions, as the file says")
