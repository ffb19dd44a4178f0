"""Round-off of every exact quantity stays within its bound: some of the circuits of `accuracy`, with both engines."""

import accuracy
import odd_circuits
import pytest
from engines import ENGINES, HAS_NUMBA

HERE = [engine for engine in ENGINES if HAS_NUMBA or engine == "numpy"]
SLOW = (27, 36)  # up to a thousand children, ten thousand variables: minutes each


@pytest.mark.parametrize(
    "number",
    [
        *range(12),
        *(
            pytest.param(n, marks=pytest.mark.slow if n in SLOW else pytest.mark.thorough)
            for n in (*range(12, 30), SLOW[1])
        ),
    ],
)
def test_no_error_exceeds_its_bound(number):
    _, circuit = odd_circuits.draw(number)
    found = [(engine, result) for engine, result in accuracy.measure(circuit, number, engines=HERE)]
    assert found
    assert [(engine, result) for engine, result in found if not result.share <= 1] == []


def test_the_slice_has_every_family_of_circuits():
    assert {odd_circuits.draw(n)[0] for n in (*range(30), *SLOW)} == {
        *odd_circuits.SMALL,
        *odd_circuits.LARGE,
    }
