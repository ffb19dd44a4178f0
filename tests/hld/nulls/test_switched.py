"""Where drawn batches end and the law begins."""
import numpy as np
import zoo

from hld import HLDTest
from hld.nulls.switched import SwitchedNull


def test_auto_switches_from_draws_to_the_law():
    circuit = zoo.circuits()["hclt_like"]
    test = HLDTest(circuit, null="auto", metric="whitened", rng=0, num_resamples=99)
    switch = test.calibration.null.switch
    assert switch > 1
    rows = np.zeros((switch + 1, 6), dtype=int)
    assert test(rows[:switch - 1]).null == "monte-carlo"
    assert test(rows[:switch]).null == "exact"
    assert f"T < {switch}" in test.describe()


def test_each_side_judges_its_own_sizes():
    class Fixed:
        def __init__(self, value):
            self.value = value

        def pvalue(self, squared, T):
            return self.value

        def threshold(self, alpha, T):
            return -self.value

    null = SwitchedNull(Fixed(1), Fixed(2), 10)
    assert [null.pvalue([0.0], T) for T in (1, 9, 10, 99)] == [1, 1, 2, 2]
    assert [null.threshold(0.05, T) for T in (1, 9, 10, 99)] == [-1, -1, -2, -2]
