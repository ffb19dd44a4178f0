"""The test as C: compiled, called, and compared with the library to 1e-9; and what is not exported."""

import ctypes
import itertools
import shutil
import subprocess

import numpy as np
import pytest

import hld
from hld import gchi2
from hld.export.c_source import c_source
from hld.export.plan import plan_of

CC = shutil.which("cc")
needs_compiler = pytest.mark.skipif(CC is None, reason="needs a C compiler")
EVIL = ["*/ int x;", "a\\", "??/", "\u2028\n", 'q"']


def table(rng, number, shift=0.0):
    """Levels with names that would break C, and numbers."""
    kind = rng.integers(0, 5, number)
    return {
        "*/ column": np.array(EVIL, dtype=object)[kind],
        "n": (kind + rng.normal(size=number) + shift),
        "k": (kind + rng.integers(0, 2, number)) % 4,
    }


@pytest.fixture(scope="module", params=["default", "one metric", "circuit", "normal"])
def detector(request):
    options = {
        "default": {"metric": "likelihoods"},
        "one metric": {"metric": "whitened"},
        "circuit": {"reference": "circuit", "metric": "euclidean", "null": "exact"},
        "normal": {"reference": "circuit", "metric": "euclidean", "null": "normal"},
    }[request.param]
    return hld.HLDDetector(num_latents=3, num_epochs=4, **options).fit(
        table(np.random.default_rng(0), 600)
    )


def compiled(detector, folder):
    """The function of a detector's source."""
    (folder / "model.c").write_text(c_source(detector), encoding="ascii")
    subprocess.run(
        [
            CC,
            "-std=c99",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pedantic",
            "-shared",
            "-fPIC",
            "-o",
            folder / "model.so",
            folder / "model.c",
            "-lm",
        ],
        check=True,
        timeout=120,
    )
    library, plan = ctypes.CDLL(str(folder / "model.so")), plan_of(detector)

    def call(codes):
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        means, distances, pvalues, pvalue = (
            np.zeros(n) for n in (len(plan.chosen), *[len(plan.metrics)] * 2, 1)
        )
        status = library.hld_test(
            *[ctypes.c_void_p(codes.ctypes.data), ctypes.c_long(len(codes))],
            *(ctypes.c_void_p(a.ctypes.data) for a in (means, distances, pvalues, pvalue)),
        )
        return status, means, distances, pvalues, float(pvalue[0])

    return call, plan


def batches(detector, plan):
    """Codes of batches, calm and shifted, from the smallest size that has a law."""
    rng, least = np.random.default_rng(1), max(plan.least_rows, 1)
    for size, shift in itertools.product((least, least + 7, 3 * least, 1000), (0.0, 0.1, 0.5, 2.0)):
        yield detector.encoder_.encode(table(rng, size, shift))[0]


@pytest.mark.thorough
@needs_compiler
def test_what_c_computes_is_what_the_library_computes(detector, tmp_path):
    call, plan = compiled(detector, tmp_path)
    seen = set()
    for codes in batches(detector, plan):
        status, means, distances, pvalues, pvalue = call(codes)
        expected = detector.test_.judge(detector.test_.vectors.mean(codes), len(codes))
        np.testing.assert_allclose(
            means, detector.test_.vectors.mean(codes), rtol=1e-12, atol=1e-300
        )
        deltas = means - detector.test_.mean
        np.testing.assert_allclose(
            distances,
            [metric.squared(deltas) ** 0.5 for metric in detector.test_.calibration.metrics],
            rtol=1e-9,
        )
        if not plan.least_rows:
            assert (status, np.isnan(pvalue)) == (1, True)
            continue
        assert status == 0
        np.testing.assert_allclose(pvalues, expected.pvalues, rtol=1e-9, atol=1e-290)
        assert pvalue == pytest.approx(expected.pvalue, rel=1e-9)
        seen.add(pvalue < 0.01)
    assert seen == ({True, False} if plan.least_rows else set())


@needs_compiler
def test_what_cannot_be_judged_is_refused(detector, tmp_path):
    call, plan = compiled(detector, tmp_path)
    codes = np.zeros((3, 3), dtype=np.int32)
    if plan.least_rows > 3:
        status, means, _, pvalues, pvalue = call(codes)
        assert (status, np.isnan(pvalue), np.isnan(pvalues).all()) == (1, True, True)
        np.testing.assert_allclose(means, detector.test_.vectors.mean(codes), rtol=1e-12)
    for wrong in (-1, plan.columns[1].num_categories):
        codes[2, 1] = wrong
        assert call(codes)[0] == 2
    assert call(codes[:0])[0] == 2


