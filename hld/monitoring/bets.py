"""The bets of the monitor: which ones, how much can be lost, and how money moves between them.

Let y_j = (l_j - mu_j) / sigma_j be the standardised deviation of node j in a row.  There are three kinds of bets.

* *Cash* is not bet.
* *Nodes.*  l_j lies in [0, u_j] (`monitoring.bounds`), so l_j - mu_j can fall by mu_j and rise by u_j - mu_j.  A bet
  with stake lambda in (0, 1) multiplies its money in each row by

      up    1 + lambda (l_j - mu_j - margin) / (mu_j + margin)
      down  1 + lambda (mu_j - l_j - margin) / (u_j - mu_j + margin).

* *Directions.*  c . y with vectors c learned from earlier rows, anew after every 16 rows:

      c = sigma^2 * ybar         so that a is the mean difference of L itself, as in the HLD statistic
      c = (R + rho I)^-1 ybar    R the correlations of L: the direction in which money grows fastest for small shifts

  each with ybar the mean over all rows so far, and over about the last 64.  In terms of L it is a = c / sigma, and

      1 + lambda (a . (L - mu) - margin ||a||) / (a . mu - floor(a) + margin ||a||),       floor(a) <= min_x a . L(x).

**Rounding.**  Computed likelihoods and means are off by a relative e_j of perhaps 1e-14 (`pcircuit.moments.rounding`),
and a factor that is favourable by 1e-14 in every row wins any amount in the end.  So every bet pays for what rounding
may have given it: e_j (l_j + mu_j) is subtracted from l_j - mu_j and from mu_j - l_j, and the sum of |a_j| times these
from a . (L - mu).  The sums and products of a row's bets are paid for once, by a term of log W_t (`LEAST_DROP`).  With
that, W_t as it is computed has no conditional expectation above W_{t-1} either.  A node whose standard deviation is
within its rounding errors is not bet on.

Under the null hypothesis no factor has a conditional expectation above 1, and none can be negative.  The wealth of all
bets together, W_t, starts at 1.  It is what it would be if fixed fractions were put on everything, except that after
row t the share s_t = 1 / (2 (t + 1)) of all money is collected and given out again in the initial proportions.  Moving
money between bets changes no expectation, and it has two advantages: a bet that lost everything on early rows is alive
when the shift comes late, and mixed stakes follow the best one (fixed share, Herbster and Warmuth 1998).

A node whose bound exceeds 50 standard deviations (a likelihood that is tiny except in rare states) is left out of the
whitened directions: it would multiply their largest loss and add little to their gain.  So is one whose rounding errors
come to more than a thousandth of its standard deviation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import pcircuit
from hld.monitoring.bounds import floor_rows, unit_bounds
from pcircuit.moments.rounding import rounding_errors

DIRECTION_STAKES = (0.9, 0.3, 0.1, 0.03)
NODE_STAKES = (0.9, 0.3, 0.1)
CASH, ON_DIRECTIONS, ON_NODES = 0.4, 0.3, 0.3  # first proportions
RATES = (0.0, 1 / 64)  # forgetting rates of the running means; 0 weighs all rows alike
SHARE, REFRESH = 0.5, 16
LEAST_LENGTH = (
    1e-9  # of a running mean, in standard deviations: less may be what rounding leaves of zero
)
RIDGE = 0.01  # rho, in units of the largest eigenvalue of R
MOST_DEVIATIONS = 50.0  # u_j / sigma_j of a node in whitened directions
MOST_WHITENED = (
    1000  # nodes up to which correlations are used; beyond, R is replaced by the identity
)
SMALLEST = 1e-150  # of mu_j and sigma_j; smaller nodes are not bet on, as their squares underflow
LARGEST_GAIN = 1e30  # u_j / mu_j
MOST_DOUBT = 1e-3  # e_j mu_j / sigma_j of a node in whitened directions
EPS = float(np.finfo(np.float64).eps)
FAR_BEHIND = (
    2.0**-160
)  # products so much smaller than another one of their region are not always resolved
SPARE = (
    4.0  # largest losses allow for so many times the rounding errors of likelihoods at their bounds
)
LEAST_DROP = (
    64  # log W_t falls by (2 numbers of bets + this + the sizes of its logarithms) EPS in every row
)


class Bets(NamedTuple):
    """What stays fixed; m nodes, w of them in whitened directions."""

    mean: np.ndarray  # (m,) mu
    doubts: (
        np.ndarray
    )  # (m,) e, relative rounding errors of likelihoods and mu, with those of sums over m nodes
    scale: np.ndarray  # (m,) 1 / sigma, 0 for nodes that are not bet on
    scaled_mean: np.ndarray  # (m,) mu / sigma
    scaled_bound: np.ndarray  # (m,) u / sigma
    rise: np.ndarray  # (m,) one over the largest loss of the bet "up", 0 without bet
    fall: np.ndarray  # (m,) the same of "down"
    euclidean: np.ndarray  # (m,) sigma^2, up to a factor
    kept: np.ndarray  # (w,) positions of the nodes in whitened directions
    whitening: (
        np.ndarray
    )  # (w, w) inverse of their regularised correlations; (0, 0) stands for the identity
    groups: np.ndarray  # lower bounds of directions, see FloorRows
    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    margin: float
    direction_stakes: np.ndarray
    node_stakes: np.ndarray
    rates: np.ndarray
    cash: float  # first proportions: not bet, on each stake of a direction, on each stake of a node (m,)
    on_direction: float
    on_node: np.ndarray
    share: float
    refresh: int
    spare: float
    least_drop: float


class Wealth(NamedTuple):
    """What changes from row to row; D directions.  The money is in units of the total, whose logarithm is `log`."""

    num_rows: np.ndarray  # (1,) int
    log: np.ndarray  # (1,) log W_t
    cash: np.ndarray  # (1,)
    on_directions: np.ndarray  # (D, stakes)
    on_nodes: np.ndarray  # (m, 2 stakes): up, then down
    means: np.ndarray  # (rates, m) running means of y
    directions: np.ndarray  # (m, D) vectors c
    tolls: np.ndarray  # (D,) margin ||a||
    gains: np.ndarray  # (D,) one over the largest loss, 0 for a direction without length

    def copy(self) -> Wealth:
        """The same numbers in arrays of their own."""
        return Wealth(*(array.copy() for array in self))


def make_bets(
    circuit: pcircuit.Circuit,
    nodes: np.ndarray,
    mean: np.ndarray,
    stds: np.ndarray,
    whitening: np.ndarray,
    margin: float,
) -> Bets:
    """The bets on given nodes.

    Shapes: nodes (m,), mean, stds (m,), whitening (w, w).
    """
    margin = min(
        margin, len(nodes) ** 0.5
    )  # likelihoods are at most 1: no distribution is farther away
    bounds = unit_bounds(circuit)
    doubts = relative_errors(circuit, nodes, bounds, mean)
    top, usable = bounds[nodes], _usable(bounds[nodes], mean, stds, doubts)
    scale = _inverse(stds, usable)
    fall = np.maximum(top - mean, 0.0) + SPARE * doubts * top + margin
    rise = mean * (1 + SPARE * doubts) + margin
    floor = floor_rows(circuit, nodes, scale, bounds)
    num_bets = 1 + 2 * len(RATES) * len(DIRECTION_STAKES) + 2 * len(nodes) * len(NODE_STAKES)
    on_direction = ON_DIRECTIONS / (2 * len(RATES) * len(DIRECTION_STAKES))
    on_node = usable * ON_NODES / (max(usable.sum(), 1) * 2 * len(NODE_STAKES))
    return (
        Bets(  # copies, which may be written to: a kernel is compiled anew for arrays that may not
            mean=np.array(mean),
            doubts=doubts,
            scale=scale,
            scaled_mean=mean * scale,
            scaled_bound=top * scale,
            rise=_inverse(rise, usable),
            fall=_inverse(fall, usable),
            euclidean=np.square(stds / max(stds.max(), SMALLEST)) * usable,
            kept=kept_nodes(top, mean, stds, doubts),
            whitening=np.array(whitening),
            groups=floor.groups,
            starts=floor.starts,
            columns=floor.columns,
            values=floor.values,
            margin=float(margin),
            direction_stakes=np.array(DIRECTION_STAKES),
            node_stakes=np.array(NODE_STAKES),
            rates=np.array(RATES),
            on_direction=on_direction,
            on_node=on_node,
            cash=1.0 - ON_DIRECTIONS - 2 * len(NODE_STAKES) * on_node.sum(),
            share=SHARE,
            refresh=REFRESH,
            spare=SPARE,
            least_drop=EPS * (2 * num_bets + LEAST_DROP),
        )
    )


def relative_errors(
    circuit: pcircuit.Circuit, nodes: np.ndarray, bounds: np.ndarray, mean: np.ndarray
) -> np.ndarray:
    """(m,) e: bounds on the relative errors of l_j and mu_j, and of sums over nodes of terms of their size.

    A product far behind another one of its region may be given as 0: its error is relative to the largest of them.

    Shapes: nodes (m,), bounds (N,), mean (m,) -> (m,).
    """
    errors = rounding_errors(circuit, nodes) + (circuit.num_nodes + len(nodes) + 8) * EPS
    table = circuit.nodes
    is_product = table.kind == "product"
    largest = np.zeros(len(circuit.regions))
    np.maximum.at(largest, table.region[is_product], bounds[is_product])
    behind = np.where(is_product[nodes], FAR_BEHIND * largest[table.region[nodes]], 0.0)
    return errors + np.divide(behind, mean, out=np.zeros(len(nodes)), where=mean > SMALLEST)


def whitening_matrix(circuit: pcircuit.Circuit, moments: pcircuit.Moments) -> np.ndarray:
    """(R + rho lambda_max I)^-1 for the correlations R of the nodes that are kept; (0, 0) if they are too many.

    Returns (w, w).
    """
    stds = np.sqrt(moments.diagonal())
    bounds = unit_bounds(circuit)
    doubts = relative_errors(circuit, moments.nodes, bounds, moments.mean)
    kept = kept_nodes(bounds[moments.nodes], moments.mean, stds, doubts)
    if len(moments.nodes) > MOST_WHITENED or len(kept) == 0:
        return np.zeros((0, 0))
    correlation = moments.covariance()[np.ix_(kept, kept)] / stds[kept, None] / stds[kept]
    ridge = RIDGE * np.linalg.norm(correlation, 2)  # at least RIDGE: the diagonal is 1
    inverse = np.linalg.inv(correlation + ridge * np.eye(len(kept)))
    return np.ascontiguousarray((inverse + inverse.T) / 2)


def kept_nodes(
    bounds: np.ndarray, mean: np.ndarray, stds: np.ndarray, doubts: np.ndarray
) -> np.ndarray:
    """(w,) positions of the nodes in whitened directions, from bounds, means, deviations and relative errors (m,).

    Shapes: bounds, mean, stds, doubts (m,) -> (w,).
    """
    is_steady = (bounds <= MOST_DEVIATIONS * stds) & (doubts * mean <= MOST_DOUBT * stds)
    return np.flatnonzero(_usable(bounds, mean, stds, doubts) & is_steady)


def new_wealth(bets: Bets) -> Wealth:
    """W_0 = 1, in first proportions, and no direction yet."""
    m, D = len(bets.mean), 2 * len(bets.rates)
    on_nodes = np.repeat(bets.on_node[:, None], 2 * len(bets.node_stakes), axis=1)
    return Wealth(
        np.zeros(1, dtype=np.int64),
        np.zeros(1),
        np.array([bets.cash]),
        np.full((D, len(bets.direction_stakes)), bets.on_direction),
        on_nodes,
        np.zeros((len(bets.rates), m)),
        np.zeros((m, D)),
        np.zeros(D),
        np.zeros(D),
    )


def _inverse(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """1 / values (m,), and 0 elsewhere."""
    return np.divide(1.0, values, out=np.zeros(len(values)), where=where)


def _usable(
    bounds: np.ndarray, mean: np.ndarray, stds: np.ndarray, doubts: np.ndarray
) -> np.ndarray:
    """(m,) which nodes are bet on: those that vary by more than rounding, in numbers that a double can hold."""
    return (
        (stds > SMALLEST)
        & (stds > doubts * mean)
        & (mean > SMALLEST)
        & (bounds <= LARGEST_GAIN * mean)
    )
