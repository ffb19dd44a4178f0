"""Batches as sums: they add up, go through files, are refused where they do not belong, and give p-values."""
import binascii
import json
import struct
from dataclasses import replace

import binomial_bounds as bounds
import numpy as np
import pytest
import zoo

import hld
import pcircuit
from hld.summaries.forms import MAGIC
from hld.summaries.of_tables import summarize_chunks
from hld.summaries.summary import check_summary
from hld.summaries.summing import summarize_rows

CIRCUITS = {name: c for name, c in zoo.circuits().items() if name in ("hclt_like", "rat_like", "two_coins")}

METRICS = ("euclidean", "standardized", "marginals", "whitened")  # which summaries with noise take, too


@pytest.fixture(scope="module")
def detector():
    rng = np.random.default_rng(3)
    table = rng.integers(0, 3, size=(400, 3))
    table[:, 1] = (table[:, 0] + rng.integers(0, 2, size=400)) % 3
    return hld.HLDDetector(num_latents=4, num_epochs=30, metric=METRICS).fit(table), table


@pytest.fixture
def found(detector):
    return detector[0].summarize(detector[1][:50])


@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.parametrize("null", ["exact", "auto"])
def test_the_pvalue_is_that_of_the_rows(name, null):
    circuit = CIRCUITS[name]
    test, rows = hld.HLDTest(circuit, null=null, rng=0), pcircuit.sample(circuit, 200, rng=1)
    parts = sum(test.summarize(part) for part in np.array_split(rows, 7))
    one, two = test(parts), test(rows)
    np.testing.assert_allclose([one.statistic, one.pvalue, one.threshold], [two.statistic, two.pvalue, two.threshold],
                               rtol=1e-9, atol=1e-12)


def test_sums_are_those_of_the_likelihoods():
    circuit = CIRCUITS["hclt_like"]
    test, rows = hld.HLDTest(circuit), pcircuit.sample(circuit, 30, rng=2)
    expected = pcircuit.node_likelihoods(circuit, rows, nodes=test.nodes).sum(axis=0)
    nothing, some = test.summarize(rows[:0]), test.summarize(rows)
    np.testing.assert_allclose(some.sums, expected, rtol=1e-12)
    assert nothing.num_rows == 0
    assert nothing + some == some


def test_a_table_gives_what_its_rows_give(detector):
    detector, table = detector
    parts = detector.summarize(table[:60]) + detector.summarize(table[60:150])
    one, two = detector.test(parts), detector.test(table[:150])
    assert two.pvalue > 0.25  # which is not checked by rows
    np.testing.assert_allclose(one.pvalue, two.pvalue, rtol=1e-9)
    assert [column.to_dict() for column in one.columns] == [column.to_dict() for column in two.columns]
    assert str(one.data_quality) == str(two.data_quality)
    assert one.pairs == ()


def test_an_alarm_is_no_smaller_than_that_of_the_rows(detector):
    detector, table = detector
    shifted = table[:120].copy()
    shifted[:, 1] = np.random.default_rng(3).permutation(shifted[:, 1])
    one, two = detector.test(detector.summarize(shifted)), detector.test(shifted)
    assert one.reject
    assert two.pvalue <= one.pvalue


@pytest.mark.parametrize("holes", [False, True])
def test_the_spread_of_many_rows_is_estimated_from_some(detector, holes, monkeypatch):
    """A sample without replacement: sums of squares are within five standard errors of those of all rows."""
    detector, table = detector
    rows = np.tile(table, (8, 1))
    codes = detector.encoder_.encode(rows)[0].astype(np.int64)
    if holes:
        codes[::5, 0] = -1
    whole = detector.test_.summarize(codes)
    monkeypatch.setattr("hld.summaries.summing.MOST_SPREAD", 800)
    monkeypatch.setattr("hld.summaries.summing.LEAST_SPREAD", 300)
    part, n = detector.test_.summarize(codes), len(codes)
    parts = detector.test_.summarize(codes[:1200]) + summarize_rows(detector.test_, codes[1200:], first=1200)
    for found, least in ((part, 800), (parts, 300)):
        assert found.num_rows == n
        np.testing.assert_allclose(found.sums, whole.sums, rtol=1e-12)
        np.testing.assert_array_equal(found.seen, whole.seen)
        mean, fourth = whole.spread.squares / n, whole.spread.fourths / n
        errors = 5 * np.sqrt(np.maximum(fourth - mean ** 2, 0) / least)
        assert (np.abs(found.spread.squares / n - mean) <= errors).all()
        assert not np.array_equal(found.spread.squares, whole.spread.squares)
        np.testing.assert_allclose(np.linalg.norm(found.spread.sketch, axis=(1, 2)),
                                   np.linalg.norm(whole.spread.sketch, axis=(1, 2)), rtol=0.25)


