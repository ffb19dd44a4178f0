"""A monitor in the interface of river's drift detectors: rows one by one, drift when the evidence is there.

River's own detectors watch one number, mostly the error of a model, and need labels for it.  This one watches whole
rows against the held-out rows of a reference table, and its bound on false alarms holds over the whole stream.
"""

import numpy as np
import river.base

import hld


class TableDrift(river.base.DriftDetector):
    """Drift of rows, given as dicts, against a fitted `hld.HLDDetector`.

    Parameters
    ----------
    detector : hld.HLDDetector
    alpha : float
        Bound on the probability of ever raising a false alarm, between two resets.
    batch : int
        Rows that are collected before the monitor looks.
    """

    def __init__(self, detector, alpha=0.01, batch=20):
        super().__init__()
        if detector.judge_ is not detector.test_:
            raise ValueError(
                "`detector` judges groups, a series, or rows given covariates, expected one of "
                "independent rows: test whole batches with `detector.test`"
            )
        self.detector, self.alpha, self.batch = detector, alpha, batch
        self.monitor = hld.Monitor(detector, alpha)
        self._reset()

    def _reset(self):
        """River calls it before the first row after a drift."""
        super()._reset()
        self.rows = []
        if hasattr(self, "monitor"):
            self.monitor.reset()

    def update(self, x):
        """Take in a row; `drift_detected` is then up to date."""
        if self.drift_detected:
            self._reset()
        self.rows.append(x)
        if len(self.rows) == self.batch:
            encoder = self.detector.encoder_
            table = {name: [row.get(name) for row in self.rows] for name in encoder.table_names}
            self.rows = []
            self._drift_detected = self.monitor.update(table).alarm


if __name__ == "__main__":
    rng = np.random.default_rng(0)

    def order(scale=1.0):
        """A row of a shop."""
        size = int(rng.poisson(3))
        return {
            "weekday": int(rng.integers(7)),
            "size": size,
            "amount": float((1 + size) * rng.gamma(4, 5 * scale)),
        }

    orders = [order() for _ in range(2000)]
    training = {name: [row[name] for row in orders] for name in orders[0]}
    drift = TableDrift(hld.HLDDetector(num_epochs=10).fit(training))
    for number in range(1, 2001):
        drift.update(order(1.0 if number <= 1000 else 1.6))
        if drift.drift_detected:
            print(f"drift at row {number}")
            break
