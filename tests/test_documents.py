"""The documents say what is there: links, files, functions, rooms, and code that runs."""

import ast
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from test_layers import ROOMS

import hld
from benchmarks.module_visits import Trace, mixed_table
from hld.apps.command.arguments import COMMANDS

matplotlib.use("Agg")
ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = (
    ".",
    "docs",
    "docs/course",
    "docs/extending",
    "docs/how-to",
    "docs/tutorials",
    "benchmarks",
    "benchmarks/paper",
    "examples",
)
PAGES = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.md"))
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PATH = re.compile(
    r"`((?:pcircuit|hld|tests|docs|benchmarks|examples)/[\w./-]*\w\.(?:py|md|json|txt))`"
)
TO_BE_WRITTEN = {
    "hld/witnesses/metrics/wide.py",
    "pcircuit/io/units.py",
    "pcircuit/operations/odds.py",
}  # by who follows a worked example
RUN_ELSEWHERE = {
    "README.md": "tests/test_readme.py",
    **dict.fromkeys(("metric.md", "witness.md"), "tests/hld/test_extending.py"),
}
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def without_code(text):
    return CODE.sub("", text)


def anchors(text):
    """The anchors that headings of a page get where it is shown: lower case, no punctuation, dashes for blanks."""
    heads = re.findall(r"^#+ (.*)$", without_code(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_links_lead_somewhere():
    wrong = []
    for page in PAGES:
        for target in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
            if re.match(r"https?://|mailto:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (page.parent / name).resolve() if name else page
            if not path.exists():
                wrong.append(f"{name_of(page)}: {target} leads nowhere")
            elif anchor and anchor not in anchors(path.read_text(encoding="utf-8")):
                wrong.append(f"{name_of(page)}: {target}: no such heading")
    assert wrong == []


def test_files_that_are_named_exist():
    wrong = [
        f"{name_of(page)}: {name}"
        for page in PAGES
        for name in PATH.findall(page.read_text(encoding="utf-8"))
        if not (ROOT / name).exists() and name not in TO_BE_WRITTEN
    ]
    assert wrong == []


def commands():
    """The programs among the tests, as CONTRIBUTING says to start them."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return sorted(set(re.findall(r"^python ((?:-m tests\.|tests/)\S+)", text, re.MULTILINE)))


def test_programs_among_the_tests_start():
    assert "tests/mutants.py" in commands()
    for command in commands():
        run = subprocess.run(
            [sys.executable, *command.split(), "--help"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout.startswith("usage:"), command


def blocks(page):
    """The Python code of a page, block by block."""
    return [
        code
        for language, code in CODE.findall(page.read_text(encoding="utf-8"))
        if language == "python"
    ]


NUMBER = re.compile(r"\d+\.?\d*(?:e[+-]?\d+)?")


def shape(text):
    """A text without its digits, which processors round differently, and how its columns are set."""
    return " ".join(NUMBER.sub("#", text).split())


@pytest.mark.thorough
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name_of)
def test_python_code_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch, capsys):
    for i, code in enumerate(blocks(page)):
        ast.parse(code, f"{page.name}, block {i + 1}")
    if page.name in RUN_ELSEWHERE:
        assert page.name in (ROOT / RUN_ELSEWHERE[page.name]).read_text(encoding="utf-8")
        return
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    monkeypatch.chdir(tmp_path)  # some write files
    monkeypatch.setattr("hld.apps.command.arguments.COMMANDS", dict(COMMANDS))
    monkeypatch.setattr("hld.apps.command.models.size", None, raising=False)
    for command, module in (("python", ""), ("hld", "-m hld")):  # as a shell finds them
        program = tmp_path / "bin" / command
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    names: dict = {}
    parts = CODE.split(
        page.read_text(encoding="utf-8")
    )  # texts, with language and code between them
    for i in range(1, len(parts), 3):
        if parts[i] == "python":
            exec(compile(parts[i + 1], f"{page.name}, block {i // 3 + 1}", "exec"), names)
            printed = capsys.readouterr().out
        elif parts[i] == "sh":
            run = subprocess.run(["bash", "-c", parts[i + 1]], capture_output=True, text=True)
            printed = run.stdout
            assert run.stderr == ""
        else:
            continue
        if parts[i + 2].strip() in ("", "prints") and parts[i + 3 : i + 4] == [""]:
            assert shape(printed) == shape(parts[i + 4])
    pyplot.close("all")


def test_pages_say_what_they_are_for_and_show_an_example_with_its_output_first():
    pages = [path for path in PAGES if path.is_relative_to(ROOT / "docs")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert re.match(r"# .+\n\n(?!Written)[A-Z][\w ]", text), name_of(page)
        if page.name != "index.md" or page.parent.name != "course":
            assert re.search(r"^```(python|sh)\n", text[:1500], re.MULTILINE), name_of(page)
        if page.parent.name != "extending":  # whose examples define something
            shown = (
                "```\n\nprints\n\n```\n" in text or "```\n\n```\n" in text or "```\n\n![" in text
            )
            assert shown or page.parent.name == "course", name_of(page)


REFERENCE = {"docs/file-format.md"}  # tables of what there is


def test_no_page_is_long():
    long = [
        name_of(page)
        for page in PAGES
        if page.is_relative_to(ROOT / "docs") and page.stat().st_size > 12_000
    ]
    assert set(long) <= REFERENCE
    assert (ROOT / "README.md").stat().st_size <= 12_000


def test_pages_on_extending_begin_with_the_number_of_places_and_fit_a_screen():
    listed = re.findall(
        r"\| (\d) \| \[.*\]\(extending/(\w+\.md)\)",
        (ROOT / "docs" / "extending.md").read_text(encoding="utf-8"),
    )
    pages = sorted((ROOT / "docs" / "extending").glob("*.md"))
    assert sorted(name for _, name in listed) == [page.name for page in pages]
    words = {"one": "1", "two": "2", "three": "3", "four": "4"}
    for number, name in listed:
        lines = (ROOT / "docs" / "extending" / name).read_text(encoding="utf-8").splitlines()
        assert words[re.search(r" touches (\w+) places?, ", lines[2])[1]] == number
        assert len(lines) <= 80


# -- docs/architecture.md ----------------------------------------------------------------------------------------


def table_rows(text, head):
    """The cells of the rows below the head of a table in Markdown."""
    lines = text[text.index(f"| {head} |") :].splitlines()[2:]
    rows = lines[
        : next((i for i, line in enumerate(lines) if not line.startswith("|")), len(lines))
    ]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_rooms_are_those_that_are_checked():
    for package, rooms in ROOMS.items():
        rows = table_rows(ARCHITECTURE, f"room of `{package}`")
        assert [row[0].strip("`") for row in rows] == rooms
        assert all(row[1] for row in rows)


def test_from_a_table_to_a_verdict_nothing_is_done_twice(monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    table = mixed_table(60, np.random.default_rng(0))
    with Trace() as fit:
        detector = hld.HLDDetector(num_epochs=1).fit(table)
    with Trace() as test:
        detector.test(table[:5])
    once = [
        ("hld/tables/cells.py", "_as_array"),
        ("pcircuit/learning/chow_liu.py", "chow_liu_tree"),
        ("pcircuit/learning/start_circuits.py", "hclt"),
        ("pcircuit/learning/em.py", "fit_em"),
    ]
    assert [fit.calls[call] for call in once] == [1, 1, 1, 1]
    evidence = "pcircuit/evidence.py", "check_evidence"
    assert fit.calls[evidence] == 2  # the rows that EM learns from, and those of the reference
    assert test.calls[evidence] == test.calls[once[0]] == 1
    # most often `hld/tables/schemas/counts.py`, for the level that each of five tests of counts attains
    assert max(test.visits[name] for name in test.visits if name.startswith("hld/")) < 40


# -- docs/file-format.md -----------------------------------------------------------------------------------------

FILES = [
    ({}, {}),
    ({"reference": "circuit"}, {}),
    ({"covariates": ["x0"]}, {}),
    ({}, {"order": "time"}),
    ({}, {"groups": np.arange(200) // 10}),
]


@pytest.mark.parametrize(
    ("options", "fitting"), FILES, ids=["held-out", "circuit", "covariates", "time", "groups"]
)
@pytest.mark.filterwarnings("ignore:`groups` leaves")
def test_the_arrays_of_detectors_are_those_of_the_page(options, fitting, tmp_path, monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    text = (ROOT / "docs" / "file-format.md").read_text(encoding="utf-8")
    rows = table_rows(text[text.index("## Detectors") :], "array")
    named = [
        re.sub(r"\b[IJ]\b", r"\\d+", name.replace(".", r"\.").replace("*", ".+"))
        for row in rows
        for name in re.findall(r"`([\w.*]+)`", row[0])
    ]
    rng = np.random.default_rng(0)
    table = np.where(rng.random((200, 5)) < 0.1, np.nan, mixed_table(200, rng))
    hld.HLDDetector(num_latents=2, num_epochs=1, num_resamples=19, **options).fit(
        table, **fitting
    ).save(tmp_path / "x")
    with zipfile.ZipFile(tmp_path / "x") as archive:
        found = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    assert [
        name for name in found if not any(re.fullmatch(pattern, name) for pattern in named)
    ] == []


def test_the_formats_of_archives_are_those_of_the_page():
    text = (ROOT / "docs" / "file-format.md").read_text(encoding="utf-8")
    sources = [
        path.read_text(encoding="utf-8")
        for package in ("hld", "pcircuit")
        for path in (ROOT / package).rglob("*.py")
    ]
    written = re.findall(
        r'^\w*FORMAT, \w+ = "((?:hld|pcircuit)\.\w+)", (\d+)', "\n".join(sources), re.MULTILINE
    )
    assert len(written) >= 4
    assert [one for one in written if f"`{one[0]}`, version {one[1]}" not in text] == []
