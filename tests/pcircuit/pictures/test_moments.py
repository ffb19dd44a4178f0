"""The covariance of unit likelihoods and its eigenvalues as pictures: what is drawn is what was computed."""

import warnings

import numpy as np
import pytest
import zoo
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import pcircuit
from pcircuit import Circuit, InputRegion, VTree
from pcircuit.pictures import moments as module

ZOO = zoo.circuits()


def coin(p):
    return Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p]])])


def share_of(ax):
    """The axes on the right."""
    (other,) = (axes for axes in ax.figure.axes if axes is not ax)
    return other.lines[0].get_ydata()


def test_eigenvalues_are_those_of_numpy_and_shares_end_at_one(ax):
    moments = pcircuit.exact_moments(ZOO["irregular_csr"])
    pcircuit.plot_eigenvalues(moments, ax=ax)
    expected = np.linalg.eigvalsh(moments.covariance())[::-1]
    values, number = ax.lines[0].get_ydata(), len(ax.lines[0].get_ydata())
    np.testing.assert_allclose(values, expected[:number], rtol=1e-9)
    assert expected[number:].max(initial=0.0) <= 1e-12 * expected[0]
    assert ax.lines[0].get_xdata().tolist() == list(range(1, number + 1))
    np.testing.assert_allclose(share_of(ax), np.cumsum(values) / values.sum(), rtol=1e-12)
    directions = expected.sum() ** 2 / (expected**2).sum()
    assert ax.get_title() == f"effective directions: {directions:.1f} of {number}"


@pytest.mark.parametrize("p", [0.5, 1.0])
def test_units_that_do_not_vary_are_drawn_too(p, ax):
    moments = pcircuit.exact_moments(coin(p))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pcircuit.plot_eigenvalues(moments, ax=ax)
        other = pcircuit.plot_covariance(moments, ax=Figure().add_subplot())
        for drawn in (ax, other):
            FigureCanvasAgg(drawn.figure).draw()
    assert ax.get_title() == "effective directions: 0.0 of 0"
    assert other.get_images()[0].get_array().tolist() == [[0.0]]


def test_other_things_and_too_many_units_are_refused(ax, monkeypatch):
    moments = pcircuit.exact_moments(ZOO["two_coins"])
    monkeypatch.setattr(module, "MOST_ROWS", len(moments.nodes))
    pcircuit.plot_covariance(moments, ax=ax)
    monkeypatch.setattr(module, "MOST_ROWS", len(moments.nodes) - 1)
    for draw in (pcircuit.plot_covariance, pcircuit.plot_eigenvalues):
        with pytest.raises(
            ValueError,
            match=f"`moments` are of {len(moments.nodes)} units, and a picture shows at mo",
        ):
            draw(moments, ax=ax)
        with pytest.raises(
            TypeError,
            match=r"`moments` must be what `pcircuit\.exact_moments` returns, found Circuit",
        ):
            draw(ZOO["two_coins"], ax=ax)