def test_holes_cost_metrics_that_mix_nodes_and_nothing_else(detector):
    detector, table = detector
    batch = table[:100].astype(float)
    batch[np.random.default_rng(1).random(batch.shape) < 0.1] = np.nan
    found = detector.test(detector.summarize(batch))
    assert dict(zip(found.metrics, found.pvalues, strict=True))["whitened"] == 1.0
    assert found.num_missing == int(np.isnan(batch).sum())
    assert found.data_quality.missingness.pvalue == detector.test(batch).data_quality.missingness.pvalue
    missing = hld.HLDTest(detector.circuit_, missing="exact")
    with pytest.raises(ValueError, match="`rows` has 1 missing entries"):
        missing.summarize([[0, -1, 0]])


@pytest.mark.thorough
@pytest.mark.parametrize("odd", [False, True], ids=["plain", "rare level"])
def test_level_against_few_reference_rows(odd):
    # A category that one row in fifty has and reference rows may not show: the check by the spread must see to it.
    circuit = zoo.independent([[0.49, 0.49, 0.02], [0.5, 0.5], [0.3, 0.7]] if odd else [[0.5, 0.5]] * 3)
    trials, rejected, rng = 150, 0, np.random.default_rng(5)
    for _ in range(trials):
        rows = pcircuit.sample(circuit, 120, rng=rng)
        test = hld.HLDTest(circuit, metric="standardized", reference="training", training_data=rows[:60])
        rejected += test(test.summarize(rows[60:])).reject
    assert rejected <= bounds.at_most(trials, 0.05)


def test_forms_give_the_summary_back(found, detector):
    text, data = found.to_json(), found.to_bytes()
    for back in (hld.BatchSummary.from_json(text), hld.BatchSummary.from_bytes(data)):
        assert back == found
        assert hash(back) == hash(found)
        assert detector[0].test(back).pvalue == detector[0].test(found).pvalue
    private = detector[0].summarize(detector[1][:50], epsilon=2.0)
    assert hld.BatchSummary.from_json(private.to_json()) == private
    assert private.table is None
    assert private.spread is None
    assert len(data) < 10_000
    holed = detector[0].summarize(np.where(np.arange(90).reshape(30, 3) % 7 == 0, np.nan, detector[1][:30]))
    for back in (hld.BatchSummary.from_json(holed.to_json()), hld.BatchSummary.from_bytes(holed.to_bytes())):
        assert (back == holed, back.is_whole) == (True, False)
        np.testing.assert_array_equal(back.seen, holed.seen)
    assert "seen" not in json.loads(text)["arrays"]  # of every row
    with pytest.raises(ValueError, match="read-only"):
        back.sums[0] = 0.0


def test_a_model_from_a_file_takes_summaries(found, detector, tmp_path):
    detector[0].save(tmp_path / "model")
    assert hld.load(tmp_path / "model").test(found).pvalue == detector[0].test(found).pvalue


def test_other_models_and_kinds_are_refused(found, detector):
    other = hld.HLDDetector(num_latents=2, num_epochs=4).fit(detector[1])
    with pytest.raises(ValueError, match="`summary` is for the model"):
        other.test(found)
    with pytest.raises(ValueError, match="`summary` is for the model"):
        detector[0].test_(found)
    with pytest.raises(ValueError, match="`other` is a summary for the model"):
        found + other.summarize(detector[1][:5])
    with pytest.raises(ValueError, match="`other` has noise for privacy"):
        found + detector[0].summarize(detector[1][:5], epsilon=1.0)
    with pytest.raises(TypeError):
        found + 1
    with pytest.raises(ValueError, match=r"`batch.num_rows` must be a whole number of at least 1"):
        detector[0].test(detector[0].summarize(detector[1][:0]))


def test_counts_of_other_rows_and_columns_are_refused(found, detector):
    table = found.table
    size = len(table.categories)
    for categories, cells, said in (
            (table.categories + 1, table.cells, "`summary` counts categories of other rows than its 50"),
            (table.categories, table.cells[:, :2], "`summary` counts 2 columns, expected 3"),
            (table.categories[1:], table.cells, f"`summary` counts {size - 1} categories, expected {size}: those"),
            (table.categories[:0], table.cells, f"`summary` counts 0 categories, expected {size}: those of all")):
        other = replace(found, table=replace(table, categories=categories, cells=cells))
        with pytest.raises(ValueError, match=said):
            detector[0].test(other)


