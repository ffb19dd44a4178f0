"""Sums over reference rows: what they are, that a file gives them back, and that it holds no others."""

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from hld import HLDTest
from hld.references.kept_rows import KeptRows

CIRCUIT = zoo.circuits()["hclt_like"]
ROWS = pcircuit.sample(CIRCUIT, 80, rng=0).astype(np.int64)
HOLED = np.where(np.random.default_rng(1).random(ROWS.shape) < 0.1, -1, ROWS)


def kept(rows):
    return HLDTest(
        CIRCUIT,
        metric=("euclidean", "standardized"),
        reference="training",
        training_data=rows,
        rng=0,
    ).calibration.kept


def test_sums_are_those_of_the_rows():
    found, L = kept(ROWS), naive.node_values(CIRCUIT, ROWS)[:, pcircuit.select_nodes(CIRCUIT)]
    S, squared = np.cov(L.T), ((L - L.mean(axis=0)) ** 2).sum(axis=1)
    values = np.linalg.eigvalsh(S)
    assert found.num_rows == 80
    assert not found.has_holes
    np.testing.assert_allclose(found.covariance, S, atol=1e-13)
    np.testing.assert_allclose(
        found.norms[0], [S.trace(), np.sqrt((S**2).sum()), values[-1]], rtol=1e-9
    )
    np.testing.assert_allclose(
        [found.fourth[0], found.farthest[0]], [(squared**2).mean(), squared.max()], rtol=1e-9
    )


@pytest.mark.parametrize("rows", [ROWS, HOLED], ids=["whole", "with holes"])
def test_a_file_gives_back_every_sum(rows):
    found = kept(rows)
    m = len(found.covariance)
    scalars, arrays = found.to_parts()
    assert all(array.ndim == 1 or name == "norms" for name, array in arrays.items())
    again = KeptRows.from_parts(scalars, arrays, m, 2)
    assert (again.num_rows, again.has_holes) == (80, rows is HOLED)
    for name in ("norms", "fourth", "farthest", "covariance", "counts", "shared"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
        with pytest.raises((KeyError, ValueError)):
            KeptRows.from_parts(
                scalars, {key: array for key, array in arrays.items() if key != name}, m, 2
            )
