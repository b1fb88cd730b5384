"""HTML elements: escaped attributes and text, and elements without content."""

from gramian.display import tag, text


def test_text_and_attributes_are_escaped():
    assert text("<a> & 'b'") == "&lt;a&gt; &amp; &#x27;b&#x27;"
    assert tag("p", title='"<') == '<p title="&quot;&lt;"></p>'


def test_elements_of_svg_close_themselves_if_they_are_empty():
    assert tag("rect", x=1) == '<rect x="1"/>'
    assert tag("path", tag("title", "t")) == "<path><title>t</title></path>"


def test_false_and_none_omit_an_attribute():
    assert tag("p", hidden=False, id=None, data_value=0) == '<p data-value="0"></p>'
