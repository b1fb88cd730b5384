"""The encoding of a text file, from its first bytes."""

from __future__ import annotations

import codecs

_MARKS = (  # that of UTF-16 is the beginning of that of UTF-32
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_UNMARKED = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")


def text_encoding(start: bytes) -> str:
    r"""Return the encoding of a text of several lines, given its first bytes; ``"utf-8"`` if they do not tell.

    A byte order mark decides, as spreadsheets write it for UTF-16. Without one, text with zero bytes is in the form of
    UTF-16 or UTF-32 in which it has no zero letter, and in which most bytes of a line break are line breaks.

    Raises
    ------
    ValueError
        If there are zero bytes, and no encoding explains them.

    >>> text_encoding("x,y\n1,2\n".encode("utf-16")), text_encoding("x,y\n1,2\n".encode("utf-16-be"))
    ('utf-16', 'utf-16-be')
    """
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name
    if b"\0" not in start:
        return "utf-8"
    whole = start[: len(start) - len(start) % 4]  # the incremental decoder accepts half a pair at the end
    for name in _UNMARKED:
        try:
            text = codecs.getincrementaldecoder(name)().decode(whole)
        except UnicodeDecodeError:
            continue
        if "\0" not in text and _breaks(text.encode("latin-1", "replace")) > _breaks(whole) / 2:
            return name
    raise ValueError("it holds zero bytes, so it is no text in UTF-8, UTF-16 or UTF-32")


def _breaks(content: bytes) -> int:
    return content.count(b"\n") + content.count(b"\r")
