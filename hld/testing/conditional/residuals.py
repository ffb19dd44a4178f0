r"""The likelihood vector less its mean given the covariates: L(x, y) - E[L(x, Y) | X = x], exactly.

The circuit gives the expectation in one pass for each row (`pcircuit.expected_node_likelihoods`).  So the residual has
mean zero under the circuit given x, hence mean zero whatever the distribution of X is.

**Holes** in the batch or in the reference: a row counts for the nodes all of whose other variables it shows.  Let a
share q_j of the batch's rows show node j, and p_j of those of the reference.  Its difference Z_j, a mean over T rows
of which the others count 0, has the variance

.. math:: \mathrm{Var}(Z_j) = q_j S_{jj} w_j, \qquad w_j = \frac{1}{T} + \frac{q_j}{p_j} h,

with h the leverage of the batch if every row of the reference showed the node: the regression of the node is from p_j
of them, and q_j of what it explains is taken off.  Between nodes w_j may differ much: a sum over ten variables with a
third of the cells missing is shown by one row in sixty.  So Z_j is multiplied by the root of w / w_j, with w = 1/T + h,
which makes Var(Z_j) = q_j S_jj w; and by q_j S_jj the batch's own rows vary, too.

That is for single nodes and for the nodes of one column, which the same rows show.  Nodes of other columns are shown by
other rows, and what a metric makes of the errors of their regressions depends on which rows show both: a row of the
reference adds its residuals over p_j to them.  So the norms of a metric are those of such rows for the part with h.
The reference may not vary in a node that few of its rows show, and then says nothing of that; so the norms of the
batch's own rows are no smaller than with each node multiplied by the root of w_j / w.
Nodes that too few rows of the reference show do not count.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.features.row_vectors import RowVectors
from pcircuit.moments.means import unit_means

SLACK = 1e-9  # of the mean likelihood of a node: less is rounding
FEWEST = 30  # rows that have to show a node, unless half of them do
ROUNDING = 1e-6  # of a number of rows


def residuals(
    circuit: pcircuit.Circuit, nodes: np.ndarray, rows: np.ndarray, given: np.ndarray
) -> np.ndarray:
    """(n, m) L(x, y) - E[L(x, Y) | X = x] of the nodes.

    Shapes: nodes (m,), rows (n, V), given (V,) -> (n, m).
    O(sum over regions of P^2 S) a row, for regions of P products and S sums over variables of both kinds.
    """
    expected = pcircuit.expected_node_likelihoods(circuit, rows, given, nodes=nodes)
    found = pcircuit.node_likelihoods(circuit, rows, nodes=nodes) - expected
    found[np.isnan(expected[:, 0])] = 0.0
    found[:, shown_residuals(circuit, nodes, np.full((1, len(given)), -1), given)[0]] = 0.0
    return found


def shown_residuals(
    circuit: pcircuit.Circuit, nodes: np.ndarray, rows: np.ndarray, given: np.ndarray
) -> np.ndarray:
    """(n, m) bool, whether a row shows all variables of a node that are no covariates, so that its residual counts.

    What the circuit gets wrong about a node is learned from such rows, and is another thing where a part is summed out.
    """
    return RowVectors(circuit, nodes).seen(np.where(given, 0, rows))


def without_rounding(
    values: np.ndarray, circuit: pcircuit.Circuit, nodes: np.ndarray
) -> np.ndarray:
    """The same (n, m) values with 0 for those that are rounding beside the mean likelihood of their node."""
    # a column that is constant, or known from the covariates, has residuals that are nothing else
    values[np.abs(values) <= SLACK * unit_means(circuit)[nodes]] = 0.0
    return values


@dataclass(frozen=True, eq=False)
class ShownShares:
    """Shares of rows that show the nodes, and the leverage; shapes batch, reference (m,)."""

    batch: np.ndarray
    reference: np.ndarray
    num_rows: int
    num_held: int
    leverage: float

    @property
    def width(self) -> float:
        """w."""
        return 1 / self.num_rows + self.leverage

    @property
    def widths(self) -> np.ndarray:
        """(m,) w_j."""
        most = self.batch / np.maximum(self.reference, 1 / self.num_held)
        return 1 / self.num_rows + most * np.asarray(self.leverage)[..., None]

    def alike(self, difference: np.ndarray) -> np.ndarray:
        """(m,) differences Z that have the variance q S w, with Z (m,)."""
        return np.asarray(difference * np.sqrt(np.asarray(self.width)[..., None] / self.widths))

    def standardised(self, difference: np.ndarray) -> np.ndarray:
        """(m,) differences Z that have the variance S w; 0 where no row shows the node."""
        shown = self.batch > 0
        return np.where(
            shown, self.alike(difference) / np.sqrt(np.where(shown, self.batch, 1.0)), 0.0
        )

    def effect(self, difference: np.ndarray, variances: np.ndarray) -> float:
        """The distance of the means Z / q over the typical distance of a row, less what sampling alone gives.

        Shapes: difference (m,), variances (m,).
        """
        used = are_enough(self.batch, self.num_rows) & are_enough(self.reference, self.num_held)
        q, total = self.batch[used], float(variances[used].sum())
        if not total > 0:
            return 0.0
        noise = float((variances[used] * self.widths[used] / q).sum())
        return float(np.sqrt(max(float(((difference[used] / q) ** 2).sum()) - noise, 0.0) / total))


def are_enough(shares: np.ndarray, num_rows: int) -> np.ndarray:
    """Whether enough rows show each node; shapes shares (m,) -> (m,)."""
    return np.asarray(shares * num_rows >= max(min(num_rows / 2, FEWEST), 1) - ROUNDING)


def share_shown(shown: np.ndarray, stds: np.ndarray) -> Any:
    """The share of rows that show a residual, on average over the nodes by their variances; shapes stds (m,)."""
    total = float(stds @ stds)
    return np.asarray(
        shown.mean(axis=-2) @ stds**2 / total if total > 0 else np.ones(shown.shape[:-2])
    )
