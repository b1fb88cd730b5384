"""The list of experiments in a file is that of the registered experiments."""

import json

import pytest

from gramian.experiments import papers
from gramian.experiments.index import check_patterns, read_index


def test_the_file_lists_the_registered_experiments():
    registered = {experiment.id: experiment.title for experiment in papers.load()}
    known = {id: title for id, title in registered.items() if id[0].upper() in papers.PAPERS}
    assert dict(read_index()) == known, f"write this to index.json: {json.dumps(known, indent=1, ensure_ascii=False)}"


def test_patterns_match_ids():
    check_patterns(["d/table2", "a/*", "*/fig1"], read_index())
    with pytest.raises(ValueError, match=r"no experiment matches 'd/tabel2'; did you mean d/table2"):
        check_patterns(["a/*", "d/tabel2"], read_index())
    with pytest.raises(ValueError, match=r"matches 'qqqqq'; gramian reproduce --list"):
        check_patterns(["qqqqq"], read_index())
