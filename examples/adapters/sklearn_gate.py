"""A step of a scikit-learn pipeline that looks at every batch before the model does.

The step learns the distribution of the table that the pipeline is fitted to, and lets rows through as they are.  A
batch that has shifted stops the prediction, or only marks it.
"""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import hld


class ShiftError(ValueError):
    """A batch is not what the pipeline has learned."""


class DriftGate(TransformerMixin, BaseEstimator):
    """Lets tables through, unless they have shifted.

    Parameters
    ----------
    alpha : float
        Level of the test of a batch.
    stop : bool
        Whether a shift raises `ShiftError`; else it is in `result_` only.
    detector : hld.HLDDetector, optional
        Not fitted; by default one with its own defaults.
    """

    def __init__(self, alpha=0.001, stop=True, detector=None):
        self.alpha, self.stop, self.detector = alpha, stop, detector

    def fit(self, X, y=None, **fitting):
        """Learn the distribution of a table; `groups` or `order` are handed on to the detector."""
        options = {} if self.detector is None else self.detector.get_params()
        self.detector_ = hld.HLDDetector(**options).fit(X, **fitting)
        return self

    def fit_transform(self, X, y=None, **fitting):
        """The training table itself is not tested."""
        self.fit(X, y, **fitting)
        return X

    def transform(self, X):
        """The table, if it has not shifted."""
        self.result_ = self.detector_.test(X, self.alpha)
        if self.result_.reject and self.stop:
            raise ShiftError(str(self.result_))
        return X


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4)) @ rng.normal(size=(4, 4))
    y = (X[:, 0] + rng.normal(size=900) > 0).astype(int)
    small = hld.HLDDetector(num_latents=2, num_epochs=10, num_bins=5)
    pipeline = make_pipeline(DriftGate(detector=small), LogisticRegression())
    pipeline.fit(X[:600], y[:600])
    print(f"accuracy on a calm batch: {pipeline.score(X[600:], y[600:]):.2f}")
    try:
        pipeline.predict(X[600:] * 2)
    except ShiftError as error:
        print("stopped:", str(error).splitlines()[0])
