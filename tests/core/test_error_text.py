"""Errors on one line, without folders."""

from gramian.core.error_text import one_line, without_folders


def test_errors_are_one_line_without_folders():
    assert one_line(ValueError("x" * 400), longest=50).endswith("x…")
    assert without_folders("in /a/b/c.txt, mnist/x.gz, C:\\here\\d.csv, 1/2 and a / b") == (
        "in c.txt, mnist/x.gz, d.csv, 1/2 and a / b"
    )
