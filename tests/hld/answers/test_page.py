"""The frame of a page: what it may do, what it escapes, and files that are whole or as they were."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from pages import check_nesting, facts, table_rows

import hld
import pcircuit
from hld.answers import reports
from hld.answers.reports import batch_report, segments_report

EVIL = "<script>alert('1')</script>\"&\x1b[31m"


def test_a_page_holds_its_sections_and_may_fetch_and_run_nothing():
    text = reports.page(EVIL, ["<p>one</p>", "", "<p>two</p>"])
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


def test_names_and_values_of_the_verdict_are_escaped():
    text = reports.verdict(EVIL, EVIL, True, [EVIL], {EVIL: EVIL, "rows": "1,000"})
    check_nesting(text)
    shown = EVIL.replace("\x1b", r"\x1b")
    assert facts(text) == {shown: shown, "rows": "1,000"}
    assert html.unescape(re.sub(r"<[^>]*>", "", text)).count(shown) == 5


def test_the_first_cell_of_a_row_is_its_heading_and_a_table_may_be_empty():
    text = reports.table(("name", "p"), [(EVIL, "0.1"), ("b", "0.2")])
    check_nesting(text)
    assert table_rows(text) == [["name", "p"], [EVIL.replace("\x1b", r"\x1b"), "0.1"], ["b", "0.2"]]
    assert re.findall(r'<th scope="(\w+)"', text) == ["col", "col", "row", "row"]
    assert table_rows(reports.table(("name", "p"), [])) == [["name", "p"]]


@pytest.mark.parametrize(
    ("digest", "last"), [("ab12", "# SHA-256 of the model file: ab12"), (None, None)]
)
def test_what_gives_the_numbers_again_is_a_line_each(digest, last):
    text = reports.reproduction(["hld test 'a & b'", EVIL], ", null exact", digest)
    check_nesting(text)
    lines = html.unescape(re.search(r"<pre>(.*)</pre>", text, re.DOTALL)[1]).split("\n")
    assert lines == [
        "hld test 'a & b'",
        EVIL.replace("\x1b", r"\x1b"),
        f"# hld {pcircuit.__version__}, null exact",
        *([] if last is None else [last]),
    ]


def test_a_file_is_written_whole_in_utf_8_or_stays_as_it_was(tmp_path):
    path = tmp_path / "page.html"
    reports.write_page("größer → \U0001f600", str(path))
    assert path.read_bytes().decode("utf-8") == "größer → \U0001f600"
    with pytest.raises(UnicodeEncodeError):
        reports.write_page("\ud800", str(path))
    assert path.read_bytes().decode("utf-8") == "größer → \U0001f600"
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


pytestmark = pytest.mark.thorough

MARKUP = "<script>alert(1)</script>\"'&\x1b[31m"
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
# elements wider than the window, texts of too little contrast with what lies behind them, texts outside their picture
PROBE = """<script>addEventListener('load', () => {
  const rgb = c => c.match(/[\\d.]+/g).map(Number), lum = c => { const [r, g, b] = rgb(c).map(v => v / 255).map(
    v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (rgb(c).length < 4 || rgb(c)[3] > .99) return c; } return 'rgb(255,255,255)'; };
  const poor = [];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    if (e.closest('svg')) { var c = getComputedStyle(e).fill, back = behind(e.closest('svg').parentElement); }
    else { c = getComputedStyle(e).color; back = behind(e); }
    const [a, b] = [lum(c), lum(back)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) poor.push(e.tagName + ' ' + ratio.toFixed(2) + ' ' + c + ' on ' + back);
  }
  const cut = [...document.querySelectorAll('svg text')].filter(e => { const a = e.getBoundingClientRect(),
    b = e.closest('svg').getBoundingClientRect(); return a.width && (a.left < b.left - .5 || a.right > b.right + .5);
    }).map(e => e.firstChild.data);
  document.title = JSON.stringify({width: document.documentElement.scrollWidth, window: innerWidth, poor, cut});
});</script>"""


def table(rng, number, shift=0.0):
    kind = rng.integers(0, 3, number)
    return pd.DataFrame(
        {
            MARKUP: np.array([MARKUP, "価格" * 12, "a very long level " * 6])[kind],
            "number" * 20: rng.normal(3 * kind) + shift,
            "k": kind,
        }
    )


@pytest.fixture(scope="module")
def pages():
    rng = np.random.default_rng(0)
    training = table(rng, 500)
    detector = hld.HLDDetector(num_epochs=5, num_latents=3).fit(training)
    batch = table(rng, 300, 4.0)
    batch["k"] = rng.permutation(batch["k"])
    batch.loc[:30, MARKUP] = None
    calm, days = table(rng, 300), [f"2026-0{1 + i % 3}-1{i % 10}" for i in range(300)]
    names = {"batch_name": MARKUP, "model_name": MARKUP, "commands": [MARKUP], "digest": "0" * 64}
    return {
        "shift": batch_report(detector, detector.test(batch), **names),
        "calm": batch_report(detector, detector.test(calm, 1e-6), **names),
        "segments": segments_report(detector, detector.test_by(batch, days), **names),
        "labels": segments_report(
            detector, detector.test_by(batch, [MARKUP, "x", "y"] * 100), **names
        ),
    }


@pytest.mark.parametrize("name", ["shift", "calm", "segments", "labels"])
def test_pages_hold_no_foreign_code_and_fetch_nothing(pages, name):
    text = pages[name]
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert "\x1b" not in text
    assert "&lt;script&gt;" in text
    assert not re.search(r"(src|href|action)\s*=", text)
    assert not re.search(r"url\(|@import|https?://", text)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("shift", 500, "light"), ("shift", 1280, "dark"), ("segments", 500, "dark")],
)
def test_a_browser_lays_pages_out(pages, name, width, scheme, tmp_path):
    """No page is wider than the window, no text than its picture, and every text has a contrast of at least 4.5."""
    found = seen(pages[name], width, scheme, tmp_path)
    assert found["width"] <= found["window"] <= width
    assert found["poor"] == []
    assert found["cut"] == []


def seen(page, width, scheme, folder):
    """What a browser says of a page: its width, and the texts of too little contrast."""
    text = re.sub(r"<meta http-equiv[^>]*>", "", page).replace("</body>", PROBE + "</body>")
    if scheme == "dark":
        text = text.replace("prefers-color-scheme: dark", "min-width: 1px")
    (folder / "page.html").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder}/browser",
            f"--window-size={width},900",
            "--dump-dom",
            (folder / "page.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(re.search(r"<title>(.*?)</title>", done.stdout, re.S)[1].replace("&gt;", ">"))
