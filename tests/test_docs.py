"""The site: it builds, its links lead somewhere, each page is in the menu, the README has the pictures drawn for it."""

import http.server
import importlib.util
import pathlib
import re
import subprocess
import sys
import threading
import types
from html import unescape

import matplotlib
import pytest
from browser import CHROMIUM, browser
from matplotlib import pyplot

import hld
import pcircuit

matplotlib.use("Agg")
ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
MADE = {
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "reference/pcircuit.md": "pcircuit/__init__.py",
    "reference/hld.md": "hld/__init__.py",
    **{
        f"course/{path.stem}.md": f"docs/course/{path.name}"
        for path in (DOCS / "course").glob("[0-9]*.py")
    },
}


def test_links_to_what_the_site_makes_lead_to_it_there():
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("hooks", DOCS / "site" / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    text = "[a](../hld/__init__.py) [b](course/09_the_test.ipynb) [c](01_x.ipynb){ .md-button } [d](../CHANGELOG.md)"
    page = types.SimpleNamespace(file=types.SimpleNamespace(src_uri="index.md"))
    assert hooks.on_page_markdown(text, page, None, None) == (
        "[a](reference/hld.md) [b](course/09_the_test.md) [c](01_x.ipynb){ .md-button } [d](changelog.md)"
    )
    text = "[a](docs/sql.md#x) [b](benchmarks/README.md) [c](hld/sql) [d](CONTRIBUTING.md) [e](#f)"
    assert hooks.moved(text) == "[a](sql.md#x) b c [d](contributing.md) [e](#f)"
    assert {*hooks.OUTSIDE.values(), *hooks.LISTED.values()} <= set(MADE)


def test_every_page_is_in_the_menu():
    menu = set(re.findall(r"[\w/.-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert menu == {*PAGES, *MADE}


@pytest.mark.thorough
def test_the_pictures_of_the_pages_are_those_that_the_command_draws(tmp_path):
    pytest.importorskip("sklearn")
    subprocess.run(
        [sys.executable, DOCS / "pictures" / "make_pictures.py", tmp_path], cwd=ROOT, check=True
    )
    pages = [ROOT / "README.md", *DOCS.glob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    named = re.findall(r"\((?:docs/)?pictures/(\w+\.png)\)", text)
    drawn = {path.name: pyplot.imread(path).shape for path in tmp_path.iterdir()}
    kept = {path.name: pyplot.imread(path).shape for path in (DOCS / "pictures").glob("*.png")}
    assert drawn == kept
    assert set(named) == set(kept)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built."""
    for module in ("mkdocs", "material", "mkdocstrings", "latex2mathml"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install -e .[docs]")
    folder = tmp_path_factory.mktemp("site")
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert run.returncode == 0, run.stderr
    return folder


def words_of(site, page):
    """The HTML of a page of the site, and its text."""
    html = (site / page / "index.html").read_text(encoding="utf-8")
    return html, " ".join(unescape(re.sub("<[^>]+>", "", html)).split())


@pytest.mark.slow
def test_the_site_builds_without_a_warning(site):
    lesson, _ = words_of(site, "course/01_tables_and_vtrees")
    assert "<math" in lesson
    assert "malignant: 0.373" in lesson
    assert words_of(site, "moments")[0].count("<math") > 100
    for path in site.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|img|iframe)[^>]+src=\"(https?:[^\"]+)", path.read_text(encoding="utf-8")
        )
        assert loaded == [], path


@pytest.mark.slow
def test_every_public_name_has_a_typed_signature_on_the_page_of_its_module(site):
    _, text = words_of(site, "reference/pcircuit/learning.chow_liu")
    assert re.search(r"chow_liu_tree\( ?data: \w+", text)
    for package in (pcircuit, hld):
        for name in package.__all__:
            if name in package._HOME:
                page = f"reference/{package.__name__}/{package._HOME[name]}"
                assert re.search(rf"\b{name}\b", words_of(site, page)[1]), name


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_code_is_cut_on_no_page_and_search_finds(site, tmp_path):
    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 128  # a page asks for many files at a time, and lacks those refused

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=site)

        def log_message(self, *args):
            pass

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    pages = sorted(
        path.parent.relative_to(site).as_posix()
        for path in site.rglob("index.html")
        if path.parent != site
    )
    cut = (
        "[...document.querySelectorAll('pre > code')].some(e => e.scrollWidth > e.clientWidth + 1)"
    )
    try:
        with browser(tmp_path) as page:
            for width in (1280, 400):
                page.send(
                    "Emulation.setDeviceMetricsOverride",
                    width=width,
                    height=900,
                    deviceScaleFactor=1,
                    mobile=False,
                )
                for name in pages:
                    page.open(f"{address}{name}/")
                    page.until(
                        "document.readyState === 'complete' && "
                        f"location.pathname === '/{name}/' && !{cut} && "
                        "document.documentElement.scrollWidth <= innerWidth",
                        10,
                    )
            page.open(address)
            page.run("document.querySelector('.md-search__input').focus()")
            page.write("chow_liu_tree")
            page.until("document.querySelector('.md-search-result__link')")
            found = page.run(
                "[...document.querySelectorAll('.md-search-result__link')].map(a => a.pathname)"
            )
            assert "/reference/pcircuit/learning.chow_liu/" in found
    finally:
        server.shutdown()
        server.server_close()
