"""Other tests of the same question: those that the HLD paper compares with, and an exact one-sample MMD."""

from hld.baselines.peers import (
    BaselineResult,
    BaselineTest,
    dropout_scores,
    dropout_test,
    median_bandwidth,
    mmd_squared,
    mmd_test,
    root_likelihood_test,
    typicality_test,
)
from hld.laws.ranks.monte_carlo import rejection_threshold

__all__ = [
    "BaselineResult",
    "BaselineTest",
    "dropout_scores",
    "dropout_test",
    "median_bandwidth",
    "mmd_squared",
    "mmd_test",
    "rejection_threshold",
    "root_likelihood_test",
    "typicality_test",
]
