"""Codes of a table in every form, and what the encoder met in its parts: as if each had been encoded alone."""

import numpy as np
import pandas as pd
import pytest

import hld
from hld.schemas.encoder import fit_encoder
from hld.schemas.encoding import reports_of_parts


def test_parts_are_reported_as_if_encoded_alone():
    rng = np.random.default_rng(0)
    encoder = fit_encoder(
        pd.DataFrame({"name": list("aabbccde") * 5, "size": rng.normal(size=40)}), max_categories=3
    )
    table = pd.DataFrame(
        {
            "name": rng.choice(list("abdxyz"), size=60).astype(object),
            "size": 3 * rng.normal(size=60),
        }
    )
    table.loc[rng.random(60) < 0.2, "name"] = None
    table.loc[rng.random(60) < 0.2, "size"] = np.nan
    table["size"] = table["size"].astype(object)
    table.loc[[3, 30, 31], "size"] = "text"
    marks, starts = np.zeros((60, 2), dtype=np.uint8), np.array([0, 1, 25, 40])
    codes, _, _, _ = encoder.encode_counting(table, marks)
    found = reports_of_parts(encoder.columns, codes, marks, starts)
    for report, start, stop in zip(found, starts, [*starts[1:], 60], strict=True):
        expected = encoder.encode_counting(table.iloc[start:stop])[1]
        assert vars(report).keys() == vars(expected).keys()
        for name, value in vars(expected).items():
            np.testing.assert_array_equal(getattr(report, name), value, err_msg=name)
    assert (
        sum(report.num_unseen for report in found)[0]
        > 0
        < sum(report.num_out_of_range for report in found)[1]
    )


@pytest.mark.parametrize("dtype", [int, np.uint8, object])
def test_whole_numbers_that_training_did_not_show_follow_the_policy_in_arrays_of_every_type(dtype):
    schema, batch = (
        hld.learn_schema([[0, 1], [1, 0], [1, 1]] * 5),
        np.array([[5, 0], [1, 1]], dtype=dtype),
    )
    assert schema.encoder().encode(batch)[0].tolist() == [[2, 0], [1, 1]]
    assert schema.replace("x0", policy="missing").encoder().encode(batch)[0].tolist() == [
        [-1, 0],
        [1, 1],
    ]
    with pytest.raises(
        ValueError,
        match="'x0' holds 1 values that training did not show, the first in row 0, which",
    ):
        schema.replace("x0", policy="refuse").encoder().encode(batch)


def test_a_column_that_refuses_new_levels_has_its_rare_ones_in_training():
    table = [["ann"], ["ann"], ["bob"], ["bob"], ["eve"]]
    schema = hld.learn_schema(
        table, max_categories=2
    )  # keeps ann; bob and eve, whom one row has, are rare
    codes = {
        policy: schema.replace("x0", policy=policy)
        .encoder()
        .encode_training(table)[0]
        .ravel()
        .tolist()
        for policy in ("keep", "missing", "refuse")
    }
    assert codes == {
        "keep": [0, 0, 1, 1, 2],
        "missing": [0, 0, 1, 1, -1],
        "refuse": [0, 0, 1, 1, 1],
    }