def damaged(found):
    """Texts that are no summaries, each with a word of what is said."""
    good = json.loads(found.to_json())
    changes = [("format", "x", "format"), ("version", 2, "newer"), ("version", "1", "version"), ("model", "x", "model"),
               ("model", 3, "model"), ("num_rows", -1, "num_rows"), ("num_rows", 1.5, "num_rows"),
               ("num_missing", None, "num_missing"), ("extra", [3], "extra"), ("absent", "a", "absent"),
               ("epsilon", 1.0, "lacks"), ("surprise", 1, "unknown")]
    yield from ((json.dumps(good | {name: value}), word) for name, value, word in changes)
    arrays = [("sums", [], "fit together"), ("sums", ["a"], "numbers"), ("sums", [[1.0]], "dimensions"),
              ("odd", [51] * 4, "counts"), ("odd", [-1] * 4, "counts"), ("odd", [0.5] * 4, "numbers"),
              ("squares", [-1.0] * 4, "at least 0"), ("squares", [0.0], "fit together"),
              ("cells", [[0]], "fit together"),
              ("seen", [1], "fit together"), ("x", [1], "unknown"), ("sums", [10 ** 30] * 400, "numbers"),
              ("categories", [2 ** 63] * 12, "range")]
    yield from ((json.dumps(good | {"arrays": good["arrays"] | {name: value}}), word) for name, value, word in arrays)
    for text in ("", "[]", "{", "3", "[" * 10_000, "{}", json.dumps(good | {"arrays": 3})):
        yield text, "summary"


def test_texts_that_are_no_summaries_are_refused(found):
    cases = list(damaged(found))
    assert len(cases) > 30
    for text, word in cases:
        with pytest.raises(ValueError, match=word):
            hld.BatchSummary.from_json(text)
    for wrong in (None, b"{}", 3):
        with pytest.raises(TypeError, match="`text` must be"):
            hld.BatchSummary.from_json(wrong)


def test_a_name_that_occurs_twice_is_refused(found):
    text = found.to_json()
    for name in ("num_rows", "sums"):
        twice = text.replace(f'"{name}"', f'"{name}": [], "{name}"', 1)
        assert json.loads(twice)  # the last one would win
        with pytest.raises(ValueError, match=f"an object has the name '{name}' twice"):
            hld.BatchSummary.from_json(twice)


def test_bytes_that_are_no_summaries_are_refused(found):
    data = found.to_bytes()
    for i in range(0, len(data), 37):
        with pytest.raises(ValueError, match="`data`"):
            hld.BatchSummary.from_bytes(data[:i])
        with pytest.raises(ValueError, match="`data`"):
            hld.BatchSummary.from_bytes(data[:i] + bytes([data[i] ^ 1]) + data[i + 1:])
    with pytest.raises(TypeError, match="`data` must be"):
        hld.BatchSummary.from_bytes("text")


def sealed(header, body=b"", size=None):
    """Bytes with the right checksum, whatever they hold."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    data = MAGIC + struct.pack("<I", len(text) if size is None else size) + text + body
    return data + struct.pack("<I", binascii.crc32(data))


def test_bytes_with_the_right_checksum_hold_what_their_header_says(found):
    data = found.to_bytes()
    size = struct.unpack("<I", data[8:12])[0]
    header, body = json.loads(data[12:12 + size]), data[12 + size:-4]
    assert hld.BatchSummary.from_bytes(sealed(header, body)) == found
    shapes = header["arrays"]
    for wrong, said in (
            (sealed(header, body, 10 ** 6), "`data` is damaged: its header is longer than all of it"),
            (sealed(b"\xff\xfe"), "`data` is damaged: its header is no text"),
            (sealed(b"{"), "the summary is not JSON"),
            (sealed(header | {"arrays": [1]}, body), "`data` is not a summary: it has no arrays"),
            (sealed(header | {"arrays": shapes | {"sums": 3}}, body), "array 'sums' of the summary has the shape 3"),
            (sealed(header | {"arrays": shapes | {"sums": [-1]}}, body), "array 'sums' of the summary has the shape"),
            (sealed(header | {"arrays": shapes | {"sums": [10 ** 7] * 9}}, body), "it is shorter than its arrays"),
            (sealed(header, body[:-8]), "it is shorter than its arrays"),
            (sealed(header, body + bytes(8)), "it is longer than its arrays")):
        with pytest.raises(ValueError, match=said):
            hld.BatchSummary.from_bytes(wrong)


def test_chunks_add_up_and_none_are_refused(detector):
    detector, table = detector
    whole = detector.summarize(table)
    found = summarize_chunks(detector, np.array_split(table, 5))
    np.testing.assert_allclose(found.sums, whole.sums, rtol=1e-12)
    np.testing.assert_array_equal(found.table.cells, whole.table.cells)
    np.testing.assert_array_equal(found.table.categories, whole.table.categories)
    with pytest.raises(ValueError, match="`chunks` has no table: at least one is needed"):
        summarize_chunks(detector, [])
    holed = table[:20].astype(float)
    holed[3, 1] = np.nan
    with pytest.raises(ValueError, match="`rows` has 1 missing entries, expected none with `epsilon`"):
        summarize_chunks(detector, [table[:20], holed], epsilon=1.0)


def test_what_is_no_summary_is_refused():
    with pytest.raises(TypeError, match="`batch` must be a BatchSummary, found list: make one with `summarize`"):
        check_summary([[0, 1]], "batch")
