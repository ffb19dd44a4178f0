"""The page in a real browser: a batch is pasted with the keyboard alone, the verdict is spoken, the picture moves."""

import re

import pytest
from browser import CHROMIUM, browser
from live_server import Client, csv_bytes, served

from hld.apps.serve.app import description, page, policy
from hld.apps.serve.limits import Limits

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]
TOKEN = "a-token-of-the-tests"
# texts whose contrast with what lies behind them is too small, and the width of the page
PROBE = """(() => {
  const rgb = c => c.match(/[\\d.]+/g).map(Number), lum = c => { const [r, g, b] = rgb(c).map(v => v / 255).map(
    v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (rgb(c).length < 4 || rgb(c)[3] > .99) return c; } return 'rgb(255,255,255)'; };
  const poor = [];
  for (const e of document.querySelectorAll('body *')) {
    if (e.offsetParent === null && !e.closest('svg')) continue;
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.localName === 'title') continue;
    const s = getComputedStyle(e), own = lum(e.closest('svg') ? s.fill : s.color);
    const [a, b] = [own, lum(behind(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) poor.push(e.tagName + ' ' + e.textContent.slice(0, 30));
  }
  return {wide: document.documentElement.scrollWidth > innerWidth, poor};
})()"""


def tab_to(page, name):
    """Press Tab until an element has the focus."""
    for _ in range(30):
        if page.run("document.activeElement.id") == name:
            return
        page.press("Tab")
    raise AssertionError(f"the keyboard does not reach {name}")


def test_a_person_with_a_keyboard_and_a_screen_reader(shop, tmp_path):
    with (
        served({"orders": shop["orders"], "other": shop["other"]}) as (address, _),
        browser(tmp_path) as page,
    ):
        page.open(address)
        page.until("document.querySelectorAll('#model option').length === 2")
        tab_to(page, "text")
        page.write(csv_bytes(shop["moved"]).decode())
        tab_to(page, "go")
        page.press("Enter")
        page.until("document.querySelector('.verdict')")
        spoken = page.spoken()
        assert ("heading", "Shift found") in spoken
        assert page.run("document.activeElement.className") == "verdict shift"
        assert ("rowheader", "income") in spoken
        assert any(
            role in ("image", "img") and name.startswith("expected: <b>blue ")
            for role, name in spoken
        )
        assert {"textbox", "button", "combobox", "rowheader", "columnheader", "main"} <= {
            role for role, _ in spoken
        }
        assert all(
            name
            for role, name in spoken
            if role in ("textbox", "button", "combobox", "spinbutton", "image")
        )
        assert (
            page.run("document.querySelectorAll('td b, th b').length") == 0
        )  # a level is text, whatever it says
        # the report, in its frame
        page.run(
            "[...document.querySelectorAll('button')].find(b => b.textContent === 'Show the report').click()"
        )
        page.until("document.querySelector('iframe')")
        assert "Shift found" in page.run("document.querySelector('iframe').srcdoc")
        # what is wrong is said
        page.run("document.getElementById('text').value = 'nothing\\n1'")
        tab_to(page, "go")
        page.press(" ")
        page.until("document.getElementById('error').textContent.includes('columns')")
        assert page.run("document.getElementById('error').getAttribute('role')") == "alert"
        # nothing was asked of anybody else, and nothing but the refusal was complained of
        asked = {re.match(r"[a-z]+://[^/]*/?|[a-z]+:", one)[0] for one in page.requests()}
        assert asked <= {address, "data:", "about:"}
        assert [one for one in page.complaints() if "400" not in str(one)] == []


def test_the_picture_follows_the_monitor_and_the_model_may_be_changed(shop, tmp_path):
    with (
        served({"orders": shop["orders"], "other": shop["other"]}) as (address, _),
        browser(tmp_path) as page,
    ):
        client = Client(address)
        page.open(address)
        page.until("document.getElementById('state').textContent.startsWith('No rows')")
        client.json("POST", "/v1/observe", csv_bytes(shop["moved"]), "text/csv", model="orders")
        page.until("document.getElementById('state').textContent.startsWith('Alarm at row')")
        assert (
            page.run(
                "document.querySelector('#picture polyline').getAttribute('points').split(' ').length"
            )
            == 2
        )
        page.run(
            "document.getElementById('model').value = 'other'; "
            "document.getElementById('model').dispatchEvent(new Event('change'))"
        )
        page.until("document.getElementById('state').textContent.startsWith('No rows')")
        page.run("document.getElementById('pause').click()")
        assert page.run("document.getElementById('pause').getAttribute('aria-pressed')") == "true"
        client.close()


