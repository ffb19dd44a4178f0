"""One page of HTML: its frame, which fetches nothing and runs nothing."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any

import pcircuit
from hld.answers.html import escaped
from hld.reports.style import STYLE
from pcircuit.files.whole_file import replace_file

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page(title: str, sections: list[str]) -> str:
    """A whole document."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><meta name="generator" content="hld '
        f'{escaped(pcircuit.__version__)}"><title>{escaped(title)}</title><style>{STYLE}</style></head>\n'
        f"<body><main>\n" + "\n".join(sections) + "\n</main></body></html>\n"
    )


def reproduction(commands: Sequence[str], facts: str = "", digest: str | None = None) -> str:
    """The section that says how to get the same numbers again."""
    lines = [*commands, f"# hld {pcircuit.__version__}{facts}"]
    lines += [f"# SHA-256 of the model file: {digest}"] if digest else []
    return f"<h2>How to reproduce</h2><pre>{escaped_lines(chr(10).join(lines))}</pre>"


def escaped_lines(text: str) -> str:
    """Lines of text, each escaped."""
    return "\n".join(map(escaped, text.split("\n")))


def write_page(text: str, path: str) -> None:
    """Write a document to a file, whole or not at all."""
    with replace_file(pathlib.Path(path)) as file:
        file.write(text.encode("utf-8"))


def facts(pairs: list[Any]) -> str:
    """Names with values, as a list of definitions, both escaped here."""
    inner = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>" for name, value in pairs
    )
    return f'<dl class="facts">{inner}</dl>'


def table(header: tuple[str, ...], rows: list[Any]) -> str:
    """A table of plain cells, escaped here; the first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in header)
    body = "".join(
        f'<tr><th scope="row">{escaped(row[0])}</th>'
        + "".join(f"<td>{escaped(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
