"""The test as an ONNX graph: run by onnxruntime, and compared with the library to 1e-9."""

import numpy as np
import pytest

import hld

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def table(rng, number, shift=0.0):
    kind = rng.integers(0, 5, number)
    return {
        "a": kind,
        "n": kind + rng.normal(size=number) + shift,
        "k": (kind + rng.integers(0, 2, number)) % 4,
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [
        {"metric": "likelihoods"},
        {"metric": "whitened"},
        {"reference": "circuit", "metric": "euclidean", "null": "exact"},
        {"metric": "likelihoods", "tolerance": 0.05},
        {"reference": "circuit", "metric": "euclidean", "null": "normal"},
    ],
    ids=str,
)
def test_what_the_graph_computes_is_what_the_library_computes(options):
    from hld.export.onnx_graph import onnx_model
    from hld.export.plan import plan_of

    detector = hld.HLDDetector(num_latents=3, num_epochs=4, **options).fit(
        table(np.random.default_rng(0), 600)
    )
    plan, test, rng = plan_of(detector), detector.test_, np.random.default_rng(1)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(onnx_model(detector).SerializeToString(), settings)
    names = [output.name for output in session.get_outputs()]
    assert names == ["means", "distances", "pvalues", "pvalue", "valid"]
    least, seen = max(plan.least_rows, 1), set()
    for size in (least, 2 * least + 7, 1000):
        for shift in (0.0, 0.1, 0.5, 2.0):
            codes = detector.encoder_.encode(table(rng, size, shift))[0].astype(np.int64)
            means, distances, pvalues, pvalue, valid = session.run(None, {"codes": codes})
            mean = test.vectors.mean(codes)
            expected = test.judge(mean, size)
            np.testing.assert_allclose(means, mean, rtol=1e-12, atol=1e-300)
            np.testing.assert_allclose(
                distances,
                [metric.squared(mean - test.mean) ** 0.5 for metric in test.calibration.metrics],
                rtol=1e-9,
            )
            assert valid
            if plan.least_rows:
                np.testing.assert_allclose(pvalues, expected.pvalues, rtol=1e-9, atol=1e-290)
                assert float(pvalue) == pytest.approx(expected.pvalue, rel=1e-9)
                seen.add(bool(pvalue < 0.01))
            else:
                assert np.isnan(pvalue)
    assert seen == ({True, False} if plan.least_rows else set())
    for wrong in (-1, plan.columns[1].num_categories):
        codes[2, 1] = wrong
        *_, pvalues, pvalue, valid = session.run(None, {"codes": codes})
        assert (bool(valid), bool(np.isnan(pvalue)), bool(np.isnan(pvalues).all())) == (
            False,
            True,
            True,
        )
    if plan.least_rows > 3:
        assert np.isnan(session.run(["pvalue"], {"codes": codes[3:6]})[0])


@pytest.mark.parametrize("metric", ["likelihoods", "whitened"])
def test_sums_of_many_rows_are_as_exact_as_those_of_few(metric):
    """Runtimes add one by one: 50,000 rows that are all alike had p = 1e-300, and others p-values off by 3e-8."""
    from hld.export.onnx_graph import onnx_model

    rng = np.random.default_rng(0)
    alike = [["c", 1]] * 600
    spread = rng.standard_cauchy((600, 1))
    for rows, many in ((alike, alike[:1] * 50_000), (spread, spread[rng.integers(0, 590, 50_000)])):
        detector = hld.HLDDetector(num_latents=3, num_epochs=4, metric=metric).fit(rows)
        session = onnxruntime.InferenceSession(onnx_model(detector).SerializeToString())
        codes = detector.encoder_.encode(many)[0].astype(np.int64)
        means, pvalue = session.run(["means", "pvalue"], {"codes": codes})
        distinct, counts = np.unique(
            codes, axis=0, return_counts=True
        )  # whose weighted sum has few rounding errors
        expected = counts @ detector.test_.vectors.rows(distinct) / len(codes)
        np.testing.assert_allclose(means, expected, rtol=4e-15)
        assert float(pvalue) == pytest.approx(
            detector.test_.judge(expected, len(codes)).pvalue, rel=1e-9
        )
