"""Write the notebooks of the course from their sources: ``python docs/course/make_notebooks.py``.

A source is a Python file in which ``# %%`` begins a cell of code and ``# %% [markdown]`` one of text.  It reads and
changes like any other text; the notebook beside it, without outputs, is what one opens, and what the site renders.
"""

from __future__ import annotations

import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).parent


def sources() -> list[pathlib.Path]:
    """The sources, in the order of the course."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def cells(text: str) -> list[tuple[str, str]]:
    """The cells of a source, each "code" or "markdown" and its text."""
    found = []
    for part in re.split(r"(?m)^# %%", text)[1:]:
        head, _, body = part.partition("\n")
        if "[markdown]" in head:
            lines = [re.sub(r"^# ?", "", line) for line in body.strip("\n").split("\n")]
            found.append(("markdown", "\n".join(lines).strip()))
        else:
            found.append(("code", body.strip("\n")))
    return found


def notebook(text: str) -> str:
    """The notebook of a source as JSON."""
    entries = []
    for i, (kind, body) in enumerate(cells(text)):
        lines = body.splitlines(keepends=True)
        extra = {"execution_count": None, "outputs": []} if kind == "code" else {}
        entries.append(
            {"cell_type": kind, "id": f"cell-{i:02d}", "metadata": {}, "source": lines, **extra}
        )
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": entries,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all notebooks."""
    for source in sources():
        source.with_suffix(".ipynb").write_text(
            notebook(source.read_text(encoding="utf-8")), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
