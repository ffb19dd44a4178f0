"""`hld plan`: what the library plans, as text and as JSON."""
import pytest

import hld
from hld.planning.of_tables import plan


@pytest.mark.thorough
def test_a_plan_is_printed_as_the_library_prints_it(run, folder):
    status, out, err = run("plan", "model.hld", "--rows-per-day", "100", "--power", "0.8", "--edit", "colour=red:+0.2")
    assert (status, err) == (0, "")
    assert out == f"{plan(hld.load(folder / 'model.hld'), 100, ['colour=red:+0.2'], 0.8)}\n"
    assert "colour" in out
