"""gramian info as a user runs it."""

import json

import gramian


def test_versions_and_threads_are_shown(run):
    text = run("info").output
    assert gramian.__version__ in text
    assert "torch" in text
    assert "threads" in text


def test_the_json_record_has_packages_and_memory(run):
    facts = json.loads(run("info", "--json").output)
    assert facts["gramian"] == gramian.__version__
    assert facts["packages"]["torch"]
    assert facts["free_bytes"] >= facts["budget_bytes"] > 0
