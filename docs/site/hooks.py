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
ROOMS = {
    "": "Circuits and evidence",
    "inference": "What a circuit says about rows",
    "operations": "Questions and operations",
    "learning": "Where circuits come from",
    "moments": "Exact moments",
    "pictures": "Pictures",
    "files": "Files",
    "formats": "Formats of other programs",
    "checks": "For packages built on this one",
}
CORE = (
    "circuit",
    "regions",
    "vtree",
    "evidence",
)  # what a reader meets first; other files beside the rooms come last
OUTSIDE = {"../CONTRIBUTING.md": "contributing.md", "../CHANGELOG.md": "changelog.md"}
LISTED = {f"../{package}/__init__.py": f"reference/{package}.md" for package in ("pcircuit", "hld")}
LISTS = ("changelog.md", "bad-inputs.md")
LESSON = re.compile(
    r"(\]\((?:[\w./]*/)?\d\d_\w+)\.ipynb\)(?!\{)"
)  # in the repository a notebook, here a page
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_config(config):
    """Modules of the repository can be imported."""
    sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "site")]
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
        files.append(File.generated(config, f"reference/{package}.md", content=reference(package)))
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


def reference(package: str) -> str:
    """The page that lists the public names of a package, room by room."""
    module = importlib.import_module(package)
    lines = [f"# {package}", "", module.__doc__.strip().splitlines()[0], ""]
    homes = {name: module._HOME[name] for name in module.__all__ if name in module._HOME}
    titles = ROOMS if package == "pcircuit" else {"": "All names"}
    for room, title in titles.items():
        inside = [
            name
            for name, home in homes.items()
            if package == "hld" or home.partition(".")[0] == room or room == _beside(home)
        ]
        lines += [f"## {title}", ""]
        for name in sorted(inside, key=lambda name: (name[0].islower(), name)):
            is_class = isinstance(getattr(module, name), type)
            members = (
                "\n        members: null\n        inherited_members: true\n        filters: ['!^_']"
                if is_class
                else ""
            )
            lines += [
                f"::: {package}.{homes[name]}.{name}",
                f"    options:\n        heading_level: 3{members}",
                "",
            ]
    for name in getattr(module, "_MODULES", ()):
        part = getattr(module, name)
        lines += [f"## {package}.{name}", "", part.__doc__.strip().splitlines()[0], ""]
        own = [
            key
            for key, value in vars(part).items()
            if key in getattr(part, "__all__", vars(part))
            and callable(value)
            and not key.startswith("_")
            and getattr(value, "__module__", "").startswith(package)
        ]
        for key in own:
            lines += [
                f"::: {getattr(part, key).__module__}.{key}",
                "    options:\n        heading_level: 3",
                "",
            ]
    return "\n".join(lines)


def _beside(home: str) -> str | None:
    """The section of a name that no room holds."""
    return None if "." in home else "" if home in CORE else "checks"


def moved(text: str) -> str:
    """A page of the repository's root: its links to pages of the site are kept, all others become plain text."""
    for outside, inside in OUTSIDE.items():
        text = text.replace(f"]({outside[3:]}", f"](docs/{inside}")
    text = re.sub(r"\[([^\]]*)\]\((?!https?:|#|docs/[\w./-]+\.md)[^)]*\)", r"\1", text)
    return text.replace("](docs/", "](")


warnings.filterwarnings("ignore", category=DeprecationWarning, module="latex2mathml")
