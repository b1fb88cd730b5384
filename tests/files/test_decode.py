"""Manifests that a malicious writer could make are refused."""

import pytest

from model_files import forge, refused


def test_an_object_of_an_unknown_type_is_not_created(path):
    forge(path, lambda m: (m["objects"].append({"type": "os.system", "state": {}}), m.update(value={"object": 0})))
    refused(path, "an object of type 'os.system', which gramian .* does not know.*use that version, or a newer one")


@pytest.mark.parametrize(
    "value",
    [
        {"call": ["os.system", "true"]},
        {"object": 99},
        {"array": -7},
        {"scalar": ["O", 1]},
        {"scalar": ["V8", 1]},
        {"dtype": "V8,V8"},
        {"torch_dtype": "load"},
        {"dict": [[["unhashable"], 1]]},
        {"tuple": 3},
        {"float": "many"},
        {},
        {"tuple": [], "list": []},
    ],
    ids=str,
)
def test_an_invalid_manifest_with_a_right_checksum_is_refused(path, value):
    forge(path, lambda m: m.update(value=value))
    refused(path, "cannot be read by gramian|does not know")


def test_an_object_made_of_itself_is_refused(path, known):
    record = {"type": "tests.Box", "state": {"a": {"object": 0}}}
    forge(path, lambda m: (m["objects"].append(record), m.update(value={"object": 0})))
    refused(path, "cannot be read by gramian")
