"""Work of a search: what a fit takes, that a limit ends the search, and that it ends it at the same place."""
import numpy as np
import pytest

from pcircuit import LearnSearch, learn

SEARCH = {"num_latents": [1, 2, 4], "pseudocounts": [0.1, 1.0], "num_trees": 4, "num_epochs": 20, "num_parts": (),
          "tolerance": 1e-9}


def work(trials, rows):
    """Of all fits but those of whole mixtures, by the definition."""
    cells = np.unique(rows, axis=0).size
    return [cells * trial.num_latents ** 2 * int(trial.epochs[-1]) for trial in trials]


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.9])
def test_nothing_is_begun_beyond_the_limit(rng, share):
    group = rng.integers(3, size=(300, 1))
    rows = (rng.random((300, 6)) < np.array([0.1, 0.5, 0.9])[group]).astype(int)
    free = learn(rows, rows[:100], search=LearnSearch(**SEARCH, max_work=1e300)).trials
    most = share * sum(work(free, rows))
    bound = learn(rows, rows[:100], search=LearnSearch(**SEARCH, max_work=most)).trials
    assert (bound[0].num_latents, bound[0].best) == (free[0].num_latents, free[0].best)  # the first size always
    assert len(bound) < len(free)
    spent = work(bound, rows)
    assert len(bound) == 1 or sum(spent[:-1]) <= most


def test_the_limit_is_that_of_the_table_not_of_the_machine(rng):
    rows = rng.integers(2, size=(200, 5))
    search = LearnSearch(**SEARCH, max_work=1e6)
    once, twice = (learn(rows, rows[:80], search=search, n_jobs=jobs).trials for jobs in (1, 2))
    assert [(trial.name, trial.best) for trial in once] == [(trial.name, trial.best) for trial in twice]
    larger = learn(np.repeat(rows, 5, axis=0), rows[:80], search=search).trials  # equal rows are merged
    assert len(larger) == len(once)


@pytest.mark.parametrize(("most", "error"), [(0, ValueError), (-1, ValueError), (float("inf"), ValueError),
                                             ("1", TypeError), (True, TypeError)])
def test_bad_limits(most, error):
    with pytest.raises(error, match="max_work"):
        LearnSearch(max_work=most)
