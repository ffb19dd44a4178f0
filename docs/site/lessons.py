"""A lesson as a page: its cells run, what they print and draw below them."""

from __future__ import annotations

import ast
import contextlib
import io
import os

OUTPUT = '\n<div class="output" markdown>\n\n```text\n{}\n```\n\n</div>\n'


def page_of_lesson(stem: str, cells: list[tuple[str, str]]) -> tuple[str, dict[str, bytes]]:
    """The text of the page, and its pictures by name."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    os.environ["PCIRCUIT_ENGINE"] = "numpy"
    quick = "DOCS_WITHOUT_RUNNING" in os.environ  # while one writes pages
    names: dict[str, object] = {"__name__": "lesson"}
    parts, pictures = [], {}
    for i, (kind, body) in enumerate(cells):
        if kind == "markdown":
            parts.append(body.replace("\n- ", "\n* "))
            if i == 0:
                parts.append(f"\n[This lesson as a notebook]({stem}.ipynb){{ .md-button }}\n")
            continue
        parts.append(f"\n```python\n{body}\n```\n")
        said = "" if quick else run(body, names, f"{stem}, cell {i}")
        if said.strip():
            parts.append(OUTPUT.format(said.rstrip()))
        for number in pyplot.get_fignums():
            name = f"{stem}-{len(pictures)}.png"
            buffer = io.BytesIO()
            pyplot.figure(number).savefig(buffer, dpi=110, metadata={"Software": None})
            pictures[name] = buffer.getvalue()
            parts.append(f"\n![A picture that the cell above draws]({name}){{ .figure }}\n")
        pyplot.close("all")
    return "\n".join(parts), pictures


def run(code: str, names: dict[str, object], label: str) -> str:
    """Run a cell; what it prints, and the value of its last line as a notebook shows it."""
    tree = ast.parse(code)
    shows = tree.body and isinstance(tree.body[-1], ast.Expr) and not code.rstrip().endswith(";")
    last = tree.body.pop() if shows else None
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(tree, label, "exec"), names)
        value = (
            None
            if last is None
            else eval(compile(ast.Expression(last.value), label, "eval"), names)
        )
        if value is not None and not type(value).__module__.startswith("matplotlib"):
            print(repr(value))
    return out.getvalue()
