"""The README's example does what the README says that it prints."""
import pathlib
import re

import pytest

README = pathlib.Path(__file__).parent.parent / "README.md"
NUMBER = re.compile(r"\d+\.?\d*(?:e[+-]?\d+)?")


def test_the_ten_lines_print_what_is_printed_there(capsys):
    pytest.importorskip("sklearn")
    text = README.read_text(encoding="utf-8")
    example, shown = re.search(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", text, re.DOTALL).groups()
    exec(compile(example, str(README), "exec"), {})
    printed = capsys.readouterr().out
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
    found, expected = ([float(number) for number in NUMBER.findall(part)] for part in (printed, shown))
    assert found == pytest.approx(expected, rel=0.25)  # processors round differently, and EM goes a long way
