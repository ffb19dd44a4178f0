"""Rows drawn by the command line: what is said of cells that have no text."""

import numpy as np
import pandas as pd
import pytest

import hld
from hld.command.parser import main


@pytest.mark.parametrize(("share", "told"), [(0.5, True), (0.0, False)])
def test_columns_that_are_drawn_mostly_empty_are_told(tmp_path, share, told, recwarn):
    """Rare and new levels have no text in a model, and whoever reads the file takes them for missing."""
    rng = np.random.default_rng(0)
    words = np.where(
        rng.random(600) < share, [f"word {i}" for i in range(600)], rng.choice(["a", "b"], 600)
    )
    table = pd.DataFrame({"word": words, "k": rng.choice(["x", "y"], 600), "no": [None] * 600})
    hld.HLDDetector(num_latents=2, num_epochs=3, max_categories=8).fit(table).save(
        tmp_path / "m.hld"
    )
    recwarn.clear()
    assert (
        main(["sample", str(tmp_path / "m.hld"), "-n", "200", "-o", str(tmp_path / "rows.csv")])
        == 0
    )
    said = [str(one.message) for one in recwarn]
    assert len(said) == told
    if told:
        empty = pd.read_csv(tmp_path / "rows.csv")["word"].isna().mean()
        assert said == [
            "rare levels and new ones, of which the model holds no text, are drawn as empty cells: in "
            f"'word' ({100 * empty:.0f}%)"
        ]
        assert empty > 0.3
