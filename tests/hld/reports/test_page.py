"""The frame of a page: what it may do, what it escapes, and files that are whole or as they were."""

import html
import re

import pytest
from pages import check_nesting, facts, table_rows

import pcircuit
from hld.reports import page

EVIL = "<script>alert('1')</script>\"&\x1b[31m"


def test_tables_have_all_cells_of_their_rows_escaped():
    shown = page.table(("a", "b", "c"), [("<x>", 1, "&"), ("y", 3, 4)])
    assert '<tr><th scope="row">&lt;x&gt;</th><td>1</td><td>&amp;</td></tr>' in shown
    assert '<tr><th scope="row">y</th><td>3</td><td>4</td></tr>' in shown


def test_a_page_holds_its_sections_and_may_fetch_and_run_nothing():
    text = page.page(EVIL, ["<p>one</p>", "", "<p>two</p>"])
    check_nesting(text)
    assert "<p>one</p>\n\n<p>two</p>" in text
    assert html.unescape(re.search(r"<title>(.*?)</title>", text)[1]) == EVIL.replace(
        "\x1b", r"\x1b"
    )
    policy = dict(
        part.strip().split(" ", 1)
        for part in re.search(r'Policy" content="(.*?)"', text)[1].split(";")
    )
    assert policy == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert text.index("Content-Security-Policy") < text.index("<style>")


def test_names_and_values_of_facts_are_escaped():
    text = page.facts([(EVIL, EVIL), ("rows", "1,000")])
    check_nesting(text)
    shown = EVIL.replace("\x1b", r"\x1b")
    assert facts(text) == {shown: shown, "rows": "1,000"}


def test_the_first_cell_of_a_row_is_its_heading_and_a_table_may_be_empty():
    text = page.table(("name", "p"), [(EVIL, "0.1"), ("b", "0.2")])
    check_nesting(text)
    assert table_rows(text) == [["name", "p"], [EVIL.replace("\x1b", r"\x1b"), "0.1"], ["b", "0.2"]]
    assert re.findall(r'<th scope="(\w+)">', text) == ["col", "col", "row", "row"]
    assert table_rows(page.table(("name", "p"), [])) == [["name", "p"]]


@pytest.mark.parametrize(
    ("digest", "last"), [("ab12", "# SHA-256 of the model file: ab12"), (None, None)]
)
def test_what_gives_the_numbers_again_is_a_line_each(digest, last):
    text = page.reproduction(["hld test 'a & b'", EVIL], ", null exact", digest)
    check_nesting(text)
    lines = html.unescape(re.search(r"<pre>(.*)</pre>", text, re.DOTALL)[1]).split("\n")
    assert lines == [
        "hld test 'a & b'",
        EVIL.replace("\x1b", r"\x1b"),
        f"# hld {pcircuit.__version__}, null exact",
        *([] if last is None else [last]),
    ]


def test_lines_are_kept_and_each_is_escaped():
    assert page.escaped_lines("a<\n\x07b\n") == "a&lt;\n\\x07b\n"


def test_a_file_is_written_whole_in_utf_8_or_stays_as_it_was(tmp_path):
    path = tmp_path / "page.html"
    page.write_page("größer → \U0001f600", str(path))
    assert path.read_bytes().decode("utf-8") == "größer → \U0001f600"
    with pytest.raises(UnicodeEncodeError):
        page.write_page("\ud800", str(path))
    assert path.read_bytes().decode("utf-8") == "größer → \U0001f600"
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]
