"""What the site is made of beside the pages: the course, run; the reference, listed; formulas, as MathML.

Nothing in the built pages asks another server for anything.
"""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys
import warnings
from html import unescape

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTSIDE = {"../CONTRIBUTING.md": "contributing.md", "../CHANGELOG.md": "changelog.md"}
LISTED = {f"../{package}/__init__.py": f"reference/{package}.md" for package in ("pcircuit", "hld")}
LISTS = ("changelog.md", "bad-inputs.md")
LESSON = re.compile(
    r"(\]\((?:[\w./]*/)?\d\d_\w+)\.ipynb\)(?!\{)"
)  # in the repository a notebook, here a page
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_config(config):
    """Modules of the repository can be imported; the reference has a page for each that has public names."""
    sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "site")]
    reference = next(part["Reference"] for part in config["nav"] if "Reference" in part)
    for entry in list(reference):
        for package in [name for name in ("pcircuit", "hld") if name in entry]:
            pages = [{home: f"reference/{package}/{home}.md"} for home in modules(package)]
            entry[package] = [{"All names": entry[package]}, *pages]
    return config


def on_files(files, config):
    """Pages that are made: the course, the reference, and what lies outside the folder."""
    from lessons import page_of_lesson

    spec = importlib.util.spec_from_file_location(
        "make_notebooks", ROOT / "docs" / "course" / "make_notebooks.py"
    )
    lessons = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lessons)
    for source in lessons.sources():
        text, pictures = page_of_lesson(
            source.stem, lessons.cells(source.read_text(encoding="utf-8"))
        )
        files.append(File.generated(config, f"course/{source.stem}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"course/{name}", content=content))
    for package in ("pcircuit", "hld"):
        files.append(File.generated(config, f"reference/{package}.md", content=all_names(package)))
        for home, names in modules(package).items():
            text = page_of_module(package, home, names)
            files.append(File.generated(config, f"reference/{package}/{home}.md", content=text))
    for outside, inside in OUTSIDE.items():
        path = ROOT / outside[3:]
        if path.exists():
            files.append(
                File.generated(config, inside, content=moved(path.read_text(encoding="utf-8")))
            )
    for path in sorted((ROOT / "benchmarks" / "figures").glob("*.png")):
        files.append(File.generated(config, f"figures/{path.name}", content=path.read_bytes()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links to files of the repository lead to their pages; those to other files become plain text."""
    depth = page.file.src_uri.count("/")
    markdown = LESSON.sub(r"\1.md)", markdown)
    for outside, inside in (OUTSIDE | LISTED).items():
        markdown = markdown.replace(f"]({outside}", f"]({'../' * depth}{inside}")
    markdown = markdown.replace("](../benchmarks/figures/", f"]({'../' * depth}figures/")
    return re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", markdown) if depth == 0 else markdown


def on_page_content(html, page, **context):
    """Formulas as MathML, which browsers draw by themselves; lists that have every word come last in a search."""
    from latex2mathml.converter import convert

    if page.file.src_uri in LISTS:
        page.meta["search"] = {"boost": 0.2}
    return FORMULA.sub(
        lambda found: convert(unescape(found[3]), display="inline" if found[2] == "(" else "block"),
        html,
    )


def modules(package: str) -> dict[str, list[str]]:
    """Modules that have public names, and these names, classes first."""
    module = importlib.import_module(package)
    homes: dict[str, list[str]] = {}
    for name in sorted(module.__all__, key=lambda name: (name[0].islower(), name)):
        owner, _, home = module._HOME[name].partition(".")
        if owner == package and name not in module._MODULES:
            homes.setdefault(home, []).append(name)
    for one in module._MODULES:
        home = f"{module._HOME[one]}.{one}".partition(".")[2]
        part = importlib.import_module(f"{package}.{home}")
        names = getattr(part, "__all__", vars(part))
        own = [n for n in names if not n.startswith("_") and callable(getattr(part, n))]
        own = [n for n in own if getattr(part, n).__module__.startswith(f"{package}.{home}")]
        homes[home] = sorted({*own, *homes.get(home, [])})
    return dict(sorted(homes.items(), key=lambda one: ("." in one[0], one[0])))


def all_names(package: str) -> str:
    """The page that lists the public names of a package with their first sentences."""
    lines = [f"# {package}", "", _first_line(importlib.import_module(package)), ""]
    lines += ["| name | what it is | page |", "| --- | --- | --- |"]
    for home, names in modules(package).items():
        part = importlib.import_module(f"{package}.{home}")
        for name in names:
            text = _first_line(getattr(part, name)).replace("|", "\\|")
            page = f"{package}/{home}.md"
            lines.append(
                f"| [`{name}`]({page}#{package}.{_home_of(getattr(part, name), f'{package}.{home}')}.{name}) "
                f"| {text} | [{home}]({page}) |"
            )
    return "\n".join(lines) + "\n"


def page_of_module(package: str, home: str, names: list[str]) -> str:
    """The page of a module: what it is about, and its public names with typed signatures."""
    part = importlib.import_module(f"{package}.{home}")
    lines = [f"# {package} · {home}", "", _first_line(part), ""]
    for name in names:
        lines += [
            f"::: {package}.{_home_of(getattr(part, name), f'{package}.{home}')}.{name}",
            "    options:",
            "      heading_level: 2",
        ]
        if isinstance(getattr(part, name), type):
            lines += [
                "      members: null",
                "      inherited_members: true",
                "      filters: ['!^_']",
            ]
        lines.append("")
    return "\n".join(lines)


def _home_of(thing, module: str) -> str:
    """The module of a name below its package: that in which it is defined, where it says so."""
    return getattr(thing, "__module__", module).partition(".")[2] or module.partition(".")[2]


def _first_line(thing) -> str:
    """The first sentence of what a module, class or function says of itself."""
    return " ".join((thing.__doc__ or "").strip().partition("\n\n")[0].split())


def moved(text: str) -> str:
    """A page of the repository's root: its links to pages of the site are kept, all others become plain text."""
    for outside, inside in OUTSIDE.items():
        text = text.replace(f"]({outside[3:]}", f"](docs/{inside}")
    text = re.sub(r"\[([^\]]*)\]\((?!https?:|#|docs/[\w./-]+\.md)[^)]*\)", r"\1", text)
    return text.replace("](docs/", "](")


warnings.filterwarnings("ignore", category=DeprecationWarning, module="latex2mathml")
