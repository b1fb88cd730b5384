"""Files that a hostile writer could make are refused, in memory and time that follow from their size."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gramian.rfm.serialization  # noqa: F401 (it registers types)
from gramian.files import ModelFileError, read, write
from model_files import forge, refused, rewrite

LIMIT = """
import os, sys, time
from pathlib import Path
import gramian.rfm.serialization
from gramian.files import ModelFileError, read
def peak():  # ru_maxrss would be that of the test process where it is larger
    return int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) * 1024
base = peak()
for path in sys.argv[1:]:
    allowed = 4 * os.path.getsize(path) + 200_000_000
    start = time.process_time()
    try:
        value = read(path)
    except ModelFileError as error:
        value = None
    used = peak() - base
    assert used <= allowed, f"{path}: {used / 1e6:.0f} MB of {allowed / 1e6:.0f}"
    assert time.process_time() - start < 20
    print("refused" if value is None else "read")
    del value
"""


def text_array(m, dtype, items):
    m["arrays"] = [{"dtype": dtype, "shape": [items], "items": ["x"] * items}]
    m["value"] = {"array": 0}


def chain(m):
    """Objects that each refer twice to the one before: 2⁶⁰ references."""
    kinds = {"type": "rfm.Ensemble", "state": {"machines": {"tuple": []}, "shares": {"tuple": []}}}
    m["objects"] = [kinds]
    for k in range(60):
        pair = {"tuple": [{"object": k}, {"object": k}]}
        m["objects"].append({"type": "tables.TableEncoder", "state": {"columns_": pair}})
    m["value"] = {"object": 60}


HEAVY = {
    "one long text": lambda m: text_array(m, "<U500000000", 1),
    "four long texts": lambda m: text_array(m, "<U200000000", 4),
    "one array a hundred times": lambda m: m.update(
        arrays=[m["arrays"][0]] * 100, value=[{"array": k} for k in range(100)]
    ),
    "many small values": lambda m: m.update(value=[{"tuple": []}] * 1_000_000),
    "equal hashes": lambda m: m.update(value={"set": [k * (2**61 - 1) for k in range(1, 60_000)]}),
    "references to references": chain,
    "deep nesting": lambda m: m.update(value=eval("[" * 90 + "]" * 90)),
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells a process's own peak")
def test_memory_and_time_follow_from_the_size_of_the_file(tmp_path):
    paths = [tmp_path / f"{attack}.gramian" for attack in HEAVY]
    for path, change in zip(paths, HEAVY.values(), strict=True):
        write(np.arange(500_000.0), path)
        forge(path, change)
    done = subprocess.run([sys.executable, "-c", LIMIT, *paths], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr[-2000:]
    expected = ["read" if attack in ("one array a hundred times", "deep nesting") else "refused" for attack in HEAVY]
    assert done.stdout.split() == expected


def test_nesting_beyond_the_limit_of_the_interpreter(path):
    rewrite(path, lambda text: text.replace(b'"value":', b'"value":' + b"[" * 50_000 + b"]" * 50_000 + b',"rest":', 1))
    refused(path, "checksum|cannot be read")


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity"])
def test_numbers_that_json_does_not_have(path, number):
    rewrite(path, lambda text: text.replace(b"0.5", number, 1))
    refused(path, "checksum")


@pytest.mark.parametrize("written", [0, -1, "1", None, True, 4.0, [4], {}])
def test_an_unknown_format_is_refused(path, written):
    forge(path, lambda m: m.update(format=written))
    refused(path, "has the format .*, which no gramian has written")


@pytest.mark.parametrize("device", [{}, [], 3, None])
def test_a_device_that_is_no_name(path, device):
    forge(path, lambda m: m.update(device=device))
    refused(path, "is no device")


def header(path, change):
    """Change the header of the file, outside the manifest."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + length])
    change(head)
    text = json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


def first(head):
    return next(value for name, value in head.items() if name != "__metadata__")


@pytest.mark.parametrize(
    "change",
    [
        lambda head: first(head).update(shape=[0, 2**60]),
        lambda head: first(head).update(shape=[2**63]),
        lambda head: first(head).update(shape=[-1]),
        lambda head: first(head).update(shape=[1.0]),
        lambda head: first(head).update(shape="ab"),
        lambda head: first(head).update(dtype="F16"),
        lambda head: first(head).update(dtype={}),
        lambda head: first(head).update(data_offsets=[0, 2**40]),
        lambda head: first(head).update(data_offsets=[8, 8008]),
        lambda head: first(head).update(more=1),
        lambda head: head.update(empty={"dtype": "F64", "shape": [0, 2**60], "data_offsets": [0, 0]}),
        lambda head: head.update(empty=7),
        lambda head: head["__metadata__"].update(more="text"),
    ],
    ids=range(13),
)
def test_a_header_that_disagrees_with_the_file(path, change):
    header(path, change)
    refused(path, "cut short or damaged")


def test_a_manifest_that_is_no_text_is_not_one_of_gramian(path):
    header(path, lambda head: head.update(__metadata__={"gramian": 7}))
    refused(path, "not one of gramian")


def test_attributes_of_the_class_itself_cannot_be_replaced(path):
    for name in ("transform", "__class__", "_read"):
        record = {"type": "tables.TableEncoder", "state": {name: 7}}
        forge(path, lambda m, record=record: m.update(objects=[record], value={"object": 0}))
        refused(path, f"an attribute '{name}'")


@pytest.mark.parametrize(
    "state",
    [{"X": 1}, {"X": {"array": 0}}, {"X": {"array": 1}, "name": 3}, {"X": None}],
)
def test_a_field_of_another_type_is_refused(path, known, state):
    """The first array of the file is one of NumPy, the second a tensor."""
    record = {"type": "tests.Leaf", "state": state}
    forge(path, lambda m: m.update(objects=[record], value={"object": 0}))
    refused(path, r"Leaf\.(X|name) is not of type")


def test_special_files_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        read(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        read(tmp_path)
