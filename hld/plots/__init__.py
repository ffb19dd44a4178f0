"""Pictures: how training went, what the circuit draws, where a shift sits, how p-values run over time.

All functions are in `hld.plots.charts`, except `null_law`, which is in `hld.plots.null_picture`.
"""

from hld.plots.charts import (
    images,
    localisation_map,
    new_figure,
    pvalues_over_time,
    training_curve,
    variable_shares,
)
from hld.plots.null_picture import null_law

__all__ = [
    "images",
    "localisation_map",
    "new_figure",
    "null_law",
    "pvalues_over_time",
    "training_curve",
    "variable_shares",
]
