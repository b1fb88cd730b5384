"""Is it a page? Elements that close, ids that are unique, addresses that stay within the file."""

import re
from html.parser import HTMLParser

VOID = {"meta", "img", "input", "link", "br"}


class Checker(HTMLParser):
    """Follows the elements; remembers addresses, ids, text and the attributes of every element."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.ids, self.elements, self.texts = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.addresses += [found[key] for key in ("src", "href") if key in found]
        self.ids += [found["id"]] if "id" in found else []
        self.elements.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def check(text):
    """The page's elements, once it is shown to be one file that is well formed and needs nothing else."""
    checker = Checker()
    checker.feed(text.replace("<wbr>", ""))  # a place where a long name may break, and no text
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    for address in checker.addresses:  # within the page
        assert address.startswith(("data:image/", "data:,")) or address[1:] in checker.ids, address
    assert "http" not in re.sub(r"data:image/[^\"]+", "", text)
    for tag, attributes in checker.elements:
        for key in ("aria-labelledby", "aria-controls", "for"):
            assert key not in attributes or attributes[key] in checker.ids, (tag, attributes)
        if tag == "img":
            assert attributes["alt"]
        if tag == "svg":
            assert attributes["aria-label"]
        if tag == "th":
            assert attributes["scope"] in ("row", "col", "colgroup")
    return checker
