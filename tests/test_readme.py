"""The README's example prints what the README says, but for digits that processors round differently."""

import math
import pathlib
import re

import pytest

README = pathlib.Path(__file__).parent.parent / "README.md"
NUMBER = re.compile(r"\d+\.?\d*(?:e[+-]?\d+)?")


def test_the_ten_lines_print_what_is_printed_there(capsys, tmp_path):
    pytest.importorskip("sklearn")
    text = README.read_text(encoding="utf-8")
    example, shown = re.search(
        r"```python\n((?:(?!```).)*)```\n\nprints\n\n```\n(.*?)```", text, re.DOTALL
    ).groups()
    names: dict = {}
    exec(compile(example, str(README), "exec"), names)
    printed = capsys.readouterr().out
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
    # processors round differently, and EM goes a long way: verdicts alike, p-values of the same order
    for line, said in zip(printed.splitlines(), shown.splitlines(), strict=True):
        found, expected = (re.search(r"p = (\S+?),? ", text) for text in (line, said))
        if found and expected:
            assert math.log10(float(found[1])) == pytest.approx(
                math.log10(float(expected[1])), abs=1
            )
    names["detector"].save(tmp_path / "healthy.hld")
    size = float(re.search(r"\((\d\.\d) MB here\)", text)[1])
    assert (tmp_path / "healthy.hld").stat().st_size / 1e6 == pytest.approx(size, abs=0.07)
