"""Pictures: how training went, what the circuit draws, where a shift sits, how p-values run over time.

All functions are in `hld.plots.charts`.
"""

from hld.plots.charts import (
    images,
    localisation_map,
    new_figure,
    null_law,
    pvalues_over_time,
    training_curve,
    variable_shares,
)

__all__ = [
    "images",
    "localisation_map",
    "new_figure",
    "null_law",
    "pvalues_over_time",
    "training_curve",
    "variable_shares",
]
