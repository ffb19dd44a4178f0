"""What tests of pages share: the cells of their tables as text, and whether tags are closed where they were opened."""

import html
import re
from html.parser import HTMLParser

VOID = {"meta"}  # elements without an end


def table_rows(text):
    """Rows of all tables of a page, each a list of what its cells show."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", text, re.DOTALL)
    return [
        [
            html.unescape(re.sub(r"<[^>]*>", "", cell))
            for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)
        ]
        for row in rows
    ]


def facts(text):
    """The definitions at the top of a page."""
    return {
        html.unescape(name): html.unescape(value)
        for name, value in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text)
    }


def check_nesting(text):
    """Raise unless every element that is opened is closed, the last one first."""
    opened = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag not in VOID:
                opened.append(tag)

        def handle_startendtag(self, tag, attrs):
            pass

        def handle_endtag(self, tag):
            assert opened.pop() == tag, (tag, self.getpos())

    reader = Reader()
    reader.feed(text)
    reader.close()
    assert opened == []
