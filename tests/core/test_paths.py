"""Checks of paths: errors that suggest a file, and results that never overwrite what is used."""

import pytest

from gramian.core.paths import check_exists, check_writable


def test_a_file_that_exists_is_accepted(tmp_path):
    (tmp_path / "a.csv").write_text("")
    check_exists(tmp_path / "a.csv", "hint")


def test_a_similar_name_is_suggested_else_the_hint_is_given(tmp_path):
    (tmp_path / "houses.csv").write_text("")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*house\.csv; did you mean 'houses\.csv'\?"):
        check_exists(tmp_path / "house.csv", "hint")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*xyz; a hint"):
        check_exists(tmp_path / "xyz", "a hint")


@pytest.mark.parametrize(
    ("name", "other"), [("nope.csv", "visits.csv"), ("a.csv", "b.csv"), ("t.gramian", "m.gramian")]
)
def test_names_that_share_only_their_suffix_are_not_similar(tmp_path, name, other):
    (tmp_path / other).write_text("")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*; a hint"):
        check_exists(tmp_path / name, "a hint")


def test_a_folder_is_not_a_file(tmp_path):
    for check in (lambda: check_exists(tmp_path, "hint"), lambda: check_writable(tmp_path)):
        with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
            check()


def test_a_result_needs_a_folder(tmp_path):
    check_writable(tmp_path / "new.csv", None, tmp_path / "other.csv")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        check_writable(tmp_path / "no" / "new.csv")


def test_links_of_both_kinds_are_the_same_file(tmp_path):
    used = tmp_path / "used.csv"
    with pytest.raises(ValueError, match="would be written over"):
        check_writable(tmp_path / "." / "used.csv", used)  # although neither exists
    used.write_text("")
    (tmp_path / "hard.csv").hardlink_to(used)
    (tmp_path / "soft.csv").symlink_to(used)
    for name in ("hard.csv", "soft.csv"):
        with pytest.raises(ValueError, match="would be written over"):
            check_writable(tmp_path / name, used)
