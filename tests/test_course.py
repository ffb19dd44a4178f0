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


def test_there_are_twelve_in_order():
    assert [path.name[:2] for path in NOTEBOOKS] == [f"{i:02d}" for i in range(1, 13)]
    assert [path.with_suffix(".ipynb") for path in make_notebooks.sources()] == NOTEBOOKS


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


def test_missing_pixels_are_grey_and_others_black_or_white(monkeypatch):
    pytest.importorskip("sklearn")
    from matplotlib import colors, pyplot

    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    names = {"__name__": "lesson"}
    exec(code_of(FOLDER / "06_sampling_and_conditioning.ipynb")[0], names)
    try:
        names["show"]([[0, 1, -1] * 12] * 2, "given")
        ax = pyplot.gcf().axes[0]
        white, black, missing = ax.images[0].to_rgba(ax.images[0].get_array())[0, :3]
        assert tuple(white) == (1, 1, 1, 1)
        assert tuple(black) == (0, 0, 0, 1)
        assert missing[3] == 0  # transparent: what is behind it shows
        red, green, blue = colors.to_rgb(ax.get_facecolor())
        assert 0 < red == green == blue < 1
    finally:
        pyplot.close("all")
