"""Encodings are recognised by a byte order mark, or by zero bytes."""

import codecs

import pytest

from gramian.tables.text_encoding import text_encoding

TEXTS = ["x,y\n" + "1,2\n" * 3, "Größe;Ort\r\n1;Zürich\r\n", "名前,値\n" + "東京,1\n" * 3, "a🦆,b\n1,2\n3,4\n"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", *(
    f"utf-{bits}-{order}" for bits in (16, 32) for order in ("le", "be"))])  # fmt: skip
def test_the_text_is_decoded_as_it_was_encoded(text, encoding):
    content = text.encode(encoding)
    assert content.decode(text_encoding(content)) == text
    odd = content[: len(content) - 1]  # the first bytes of a longer file may end anywhere
    assert text_encoding(odd) == text_encoding(content)


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE])
def test_marks_of_the_other_byte_order(mark):
    name = "utf-16-be" if len(mark) == 2 else "utf-32-be"
    content = mark + TEXTS[0].encode(name)
    assert content.decode(text_encoding(content)) == TEXTS[0]


def test_zero_bytes_that_are_no_text():
    with pytest.raises(ValueError, match="zero bytes"):
        text_encoding(b"x,y\n1,\x00\n")
