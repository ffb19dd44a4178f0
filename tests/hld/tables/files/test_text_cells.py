"""Cells of text files as what their column was fitted to: times as levels, texts that are missing elsewhere."""

import numpy as np
import pandas as pd
import pytest
from tables import file_codes

import hld
from hld.tables.files import files
from hld.tables.files.dialect import ReadOptions
from hld.tables.schemas.learn_schema import fit_encoder


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        ([f"2024-01-0{k}" for k in range(1, 8)], "2024-01-05"),
        ([f"0{k}.01.2024" for k in range(1, 8)], "2024-01-05"),
        ([f"0 days 0{k}:00:00" for k in range(1, 8)], "5:00:00"),
        ([f"{k}:30" for k in range(1, 8)], "05:30:00"),
        ([f"2024-01-0{k}T12:00:00+01:00" for k in range(1, 8)], "2024-01-05 11:00:00"),
    ],
)
def test_times_as_levels_are_known_in_the_file_that_they_were_fitted_from(tmp_path, cells, shown):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"day": rng.choice(cells, 600), "y": rng.normal(size=600)})
    table.to_csv(tmp_path / "t.csv", index=False)
    read, _ = files.read_training(str(tmp_path / "t.csv"))
    detector = hld.HLDDetector(num_epochs=3, categorical=["day"], rng=0).fit(read)
    assert shown in detector.encoder_.columns[0].levels
    np.testing.assert_array_equal(
        file_codes(detector.encoder_, tmp_path / "t.csv"), detector.encoder_.encode(read)[0]
    )
    result = hld.judge_chunks(
        detector, files.read_chunks(str(tmp_path / "t.csv"), detector.encoder_)
    )
    assert result.data_quality.columns[0].num_unseen == 0
    assert result.pvalue > 1e-6  # half of the rows are those that it learned from


@pytest.mark.parametrize("cell", ["\u0663", "\uff13", "1\u0663", "\u0663.5", "1_0"])
def test_digits_of_other_scripts_are_text_in_every_column_of_numbers(tmp_path, cell):
    """As in training, in data frames and in databases."""
    rng = np.random.default_rng(0)
    encoder = fit_encoder(
        {"level": rng.integers(0, 5, 90), "bin": rng.normal(size=90), "flag": rng.random(90) < 0.5}
    )
    (tmp_path / "t.csv").write_text(
        f"level,bin,flag\n3,3.5,1\n{cell},{cell},{cell}\n", encoding="utf-8"
    )
    table = {"level": [3, cell], "bin": [3.5, cell], "flag": [True, cell]}
    codes, report, *_ = encoder.encode_counting(table)
    assert report.num_odd.tolist() == [1, 1, 1]
    np.testing.assert_array_equal(file_codes(encoder, tmp_path / "t.csv"), codes)
    learned = fit_encoder(files.read_training(str(tmp_path / "t.csv"))[0])
    assert [column.kind for column in learned.columns] == ["categorical"] * 3


def test_texts_that_are_levels_are_not_missing(tmp_path):
    table = {
        "land": ["NA", "DE", "None", "DE", ""] * 20,
        "x": [1.5, 2.5, None, 3.5, 4.5] * 20,
        "hue": ["red", None, "tan", "red", "red"] * 20,
    }
    encoder = fit_encoder(table)
    assert encoder.columns[0].levels == ("", "DE", "NA", "None")
    for blank in ("", " "):
        rows = [
            f",{blank}".join("NA" if cell is None else str(cell) for cell in row)
            for row in [table, *zip(*table.values(), strict=True)]
        ]
        (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
        found = file_codes(encoder, tmp_path / "t.csv")
        np.testing.assert_array_equal(found, encoder.encode(table)[0])
    assert (found[1::5, 2] == -1).all()  # NA is no level of hue
    assert (found[2::5, 1] == -1).all()


def test_rare_levels_are_not_missing(tmp_path):
    words = [f"w{i}" for i in range(70)]
    encoder = fit_encoder({"x": [*words, *words, "NA", "NULL", "NULL"]})
    assert "NA" not in encoder.columns[0].levels
    (tmp_path / "t.csv").write_text("x\nNA\nn/a\nw0\n")
    codes = file_codes(encoder, tmp_path / "t.csv").ravel().tolist()
    assert codes[:2] == [len(encoder.columns[0].levels), -1]


def test_texts_that_the_options_name_are_missing_even_if_they_are_levels(tmp_path):
    words = [f"w{i}" for i in range(70)]
    encoder = fit_encoder(
        {"land": [*words, *words, "unknown", "unknown", "rare"], "code": [1, 2, -999] * 47 + [1, 2]}
    )
    (tmp_path / "t.csv").write_text("land,code\nunknown,-999\nrare,1\nw0,2\nNA,\n")
    options = ReadOptions(na_values=("unknown", "rare", "-999"))
    codes = file_codes(encoder, tmp_path / "t.csv", options)
    assert (codes == -1).tolist() == [[True, True], [True, False], [False, False], [True, True]]
    assert (file_codes(encoder, tmp_path / "t.csv") == -1)[:3].sum() == 0


@pytest.mark.parametrize(
    "cells",
    [
        ["0012345678901234567890", "0112345678901234567890"],
        ["18446744073709551616", "007"],
        ["012345678901234567890", ""],
    ],
)
def test_whole_numbers_beyond_64_bits_are_learned_as_they_are_written(tmp_path, cells):
    """They are text, but were learned without zeros in front: the file that was learned from had p = 1e-164."""
    (tmp_path / "t.csv").write_text(
        "id,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells * 20))
    )
    encoder = fit_encoder(files.read_training(str(tmp_path / "t.csv"))[0])
    known = sorted(filter(None, cells))
    assert sorted(encoder.columns[0].levels) == known
    codes = file_codes(encoder, tmp_path / "t.csv")[:, 0]
    levels = encoder.columns[0].levels
    assert codes.tolist() == [levels.index(cell) if cell else -1 for cell in cells * 20]
