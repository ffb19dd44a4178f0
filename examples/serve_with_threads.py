"""A drift check inside a service: one model for all threads, loaded and warmed up once.

A fitted detector does not change in use, so threads share it without locks; kernels and matrix products release the
interpreter lock.  The same batch gets the same p-value whichever thread asks.
"""

import concurrent.futures
import pathlib
import tempfile
import threading

import numpy as np

import hld
import pcircuit


class DriftCheck:
    """What a request handler calls."""

    def __init__(self, path):
        pcircuit.warm_up()  # compiles or loads the kernels before the first request
        self.detector = hld.load(path)
        self.shifted = 0
        self.lock = threading.Lock()  # for the counter, not for the model

    def handle(self, batch, alpha=0.01):
        """The answer to one request."""
        try:
            result = self.detector.test(batch, alpha)
        except (
            TypeError,
            ValueError,
        ) as error:  # one sentence that names what is wrong with the batch
            return {"status": 400, "error": str(error)}
        with self.lock:
            self.shifted += result.reject
        return {"status": 200, "shift": result.reject, "p": result.pvalue}


def orders(num_rows, rng, scale=1.0):
    """Rows of a shop: weekday, basket size, amount."""
    weekday = rng.integers(0, 7, size=num_rows)
    basket = 1 + rng.poisson(2 + (weekday >= 5), size=num_rows)
    return np.column_stack(
        [weekday, basket, np.round(basket * rng.gamma(4, 5 * scale, size=num_rows), 2)]
    )


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder, "orders.hld")
        hld.HLDDetector(num_epochs=10).fit(orders(600, rng)).save(model)
        check = DriftCheck(model)
    requests = [orders(100, rng) for _ in range(6)] + [
        orders(100, rng, scale=2.0),
        np.zeros((5, 2)),
    ]
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        for answer in pool.map(check.handle, requests):
            print(answer)
    print(check.shifted, "of", len(requests), "requests shifted")
