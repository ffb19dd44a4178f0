"""Circuits that do not fit into memory are refused before any of their tables is made."""

import numpy as np
import pytest

from pcircuit import InputRegion, hclt, rat_spn
from pcircuit.learning import start_values

ROWS = np.random.default_rng(0).integers(0, 3, (50, 6))


@pytest.mark.parametrize(
    "build",
    [
        lambda: rat_spn([2, 3, 4, 5, 2], num_units=3, depth=1),
        lambda: rat_spn([7]),
        lambda: rat_spn([2] * 5, num_units=2, depth=3),
        lambda: hclt(ROWS, num_latents=3),
        lambda: hclt(ROWS[:, :1], num_latents=3),
        lambda: hclt(ROWS, num_latents=1),
    ],
)
def test_the_size_asked_for_is_that_of_the_arrays(build, monkeypatch):
    asked = []
    monkeypatch.setattr(start_values, "check_memory", lambda what, size, advice: asked.append(size))
    regions = build().regions
    assert asked == [
        sum(
            region.probs.nbytes
            if isinstance(region, InputRegion)
            else region.products.nbytes + region.weights.nbytes
            for region in regions
        )
    ]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: rat_spn([10**12, 2]),
            "a circuit of 2 variables with `num_units` 4 takes 29.1 TiB, more than there is: "
            "give a smaller `num_units`, or variables of fewer categories",
        ),
        (
            lambda: rat_spn([2**62] * 3),
            "a circuit of 3 variables with `num_units` 4 takes 4.03e+08 TiB",
        ),
        (
            lambda: rat_spn([2, 2], num_units=10**10),
            "a circuit of 2 variables with `num_units` 10000000000 takes",
        ),
        (
            lambda: rat_spn([2, 2], num_units=10**30),
            "a circuit of 2 variables with `num_units` 10000000000000000000",
        ),
        (
            lambda: rat_spn([2, 2], num_units=10**5000),
            "a circuit of 2 variables with `num_units` a number of thousands",
        ),
        (
            lambda: hclt(ROWS, num_latents=10**30),
            "a circuit of 6 variables with `num_latents` 10000000000000000000",
        ),
    ],
)
def test_circuits_that_do_not_fit_into_memory(build, message):
    with pytest.raises(MemoryError) as caught:
        build()
    assert str(caught.value).startswith(message)


def test_one_variable_has_one_unit_whatever_is_asked_for():
    assert (
        rat_spn([3], num_units=10**30).num_units
        == hclt(ROWS[:, :1], num_latents=10**30).num_units
        == 1
    )
