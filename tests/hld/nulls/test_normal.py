"""The paper's closed form, and by how much it is wrong."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from hld.laws.limit_law import NormalLaw, law_of_values


def test_the_closed_form_is_the_papers():
    law = NormalLaw(trace=0.3, trace_sq=0.02)
    T, alpha = 40, 0.05
    expected = np.sqrt(0.3 / T + norm.isf(alpha) / T * np.sqrt(2 * 0.02))
    assert np.sqrt(law.threshold(alpha, T)) == pytest.approx(expected, rel=1e-12)
    found = law.pvalue([expected**2], T)
    assert (found.value, found.error, found.null) == (
        pytest.approx(alpha, rel=1e-10),
        None,
        "normal",
    )


@pytest.mark.parametrize(
    ("eigenvalues", "alpha", "rate"), [([1, 1], 0.05, 0.0710), ([1], 0.01, 0.0383)]
)
def test_it_is_anti_conservative_by_what_the_module_says(eigenvalues, alpha, rate):
    eigenvalues = np.array(eigenvalues, dtype=float)
    threshold = NormalLaw(eigenvalues.sum(), (eigenvalues**2).sum()).threshold(alpha, 1)
    assert law_of_values(eigenvalues).pvalue([threshold], 1).value == pytest.approx(rate, abs=5e-5)


def test_nothing_that_varies():
    law = NormalLaw(0.0, 0.0)
    assert [law.pvalue([d], 5).value for d in (0.0, 0.1)] == [1, 0]
    assert law.threshold(0.05, 5) == 0


@pytest.mark.parametrize("trace", [0.01, 1.0, 50.0])
def test_a_sum_of_squares_in_a_file_is_at_most_the_square_of_the_sum(trace):
    context = SimpleNamespace(check_mean=lambda mean: None)
    whole = {"trace": trace, "trace_sq": trace**2}
    assert NormalLaw.from_parts(whole, {}, context).trace_sq == trace**2
    with pytest.raises(ValueError, match=r"'trace_sq' is .*, but 'trace' "):
        NormalLaw.from_parts({**whole, "trace_sq": 1.001 * trace**2}, {}, context)
