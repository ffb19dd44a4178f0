"""Growing: without noise the same distribution, with it a circuit that EM can go on from."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcircuit import LearnSearch, fit_em, hclt, learn, log_likelihood
from pcircuit.learning.choosing.growing import grown


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4))
def test_without_noise_nothing_changes_but_the_number_of_states(seed, num_latents, num_variables):
    rng = np.random.default_rng(seed)
    categories = rng.integers(1, 4, num_variables)
    small = hclt(rng.integers(0, categories, (20, num_variables)), num_latents, categories, rng=rng)
    large = grown(small, 0.0, rng)
    states = naive.states(small)
    np.testing.assert_allclose(
        naive.likelihood(large, states), naive.likelihood(small, states), rtol=1e-12
    )
    for r, (old, new) in enumerate(zip(small.regions, large.regions, strict=True)):
        assert new.num_units == (1 if r == small.vtree.root else 2 * old.num_units)


def test_with_noise_the_copies_part_and_learn_more(rng):
    """Three hidden groups and two states: copies of them can tell the third one."""
    group = rng.integers(3, size=(600, 1))
    rows = (rng.random((600, 6)) < np.array([0.05, 0.5, 0.95])[group]).astype(int)
    small, _ = fit_em(hclt(rows, 2, 2, rng=0), rows, num_epochs=50)
    start = grown(small, 0.3, rng)
    assert np.exp(log_likelihood(start, naive.states(start))).sum() == pytest.approx(1, abs=1e-12)
    large, _ = fit_em(start, rows, num_epochs=50)
    assert log_likelihood(large, rows).mean() > log_likelihood(small, rows).mean() + 0.005


def test_growing_is_tried_unless_it_is_left_out(rng):
    rows = rng.integers(2, size=(200, 4))
    options = {
        "num_latents": [1, 2, 3],
        "pseudocounts": [0.1],
        "num_trees": 1,
        "num_epochs": 10,
        "tolerance": 0,
    }
    names = [
        [
            trial.name
            for trial in learn(rows, rows[:50], search=LearnSearch(grow=grow, **options)).trials
        ]
        for grow in (False, True)
    ]
    assert "size, grown" not in names[0]
    assert names[1][:3] == ["size", "size", "size, grown"]
