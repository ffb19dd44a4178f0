"""The incomplete gamma function against SciPy's, at shapes and arguments of any size."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.special import gammaincc

from hld.gchi2.upper_gamma import upper_gamma


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
