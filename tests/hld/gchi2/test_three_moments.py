"""The law of three cumulants, against the exact one and in closed form."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaincc
from scipy.stats import chi2

from hld import gchi2
from hld.gchi2.three_moments import ThreeMoments, three_moments, upper_gamma

SPECTRA = [
    [1.0],
    [1.0, 1.0],
    [3.0, 1.0, 0.2],
    list(0.9 ** np.arange(60)),
    list(1.0 / np.arange(1, 200)),
]


@pytest.mark.parametrize("values", SPECTRA)
@pytest.mark.parametrize("v", [0.5, 1.0, 4.0])
def test_its_cumulants_are_those_of_the_sum(values, v):
    """Mean, variance and third cumulant of the law, by integrating its tail; v scales the second and third."""
    values = np.array(values)
    law = three_moments(values)
    mean, variance, third = values.sum(), 2 * v * (values**2).sum(), 8 * v**2 * (values**3).sum()
    c2, c3 = (values**2).sum(), (values**3).sum()
    scale, dof = v * c3 / c2, c2**3 / (v * c3**2)
    assert scale * (dof - dof) + mean == pytest.approx(law.first)
    assert 2 * scale**2 * dof == pytest.approx(variance)
    assert 8 * scale**3 * dof == pytest.approx(third)
    x = np.linspace(mean, mean + 12 * np.sqrt(variance), 50)
    np.testing.assert_allclose(law.tail(x, v), chi2.sf((x - mean) / scale + dof, dof), rtol=1e-10)


@pytest.mark.parametrize("values", [spectrum for spectrum in SPECTRA if len(set(spectrum)) == 1])
def test_it_is_exact_for_equal_weights(values):
    x = np.geomspace(0.1, 50, 20)
    np.testing.assert_allclose(
        three_moments(np.array(values)).tail(x), gchi2.sf(x, values), rtol=1e-9
    )


@pytest.mark.parametrize("values", SPECTRA)
def test_its_tails_are_near_the_exact_ones_and_thin_far_out(values):
    """What the module says of the law of three moments, and of the one with the largest third moment."""
    values = np.array(values)
    c2 = (values**2).sum()
    law, widest = three_moments(values), ThreeMoments(values.sum(), c2, values[0])
    for level, least, most in (
        (0.1, 0.9, 1.1),
        (0.05, 0.9, 1.1),
        (0.01, 0.9, 1.1),
        (1e-3, 0.7, 1.0),
        (1e-4, 0.4, 1.0),
    ):
        x = float(gchi2.isf(level, values))
        assert least <= law.tail(x) / level <= most + 1e-9
        assert widest.tail(x) >= level * (1 - 1e-9) or level > 0.05


@given(st.floats(1e-12, 0.3), st.floats(0.1, 20.0))
def test_quantiles_invert_tails(level, v):
    law = ThreeMoments(2.0, 1.5, 0.87)
    x = float(law.quantile(level, v))
    assert x == 0 or law.tail(x, v) == pytest.approx(level, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-140, 1e-60, 1e60, 1e140])
def test_weights_in_other_units_have_the_same_law(unit):
    """Deviations of likelihoods may be 1e-70 to 1e70: fourth powers are in the range of doubles, sixths are not."""
    values = np.array([3.0, 1.0, 0.2])
    law, other = three_moments(values), three_moments(values * unit)
    for x in (4.0, 40.0):
        assert other.tail(x * unit, 2.0) == pytest.approx(law.tail(x, 2.0), rel=1e-9)
    assert other.quantile(0.01) == pytest.approx(law.quantile(0.01) * unit, rel=1e-9)


def test_nothing_varies():
    law = three_moments(np.zeros(3))
    assert law.tail([0.0, 1e-300]).tolist() == [1.0, 0.0]
    assert law.quantile(0.1) == 0.0


def test_multiplicities_are_repeated_weights():
    assert three_moments(np.array([2.0, 1.0]), np.array([3.0, 1.0])) == three_moments(
        np.array([2.0, 2.0, 2.0, 1.0])
    )


@pytest.mark.parametrize("a", [0.3, 0.5, 1.0, 3.3, 19.9, 20.0, 50.0, 300.0, 5000.0, 1e4, 2e4])
def test_it_is_scipys(a, rng):
    near, far = a + np.sqrt(a) * 10 * rng.normal(size=60), a + 700 * rng.random(60)
    x = np.abs(np.concatenate([[0.0, 1e-9, a, a + 1], near, far]))
    expected = gammaincc(a, x)
    shown = expected > 1e-290
    found = np.array([upper_gamma(a, value) for value in x.tolist()])
    np.testing.assert_allclose(found[shown], expected[shown], rtol=1e-12 if a <= 300 else 3e-11)
    assert (found[~shown] < 1e-285).all()


@pytest.mark.parametrize("a", [0.5, 0.9, 1.0, 3.3, 20.0, 300.0])
def test_arguments_of_any_size_have_their_digits(a):
    x = 10.0 ** np.linspace(-323, -1, 300)
    found = np.array([upper_gamma(a, value) for value in x.tolist()])
    np.testing.assert_allclose(found, gammaincc(a, x), rtol=1e-12)
    assert [upper_gamma(a, value) for value in (1e307, 1e308, sys.float_info.max)] == [0.0] * 3


def test_nothing_is_beyond_infinity():
    assert upper_gamma(2.0, np.inf) == 0.0
    assert np.isnan(upper_gamma(2.0, np.nan))


def test_a_batch_is_tested_without_importing_special_functions(tmp_path):
    """What the function is for: the import takes longer than the test."""
    program = (
        "import sys, numpy as np, hld; detector = hld.load(sys.argv[1]); "
        "detector.test(np.load(sys.argv[2])); print('scipy.special' in sys.modules)"
    )
    import hld

    table = np.random.default_rng(0).integers(0, 3, size=(120, 4))
    hld.HLDDetector(num_epochs=2).fit(table).save(tmp_path / "model.hld")
    batch = table[:40].copy()
    batch[:, 0] = 0
    np.save(tmp_path / "batch.npy", batch)
    arguments = [
        sys.executable,
        "-c",
        program,
        str(tmp_path / "model.hld"),
        str(tmp_path / "batch.npy"),
    ]
    assert (
        subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.strip()
        == "False"
    )
