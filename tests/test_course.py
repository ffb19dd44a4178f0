"""The course: notebooks are those of their sources, and every cell runs, the solutions of the exercises included."""

import contextlib
import importlib.util
import io
import json
import pathlib
import re
import warnings

import matplotlib
import pytest

pytestmark = pytest.mark.thorough

matplotlib.use("Agg")
FOLDER = pathlib.Path(__file__).resolve().parents[1] / "docs" / "course"
_SPEC = importlib.util.spec_from_file_location("make_notebooks", FOLDER / "make_notebooks.py")
make_notebooks = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(make_notebooks)
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def code_of(path):
    """The code cells of a notebook, those lines blank that are not Python."""
    return [
        "".join(cell["source"])
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_made_from_their_sources(path):
    source = path.with_suffix(".py").read_text(encoding="utf-8")
    assert path.read_text(encoding="utf-8") == make_notebooks.notebook(
        source
    )  # run docs/course/make_notebooks.py


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_have_the_parts_of_a_lesson(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert re.match(rf"# {int(path.name[:2])} · ", text)
    assert re.search(r"About \d+\s+minutes", text)
    assert "## What goes wrong, and why" in text or "## What goes wrong" in text
    assert "## Exercises" in text
    last = "".join(cells[-1]["source"])
    assert last.startswith("# Solutions")
    assert last.count("assert ") >= 2
    assert all(not cell.get("outputs") for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_on_the_numpy_engine(path, monkeypatch):
    pytest.importorskip("sklearn")
    from matplotlib import pyplot

    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    names = {"__name__": "lesson"}
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            for i, code in enumerate(code_of(path)):
                exec(compile(code, f"{path.name}, cell {i}", "exec"), names)
        assert pyplot.get_fignums(), "a picture"
    finally:
        pyplot.close("all")
