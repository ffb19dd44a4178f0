"""The site: it builds, its links lead somewhere, each page is in the menu, the README has the pictures drawn for it."""

import importlib.util
import pathlib
import re
import subprocess
import sys
import types
from html import unescape

import matplotlib
import pytest
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
            owner, _, home = package._HOME[name].partition(".")
            if owner == package.__name__ and name not in package._MODULES:
                page = f"reference/{owner}/{home}"
                assert re.search(rf"\b{name}\b", words_of(site, page)[1]), name