@needs_compiler
def test_sums_of_many_rows_are_as_exact_as_those_of_few(tmp_path):
    """Added one by one, a million likelihoods had been wrong by 2e-11, and p-values of 1e-139 by 1e-8."""
    detector = hld.HLDDetector(num_latents=3, num_epochs=4, metric="likelihoods")
    detector.fit(table(np.random.default_rng(0), 600))
    call, _ = compiled(detector, tmp_path)
    codes = detector.encoder_.encode(table(np.random.default_rng(1), 400_000, 3.0))[0]
    _, means, _, _, pvalue = call(codes)
    distinct, counts = np.unique(
        codes, axis=0, return_counts=True
    )  # whose weighted sum has few rounding errors
    expected = counts @ detector.test_.vectors.rows(distinct) / len(codes)
    np.testing.assert_allclose(means, expected, rtol=2e-15)
    assert pvalue == pytest.approx(detector.test_.judge(expected, len(codes)).pvalue, rel=1e-9)
    assert 1e-250 < pvalue < 1e-100


@needs_compiler
def test_tails_of_one_large_eigenvalue_and_many_small_ones_are_those_of_the_library(tmp_path):
    """As of 200 columns of which 15 move together: the line of integration had come too close to the second branch
    point, and P(Q > q) = 0.1 was found to be 1, and 1e-6 to be 0; from q = 1e16 on it was not a number."""
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, metric="euclidean")
    detector.fit(table(np.random.default_rng(0), 200))
    wrapper = "double tail(double *v, double *n, int k, double q) { return hld_tail(v, n, k, q); }"
    (tmp_path / "tail.c").write_text(c_source(detector) + wrapper, encoding="ascii")
    subprocess.run(
        [
            CC,
            "-std=c99",
            "-O2",
            "-shared",
            "-fPIC",
            "-o",
            tmp_path / "tail.so",
            tmp_path / "tail.c",
            "-lm",
        ],
        check=True,
        timeout=120,
    )
    function = ctypes.CDLL(str(tmp_path / "tail.so")).tail
    function.restype = ctypes.c_double
    for small, counts in itertools.product(
        (0.9, 0.5, 0.1, 0.01, 1e-6), ([0.1, 10.0], [1.0, 100.0], [1.0, 5000.0], [10.0, 1000.0])
    ):
        pair = [(ctypes.c_double * 2)(*numbers) for numbers in ([1.0, small], counts)]
        law = gchi2.prepare([1.0, small], counts)
        for p in (0.999, 0.9, 0.5, 0.1, 1e-2, 1e-3, 1e-6, 1e-50, 1e-200):
            q = gchi2.isf(p, law)
            assert function(*pair, 2, ctypes.c_double(q)) == pytest.approx(p, rel=1e-9), (
                small,
                counts,
            )
        assert {
            function(*pair, 2, ctypes.c_double(q)) for q in (2e4, 1e16, 1e17, 1e300, np.inf)
        } == {0.0}


ROWS = np.random.default_rng(0).integers(0, 3, (600, 3))


@pytest.mark.parametrize(
    ("options", "fitting"),
    [
        ({}, {"groups": np.repeat(np.arange(40), 15)}),
        ({}, {"order": "time"}),
        ({"covariates": [0]}, {}),
    ],
    ids=["groups", "time", "covariates"],
)
def test_only_the_test_of_independent_rows_is_exported(options, fitting):
    detector = hld.HLDDetector(2, 2, metric="likelihoods", num_resamples=99, **options).fit(
        ROWS, **fitting
    )
    with pytest.raises(
        ValueError,
        match="`detector` judges groups, a series, or rows given covariates, but only the "
        "test of independent rows is exported: fit without `groups`",
    ):
        plan_of(detector)


def test_a_tolerance_is_not_exported():
    detector = hld.HLDDetector(2, 2, metric="likelihoods", tolerance=0.05).fit(ROWS)
    with pytest.raises(ValueError, match=r"tolerates that .* of the rows are others"):
        plan_of(detector)
