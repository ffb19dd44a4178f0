"""Tables to sums and counts: in chunks as in whole, what is absent, and what a detector makes of the counts."""

from dataclasses import replace

import numpy as np
import pytest

import hld
from hld.features.odd_rows import ODDNESS
from hld.testing.summaries.of_tables import facts_of, summarize_chunks
from hld.witnesses.witnesses import WITNESSES


def test_a_table_gives_what_its_rows_give(detector):
    detector, table = detector
    parts = detector.summarize(table[:60]) + detector.summarize(table[60:150])
    one, two = detector.test(parts), detector.test(table[:150])
    assert two.pvalue > 0.25  # which is not checked by rows
    np.testing.assert_allclose(one.pvalue, two.pvalue, rtol=1e-9)
    assert [column.to_dict() for column in one.columns] == [
        column.to_dict() for column in two.columns
    ]
    assert str(one.data_quality) == str(two.data_quality)
    assert [pair.to_dict() for pair in one.pairs] == [pair.to_dict() for pair in two.pairs]


def test_every_witness_is_heard_through_a_summary(of_arrow, arrow_table):
    parts = of_arrow.summarize(arrow_table[:60]) + of_arrow.summarize(arrow_table[60:150])
    one, two = of_arrow.test(parts), of_arrow.test(arrow_table[:150])
    assert one.witnesses.keys() == two.witnesses.keys() == {*WITNESSES, *ODDNESS}
    for name, witness in one.witnesses.items():
        assert witness.pvalue == pytest.approx(two.witnesses[name].pvalue, rel=1e-9)


def test_many_cells_of_pairs_are_left_out_and_the_result_says_so(
    of_arrow, arrow_table, monkeypatch
):
    monkeypatch.setattr("hld.testing.summaries.of_tables.MOST_CELLS", 5)
    found = of_arrow.test(of_arrow.summarize(arrow_table[:60]))
    assert (found.pairs, found.not_heard) == ((), ("largest_dependence",))


@pytest.mark.parametrize("name", ["pairs", "odd_rows"])
def test_counts_of_another_model_are_refused(found, detector, name):
    size = len(found.arrays[name])
    other = found.arrays | {name: np.zeros(size + 1, int)}
    with pytest.raises(ValueError, match=rf"{name}.* shape \({size + 1},\), expected \({size},\)"):
        detector[0].test(replace(found, arrays=other))


def test_counts_of_other_rows_and_columns_are_refused(found, detector):
    categories, cells = found.arrays["categories"], found.arrays["cells"]
    for change, said in (
        ({"categories": categories + 1}, "counts categories of other rows than its 50"),
        ({"cells": cells[:, :2]}, r"'cells' has the shape \(5, 2\), expected \(5, 3\)"),
        ({"categories": categories[1:]}, f"expected \\({len(categories)},\\): make it again"),
    ):
        with pytest.raises(ValueError, match=said):
            detector[0].test(replace(found, arrays=found.arrays | change))
    of_rows = {name: found.arrays[name] for name in ("sums", "seen")}
    with pytest.raises(ValueError, match=r"'cells' has the shape \(\), expected"):
        detector[0].test(replace(found, arrays=of_rows))


def test_chunks_add_up_and_none_are_refused(detector):
    detector, table = detector
    whole = detector.summarize(table)
    found = summarize_chunks(detector, np.array_split(table, 5))
    np.testing.assert_allclose(found.sums, whole.sums, rtol=1e-12)
    np.testing.assert_array_equal(found.arrays["cells"], whole.arrays["cells"])
    np.testing.assert_array_equal(found.arrays["categories"], whole.arrays["categories"])
    with pytest.raises(ValueError, match="`chunks` has no table: at least one is needed"):
        summarize_chunks(detector, [])


def named(table, names="abc"):
    return {name: table[:, v] for v, name in enumerate("abc") if name in names}


@pytest.fixture(scope="module")
def by_name(detector):
    return hld.HLDDetector(num_latents=1, num_epochs=2, metric="euclidean", null="exact").fit(
        named(detector[1])
    )


def test_a_column_is_absent_that_no_chunk_has_and_missing_where_some_have_it(by_name, detector):
    """The sum of two summaries said that a column was not in the batch, half of whose rows had it."""
    parts = np.array_split(detector[1][:30], 3)
    chunks = [named(parts[0], "ab"), named(parts[1], "a"), named(parts[2], "ab")]
    found, total = summarize_chunks(by_name, chunks), sum(map(by_name.summarize, chunks))
    assert found.absent == total.absent == ("c",)
    assert found.arrays["cells"][0].tolist() == [0, 10, 30]  # missing
    assert found.num_missing == 40
    quality = facts_of(by_name, found)[1]
    assert quality.absent == ("c",)
    assert [one.num_missing for one in quality.columns] == [0, 10, 30]
    assert "column 'b' is not" not in str(by_name.test(total))


def test_a_summary_of_the_test_is_none_of_its_detector(by_name, detector):
    codes = by_name.encoder_.encode(named(detector[1][:9]))[0]
    with pytest.raises(
        ValueError, match=r"`batch` is for the model .* tested by the model that it was made with"
    ):
        facts_of(by_name, by_name.test_.summarize(codes))
    own, quality, evidence = facts_of(by_name, by_name.summarize(named(detector[1][:9])))
    assert own.model == by_name.test_.fingerprint
    assert quality.num_rows == evidence.batch.num_rows == 9


def test_counts_of_other_rows_in_one_column_are_refused(by_name, detector):
    found = by_name.summarize(named(detector[1][:9]))
    categories = found.arrays["categories"].copy()
    categories[0] += 1
    with pytest.raises(ValueError, match="counts categories of other rows than its 9"):
        facts_of(by_name, replace(found, arrays={**found.arrays, "categories": categories}))


pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def arrow_table():
    rng = np.random.default_rng(0)
    sizes = rng.normal(size=900)
    return pyarrow.table(
        {
            "kind": rng.choice(["a", "b", "c"], size=900),
            "size": np.where(sizes > 2, np.nan, sizes),
            "count": rng.poisson(3, size=900),
        }
    )


@pytest.fixture(scope="module")
def of_arrow(arrow_table):
    return hld.HLDDetector(num_latents=2, num_epochs=4, num_resamples=99).fit(arrow_table)


def summed(rows):
    """The summary of rows that an engine collected."""
    return sum(hld.BatchSummary.from_json(row["summary"]) for row in rows)


def assert_equal(found, expected):
    assert found.num_rows == expected.num_rows
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12)
    np.testing.assert_array_equal(found.arrays["categories"], expected.arrays["categories"])


def test_record_batches_and_tables_give_the_summary_of_the_table(arrow_table, of_arrow):
    summarize, expected = hld.arrow_summarizer(of_arrow), of_arrow.summarize(arrow_table)
    parts = [arrow_table[:100], arrow_table[100:100], arrow_table[100:500], arrow_table[500:]]
    found = [
        batch for part in parts for batch in summarize(iter(part.to_batches(max_chunksize=64)))
    ]
    assert len(found) == 3  # the empty partition says nothing
    total = summed([row for batch in found for row in batch.to_pylist()])
    assert_equal(total, expected)
    assert of_arrow.test(total).pvalue == pytest.approx(of_arrow.test(expected).pvalue)
    whole = summarize(arrow_table)
    assert isinstance(whole, pyarrow.Table)
    assert_equal(summed(whole.to_pylist()), expected)
    assert summarize(arrow_table[:0]).num_rows == 0
    with pytest.raises(TypeError, match="`detector` must be a fitted HLDDetector"):
        hld.arrow_summarizer(hld.HLDDetector())