def test_the_page_says_for_each_model_what_was_heard_and_when_it_last_alarmed(shop, tmp_path):
    with (
        served({"orders": shop["orders"], "other": shop["other"]}) as (address, _),
        browser(tmp_path) as page,
    ):
        client = Client(address)
        for batch in ("calm", "moved"):
            client.json("POST", "/v1/test", csv_bytes(shop[batch]), "text/csv", model="orders")
        client.json("POST", "/v1/observe", csv_bytes(shop["moved"]), "text/csv", model="orders")
        page.open(address)
        page.until("document.querySelectorAll('#heard tr').length === 2")
        orders, other = page.run(
            "[...document.querySelectorAll('#heard tr')].map(r => [...r.children].map(c => c.textContent))"
        )
        assert other == ["other", "0", "never", "never", "0", "never", "never"]
        assert orders[:2] == ["orders", "2"]
        assert orders[2] == orders[3]  # the last batch was the shifted one
        assert re.search(r", p = \S+, 300 rows$", orders[2])
        alarm = client.json("GET", "/v1/monitor", model="orders")[1]["alarm_row"]
        assert orders[4] == "300"
        assert orders[6].endswith(f", row {alarm}")
        client.json("POST", "/v1/test", csv_bytes(shop["calm"]), "text/csv", model="other")
        page.run("hear()")
        page.until("document.querySelectorAll('#heard tr')[1].children[1].textContent === '1'")
        client.close()


@pytest.mark.parametrize(("width", "dark"), [(320, False), (1280, True)])
def test_the_api_has_a_page_that_lists_every_endpoint(shop, tmp_path, width, dark):
    with (
        served({"orders": shop["orders"]}, token=TOKEN) as (address, _),
        browser(tmp_path, dark=dark) as page,
    ):
        page.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=700,
            deviceScaleFactor=1,
            mobile=False,
        )
        page.open(f"{address}api" if address.endswith("/") else f"{address}/api")
        paths = description(Limits())["paths"]
        page.until(f"document.querySelectorAll('#endpoints section').length === {len(paths)}")
        heads = page.run("[...document.querySelectorAll('h2')].map(h => h.textContent)")
        assert heads == [f"{method.upper()} {path}" for path in paths for method in paths[path]]
        assert "pvalue" in page.run("document.querySelector('section').textContent")
        assert page.run(PROBE) == {"wide": False, "poor": []}
        assert page.complaints() == []


@pytest.mark.parametrize(("width", "dark"), [(320, False), (500, False), (1280, True)])
def test_the_page_fits_and_can_be_read(shop, tmp_path, width, dark):
    service, screen = served({"orders": shop["orders"]}, token=TOKEN), browser(tmp_path, dark=dark)
    with service as (address, _), screen as page:
        page.send(  # no window of the browser is as narrow as a telephone
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=700,
            deviceScaleFactor=1,
            mobile=False,
        )
        page.open(address)
        page.until("!document.getElementById('access').hidden")  # the service asks for its token
        assert page.run(PROBE) == {"wide": False, "poor": []}
        tab_to(page, "token")
        page.write(TOKEN)
        page.press("Enter")
        page.until("document.querySelectorAll('#model option').length === 1")
        page.run(
            f"document.getElementById('text').value = {csv_bytes(shop['calm'][:50]).decode()!r}"
        )
        page.run("document.getElementById('go').click()")
        page.until("document.querySelector('.verdict')")
        assert page.run(PROBE) == {"wide": False, "poor": []}
        background = page.run("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background))) < 200) == dark


def test_no_other_script_runs(shop, tmp_path):
    assert "unsafe-inline" not in policy().partition("style-src")[0]
    assert page().count("<script") == 1
    with served({"orders": shop["orders"]}) as (address, _), browser(tmp_path) as one:
        one.open(address)
        one.until("document.querySelectorAll('#model option').length === 1")
        one.run(
            "(() => { const s = document.createElement('script'); s.textContent = 'window.evil = 1'; "
            "document.body.append(s); })()"
        )
        one.run(
            "(() => { const i = new Image(); i.src = 'http://127.0.0.1:9/x'; document.body.append(i); })()"
        )
        assert one.run("window.evil === undefined")
        assert sum("Content Security Policy" in str(entry) for entry in one.complaints()) >= 2
