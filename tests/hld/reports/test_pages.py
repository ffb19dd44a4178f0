"""Pages: nothing is fetched, all foreign text is escaped, and a browser lays them out for a phone and a desk."""

import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from browser import browser

import hld
from hld.reports import page
from hld.reports.batch_report import batch_report
from hld.reports.quality import sample_quality
from hld.reports.quality_report import quality_report
from hld.reports.segments_report import segments_report
from hld.reports.style import STYLE

pytestmark = pytest.mark.thorough

EVIL = "<script>alert(1)</script>\"'&\x1b[31m"
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
            EVIL: np.array([EVIL, "価格" * 12, "a very long level " * 6])[kind],
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
    batch.loc[:30, EVIL] = None
    calm, days = table(rng, 300), [f"2026-0{1 + i % 3}-1{i % 10}" for i in range(300)]
    names = {"batch_name": EVIL, "model_name": EVIL, "commands": [EVIL], "digest": "0" * 64}
    quality = sample_quality(detector, detector.sample(200, rng=0), real=calm, training=training)
    return {
        "shift": batch_report(detector, detector.test(batch), **names),
        "calm": batch_report(detector, detector.test(calm, 1e-6), **names),
        "segments": segments_report(detector, detector.test_by(batch, days), **names),
        "labels": segments_report(
            detector, detector.test_by(batch, [EVIL, "x", "y"] * 100), **names
        ),
        "drawn": quality_report(quality, model_name=EVIL),
    }


@pytest.mark.parametrize("name", ["shift", "calm", "segments", "labels", "drawn"])
def test_pages_hold_no_foreign_code_and_fetch_nothing(pages, name):
    text = pages[name]
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert "\x1b" not in text
    assert "&lt;script&gt;" in text
    assert not re.search(r"(src|href|action)\s*=", text)
    assert not re.search(r"url\(|@import|https?://", text)


def test_pages_say_what_was_found(pages):
    assert "<h1>Shift found</h1>" in pages["shift"]
    assert "Dependence" in pages["shift"]
    assert "level not seen in training" in pages["shift"]
    assert "<h1>No shift found</h1>" in pages["calm"]
    assert "this batch" in pages["calm"]
    assert "3 segments shifted" in pages["labels"] or "of 3 segments" in pages["labels"]
    assert 'class="calendar"' in pages["segments"]
    assert "print" in STYLE
    assert "prefers-color-scheme: dark" in STYLE


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


PRINTED = """(() => { const style = (q, name) => [...new Set([...document.querySelectorAll(q)].map(
    e => getComputedStyle(e)[name]))].join();
  return {inside: style('tr, svg, .card, .verdict, .facts, .segments', 'breakInside'), head: style('thead', 'display'),
    after: style('h1, h2, h3, .card header, summary', 'breakAfter'), places: style('body *', 'position'),
    clipped: style('.scroll, .heats > div', 'overflow'), ink: style('body', 'color'),
    folded: [...document.querySelectorAll('details > :not(summary)')].filter(
      e => !e.getBoundingClientRect().height).length,
    grounds: [...new Set([...document.querySelectorAll('html, body, .card, .verdict, pre')].map(
      e => getComputedStyle(e).backgroundColor))].filter(c => !['rgba(0, 0, 0, 0)', 'rgb(255, 255, 255)'].includes(c)),
    page: [...document.styleSheets[0].cssRules].filter(r => r instanceof CSSPageRule).map(r => r.style.margin).join(),
    probe: document.title}; })()"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_pages_are_printed_on_white_and_nothing_is_cut(pages, tmp_path):
    """For a screen that is dark; paper of A4 has 688 CSS pixels between margins of 14 mm."""
    with browser(tmp_path / "browser", width=688, dark=True) as shown:
        shown.send(
            "Emulation.setDeviceMetricsOverride",
            width=688,
            height=1000,
            deviceScaleFactor=1,
            mobile=False,
        )
        for media in ("screen", "print"):
            shown.send(
                "Emulation.setEmulatedMedia",
                media=media,
                features=[{"name": "prefers-color-scheme", "value": "dark"}],
            )
            for name in ("shift", "segments"):
                text = re.sub(r"<meta http-equiv[^>]*>", "", pages[name]).replace(
                    "</body>", PROBE + "</body>"
                )
                (tmp_path / "page.html").write_text(text, encoding="utf-8")
                shown.open((tmp_path / "page.html").as_uri())
                found = shown.run(PRINTED)
                probe = json.loads(found.pop("probe"))
                if media == "screen":
                    assert found["grounds"]  # which is dark: the probe sees it
                    continue
                assert probe["poor"] == []
                assert probe["width"] <= probe["window"] == 688
                assert found == {
                    "inside": "avoid",
                    "head": "table-header-group",
                    "after": "avoid",
                    "places": "static",
                    "clipped": "visible",
                    "ink": "rgb(0, 0, 0)",
                    "folded": 0,
                    "grounds": [],
                    "page": "16mm 14mm",
                }


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_name_of_thousands_of_letters_does_not_move_the_numbers_off_the_screen(tmp_path):
    text = page.page("long", [page.table(("column", "p-value"), [("c" * 3000, 0.5), ("age", 0.2)])])
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    with browser(tmp_path / "browser", width=1000) as shown:
        shown.open((tmp_path / "page.html").as_uri())
        width, least = shown.run("""[Math.max(...[...document.querySelectorAll('td')].map(
            e => e.getBoundingClientRect().right)), document.querySelectorAll('tbody th')[1].offsetWidth]""")
    assert width <= 1000
    assert least >= 96  # pixels: the names do not become columns of single letters


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_browser_finds_what_is_too_wide_and_too_pale(pages, tmp_path):
    wrong = (
        '<p style="color:#999;background:#fff;width:900px;max-width:none">pale</p>'
        '<svg viewBox="0 0 100 9"><text x="-9" y="9">outside</text></svg></main>'
    )
    found = seen(pages["calm"].replace("</main>", wrong), 500, "light", tmp_path)
    assert found["width"] >= 900
    assert len(found["poor"]) == 1
    assert found["cut"] == ["outside"]


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


@pytest.mark.parametrize(("num_columns", "others"), [(6, ""), (8, " and 2 more")])
def test_six_columns_that_moved_are_named_and_the_others_counted(num_columns, others):
    rng, names = np.random.default_rng(0), list("abcdefgh")[:num_columns]
    training = pd.DataFrame({name: rng.integers(2, size=300) for name in names})
    detector = hld.HLDDetector(
        num_epochs=1, num_latents=2, metric="likelihoods", num_resamples=19
    ).fit(training)
    text = batch_report(detector, detector.test(training[:100] * 0))
    listed, more = re.search(r"learned\. Moved: (\w(?:, \w)*)(.*?)\.</p>", text).groups()
    named = listed.split(", ")
    assert (len(set(named)), set(named) <= set(names), more) == (6, True, others)


@pytest.mark.parametrize(("other", "agreement"), [([0, 1], 1.0), ([1, 1], 0.5), ([1, 0], 0.0)])
def test_one_row_agrees_with_one_row_where_they_are_equal(other, agreement):
    training = np.random.default_rng(0).integers(2, size=(100, 2))
    detector = hld.HLDDetector(
        num_epochs=1, num_latents=2, metric="likelihoods", num_resamples=19
    ).fit(training)
    found = sample_quality(detector, np.array([[0, 1]]), real=np.array([other]))
    assert found.shape == agreement
    assert found.trend == (agreement == 1.0)
