"""The store in a file of JSON lines."""

import json
import logging

from gramian.bench.cell import cells
from gramian.records import LinesStore


def test_records_are_appended_and_the_last_of_a_key_counts(tmp_path):
    first, second = cells("sklearn", ["SVM"], ["iris"], splits=2)
    store = LinesStore(tmp_path / "deep" / "results.jsonl")
    assert store.all() == []
    for value in (1, 2):
        store.put(first.head() | {"score": value, "error": None})
    assert [record["score"] for record in store.all()] == [1, 2]
    assert store.get(first)["score"] == 2
    assert store.get(second) is None
    assert set(store.find([first, second])) == {first.key}


def test_a_line_cut_short_is_skipped_and_the_next_record_starts_a_new_line(tmp_path, caplog):
    path = tmp_path / "results.jsonl"
    path.write_text('{"key": "a", "error": null}\n{"key": "b", "err')
    store = LinesStore(path)
    store.put({"key": "c", "error": None})
    with caplog.at_level(logging.WARNING, logger="gramian"):
        assert [record["key"] for record in store.all()] == ["a", "c"]
    assert "line 2 is not a whole record" in caplog.text
    assert json.loads(path.read_text().splitlines()[2])["key"] == "c"


def test_a_line_with_bytes_that_are_no_text_is_skipped(tmp_path, caplog):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"key": "a"}\n\xff\xfe\n')
    with caplog.at_level(logging.WARNING, logger="gramian"):
        assert [record["key"] for record in LinesStore(path).all()] == ["a"]
    assert "line 2 is not a whole record" in caplog.text
