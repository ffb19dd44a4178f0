"""Record batches to summaries, also where Spark and Ray run them."""

import pathlib
import sys

import numpy as np
import pytest

import hld

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def table():
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
def detector(table):
    return hld.HLDDetector(num_latents=2, num_epochs=4, num_resamples=99).fit(table)


def summed(rows):
    """The summary of rows that an engine collected."""
    return sum(hld.BatchSummary.from_bytes(bytes(row["summary"])) for row in rows)


def assert_equal(found, expected):
    assert found.num_rows == expected.num_rows
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12)
    np.testing.assert_array_equal(found.table.categories, expected.table.categories)


def test_batches_of_partitions_add_up_to_the_table(table, detector):
    summarize = hld.arrow_summarizer(detector)
    parts = [table[:100], table[100:100], table[100:500], table[500:]]
    found = [
        batch for part in parts for batch in summarize(iter(part.to_batches(max_chunksize=64)))
    ]
    assert len(found) == 3  # the empty partition says nothing
    rows = [row for batch in found for row in batch.to_pylist()]
    assert_equal(summed(rows), detector.summarize(table))
    assert detector.test(summed(rows)).pvalue == pytest.approx(
        detector.test(detector.summarize(table)).pvalue
    )


def test_tables_in_and_out(table, detector):
    found = hld.arrow_summarizer(detector)(table)
    assert isinstance(found, pyarrow.Table)
    assert_equal(summed(found.to_pylist()), detector.summarize(table))
    assert hld.arrow_summarizer(detector)(table[:0]).num_rows == 0


def test_what_is_no_detector_is_refused():
    with pytest.raises(TypeError, match="`detector` must be a fitted HLDDetector"):
        hld.arrow_summarizer(hld.HLDDetector())


@pytest.fixture
def workers(monkeypatch):
    """Processes started from here run this interpreter, find this library, and listen to this machine alone."""
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).resolve().parents[3]))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Spark, about a pandas newer than itself
@pytest.mark.usefixtures("workers")
def test_spark(table, detector):
    sql = pytest.importorskip("pyspark.sql")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    try:
        spark = builder.getOrCreate()
    except Exception as error:  # no Java
        pytest.skip(f"Spark does not start: {str(error)[:200]}")
    try:
        frame = spark.createDataFrame(table.to_pandas()).repartition(3)
        rows = frame.mapInArrow(hld.arrow_summarizer(detector), "summary binary").collect()
    finally:
        spark.stop()
    assert len(rows) == 3
    assert_equal(summed(rows), detector.summarize(table))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("workers")
def test_ray(table, detector):
    ray = pytest.importorskip("ray")
    data = pytest.importorskip("ray.data")
    ray.init(num_cpus=2, include_dashboard=False, ignore_reinit_error=True, log_to_driver=False)
    try:
        parts = data.from_arrow([table[:300], table[300:]])
        rows = parts.map_batches(
            hld.arrow_summarizer(detector), batch_format="pyarrow", batch_size=None
        ).take_all()
    finally:
        ray.shutdown()
    assert_equal(summed(rows), detector.summarize(table))
