"""Rare levels are known again in every form that a batch may have them in."""

import datetime

import numpy as np
import pandas as pd
import pytest

import hld
from hld.schemas.columns import LevelColumn
from hld.schemas.encoder import TableEncoder, fit_encoder
from hld.schemas.rare_levels import digest, digest_set, digests_of, is_rare


def rows(N, seed):
    """A column of more numbers than there are levels, and another one."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"v": np.round(rng.integers(0, 150, N) * 0.1, 1), "y": rng.normal(size=N)})


def test_rare_numbers_are_the_same_in_four_bytes():
    table = rows(3000, 0)
    for dtype in ("float64", "float32"):
        encoder = fit_encoder(table.astype({"v": dtype}), categorical=["v"])
        assert len(encoder.columns[0].rare) > 0
        first, second = (
            encoder.encode(table.astype({"v": other}))[1] for other in ("float64", "float32")
        )
        assert first.num_unseen.tolist() == second.num_unseen.tolist() == [0, 0]
        assert first.num_rare.tolist() == second.num_rare.tolist()
        assert first.num_rare[0] > 0


def test_a_verdict_does_not_depend_on_the_bytes_of_rare_numbers():
    table = rows(3000, 0)
    detector = hld.HLDDetector(num_epochs=5, categorical=["v"], rng=0).fit(table)
    one, other = (
        detector.test(table[:400].astype({"v": dtype})) for dtype in ("float64", "float32")
    )
    assert one.data_quality.columns[0].num_unseen == other.data_quality.columns[0].num_unseen == 0
    assert one.pvalue == pytest.approx(other.pvalue, rel=0.2)  # y in four bytes may leave its bin


def test_numbers_that_are_not_near_are_no_rare_levels():
    known = digest_set(digests_of([0.1, 1e300, 2.5, 2**60, 5e-324]))
    for value in (0.1 * (1 + 2.0**-22), 1e299, 2, 2**60 + 1, 1e-323, float("inf"), 0, 0.0, "0.1"):
        assert not is_rare(value, known), value
    for value in (0.1, float(np.float32(0.1)), 1e300, 2.5, 2**60, float(2**60), 5e-324):
        assert is_rare(value, known), value


def test_digests_of_older_model_files_are_found():
    import hashlib

    def before(level):
        text = f"text {level}" if isinstance(level, str) else f"number {level.hex()}"
        return hashlib.blake2b(text.encode(), digest_size=8).digest()

    old = b"".join(
        sorted(
            map(
                before,
                [
                    0.1,
                    12.25,
                    float(np.float32(0.7)),
                    "2020-01-01 00:00:00",
                    "2020-01-02",
                    "03:00:00",
                ],
            )
        )
    )
    encoder = TableEncoder((LevelColumn("x", "categorical", ("a",), rare=old),), True)
    cells = [
        0.1,
        np.float32(0.1),
        12.25,
        np.float32(12.25),
        0.7,
        np.float32(0.7),
        datetime.date(2020, 1, 1),
        np.datetime64("2020-01-02", "ns"),
        datetime.time(3),
        "01.01.2020",
    ]
    assert encoder.encode({"x": cells})[0].ravel().tolist() == [1] * len(cells)
    assert encoder.encode({"x": [0.2, "2020-01-03", "b"]})[0].ravel().tolist() == [2] * 3


def test_equal_values_have_one_digest():
    assert digest(1) == digest(1.0) == digest(True) != digest("1")
    assert digest(0.1) == digest(float(np.float32(0.1))) != digest(0.2)
