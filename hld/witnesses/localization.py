r"""Which nodes, and which variables, carry a shift.

**Nodes** (units of the circuit).  The squared statistic is a sum over them, d^2 = sum_j delta_j^2 with
delta_j = w_j (mean_j - mu_j): a node with a large delta_j names its scope as a place of the shift.  How surprising it
is by itself is the z-score

    z_j = sqrt(T) delta_j / sigma_j,        sigma_j^2 the exact variance of w_j l_j(X) under the circuit.

A shift in one variable moves every node above it.  What a node adds to the nodes below it is its *own* z-score: with
R the correlations under the circuit and c the next selected nodes below j,

    own z_j = (z_j - R_jc R_cc^-1 z_c) / sqrt(1 - R_jc R_cc^-1 R_cj).

An input has none below it and keeps its z; a sum with a large own z says that the dependence among the variables below
it has changed.  Where rows have holes, R allows for it (`hld.testing.verdict.seen_together`); where R is not known
(summaries of rows with holes, groups, stretches of time, covariates) nodes with others below them have no own z-score
(NaN).

**Variables** get the shares of their nodes: the score of v is sum_j delta_j^2 / |S_j| over the nodes j with v in scope,
so the scores add up to d^2.  These are cues, not causes.

**p-values of nodes.**  z is standard normal without a shift as T grows, but the likelihood of a rare level is the same
number in nearly all rows: by the normal law one such row in a batch is a certain shift.  So a node is judged by how far
one row can move a mean, and by the rows of the batch.  Without a shift all N = n + T rows are exchangeable, and the
difference d of the means of T of them and of the others has over all ways to divide them the variance

.. math:: V = s_N^2 \Bigl(\frac{1}{T} + \frac{1}{n}\Bigr), \qquad
          (N - 1) s_N^2 = (n - 1) s_{ref}^2 + (T - 1) s_{batch}^2 + \frac{n T}{N} d^2 .

Let all values be from lo to hi, and m their mean.  One row moves the difference upwards by at most
J = max((hi - m) / T, (m - lo) / n), and downwards by the same with hi - m and m - lo exchanged.  Among all sums of
independent terms with the variance V and no step above J, that of rare steps of size J has the largest exponential
moments (Bennett 1962): J (X - a) with X a Poisson variable of mean a = V / J^2.  Its tail

.. math:: P \Bigl( X \ge a + \frac{|d|}{J} \Bigr) = \frac{\gamma(a + |d| / J, \; a)}{\Gamma(a + |d| / J)}

is taken for that of the difference, and twice it, at most 1, is the p-value.  (The tail of no such sum exceeds it by
more than a factor e^2 / 2, Bentkus 2004.)  lo and hi are those of the batch's rows, of `DRAWN` rows drawn from the
circuit, and of rows that show each category.  What r rows do not show has a share below 3 / r, at level 0.05, which is
added to the variance with the whole range.  The circuit as reference means infinite n and exact V.  With holes T and n
are the rows that show the node.

The p-values of nodes are adjusted by Benjamini and Hochberg (1995): among the nodes called shifted at level a the
expected share of false ones is at most a (nodes overlap and are positively dependent more often than not, which the
procedure tolerates).  Among groups and stretches of time they are ranks (`hld.laws.exchangeable`).

References: Bennett (1962), Probability inequalities for the sum of independent random variables, J. American
Statistical Association 57, 33; Bentkus (2004), On Hoeffding's inequalities, Annals of Probability 32, 1650.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.answers.adjust import benjamini_hochberg
from hld.answers.words import LEAST_SHOWN
from hld.features.row_vectors import RowVectors, some_rows
from pcircuit.arguments import check_whole_number, for_ranking

SINGULAR = 1e-9  # share of a variance below which it counts as none
DRAWN = 1_000  # rows of the circuit
MOST_CELLS = 2**24  # likelihoods of rows of a batch
UNSHOWN = 3.0  # of r rows: shares below 3 / r are missed with a probability of 0.05
EQUAL = 1e-12  # differences up to which means are alike, as for z-scores


@dataclass(frozen=True)
class NodeShift:
    """One node of a localisation."""

    node: int
    kind: str
    scope: tuple[Any, ...]
    delta: float
    zscore: float
    own_zscore: float
    pvalue: float


@dataclass(frozen=True, eq=False)
class Localization:
    """Where a batch departs from the circuit; shapes variable_scores (V,)."""

    nodes: tuple[Any, ...]
    variable_scores: np.ndarray

    def __str__(self) -> str:
        lines = [
            f"{'node':>6} {'kind':<8} {'delta':>10} {'z':>8} {'own z':>8} {'p (adj.)':>9}  scope"
        ]
        for shift in self.nodes:
            scope = ",".join(map(str, shift.scope[:12])) + (",..." if len(shift.scope) > 12 else "")
            pvalue = f"{shift.pvalue:.2g}" if shift.pvalue > LEAST_SHOWN else f"< {LEAST_SHOWN:g}"
            lines.append(
                f"{shift.node:>6} {shift.kind:<8} {shift.delta:>10.3g} {shift.zscore:>8.2f} "
                f"{shift.own_zscore:>8.2f} {pvalue:>9}  {{{scope}}}"
            )
        return "\n".join(lines)


def localize(
    circuit: pcircuit.Circuit,
    nodes: np.ndarray,
    deltas: np.ndarray,
    stds: np.ndarray,
    num_samples: float,
    *,
    top: int | None = 10,
    covariance_of: Callable[..., Any] | None = None,
    is_known: bool = True,
    pvalues: np.ndarray | None = None,
) -> Localization:
    """Rank nodes and score variables by their part in a shift.

    Shapes: nodes (m,), deltas (m,), stds (m,), pvalues (m,).
    """
    top = check_whole_number(top, "top", 1, none="all nodes")
    zscores = z_scores(deltas, stds, num_samples)
    pvalues = adjusted_pvalues(zscores) if pvalues is None else pvalues
    table = circuit.nodes[nodes]
    order = np.argsort(-for_ranking(np.abs(deltas)), kind="stable")[:top]
    own = own_zscores(circuit, nodes, zscores, order, covariance_of, is_known)
    shifts = tuple(
        NodeShift(
            int(nodes[j]),
            str(table.kind[j]),
            tuple(circuit.scope(int(nodes[j])).tolist()),
            float(deltas[j]),
            float(zscores[j]),
            float(z),
            float(pvalues[j]),
        )
        for j, z in zip(order, own, strict=True)
    )
    return Localization(shifts, variable_scores(circuit, table.region, deltas))


def z_scores(deltas: np.ndarray, stds: np.ndarray, num_samples: float) -> np.ndarray:
    """(m,) sqrt(T) delta / sigma; a node that cannot vary has z = 0, or +-inf where its mean moved all the same."""
    moved = np.sign(np.where(np.abs(deltas) > 1e-12, deltas, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            stds > 0,
            np.sqrt(num_samples) * deltas / np.where(stds > 0, stds, 1.0),
            np.where(moved != 0, moved * np.inf, 0.0),
        )


def own_zscores(
    circuit: pcircuit.Circuit,
    nodes: np.ndarray,
    zscores: np.ndarray,
    listed: np.ndarray,
    covariance_of: Callable[..., Any] | None = None,
    is_known: bool = True,
) -> np.ndarray:
    """z-scores of the positions `listed` of (m,) `nodes`, less what the next selected nodes below them explain.

    Where no covariance is known, those with nodes below them have none (NaN).
    Costs the covariance of the listed nodes and of those below them, and a small system of equations for each.

    Shapes: nodes (m,), zscores (m,), listed (k,) -> (k,).
    """
    below = [_next_below(circuit, nodes, j) for j in listed]
    own = zscores[listed].astype(np.float64)
    has_parts = np.array([len(parts) > 0 for parts in below], dtype=bool)
    if not is_known or not has_parts.any():
        return np.where(has_parts, np.nan, own)
    involved = np.unique(np.concatenate([listed, *below]).astype(np.int64))
    covariance = (
        pcircuit.exact_moments(circuit, nodes[involved]).covariance()
        if covariance_of is None
        else covariance_of(involved)
    )
    scale = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    scale[scale == 0] = 1.0  # a node that cannot vary correlates with none
    correlations = covariance / np.outer(scale, scale)
    for i, (j, parts) in enumerate(zip(listed, below, strict=True)):
        if not len(parts) or not np.isfinite(zscores[parts]).all() or not np.isfinite(own[i]):
            continue
        row, columns = np.searchsorted(involved, j), np.searchsorted(involved, parts)
        inverse = np.linalg.pinv(correlations[np.ix_(columns, columns)], SINGULAR, hermitian=True)
        shares = correlations[row, columns] @ inverse
        left = correlations[row, row] - shares @ correlations[columns, row]
        own[i] = (own[i] - shares @ zscores[parts]) / np.sqrt(left) if left > SINGULAR else 0.0
    return own


def _next_below(circuit: Any, nodes: np.ndarray, j: Any) -> np.ndarray:
    """Positions in `nodes` of the nodes of the nearest regions below that of node j that have any."""
    regions, kinds = circuit.nodes.region[nodes], circuit.nodes.kind[nodes]
    products = np.flatnonzero((regions == regions[j]) & (kinds == "product"))
    if kinds[j] == "sum" and products.size:
        return products
    found, waiting = [np.zeros(0, np.int64)], list(circuit.vtree.children(int(regions[j])))
    while waiting:
        region = waiting.pop()
        here = np.flatnonzero(regions == region)
        found.append(here)
        if not here.size:
            waiting.extend(circuit.vtree.children(region))
    return np.sort(np.concatenate(found))


def adjusted_pvalues(zscores: np.ndarray) -> np.ndarray:
    """(m,) two-sided normal p-values, adjusted by the step-up procedure of Benjamini and Hochberg."""
    from scipy.special import ndtr

    return benjamini_hochberg(2 * ndtr(-np.abs(zscores)))


def variable_scores(
    circuit: pcircuit.Circuit, regions: np.ndarray, deltas: np.ndarray
) -> np.ndarray:
    """(V,) sum of delta_j^2 / |S_j| over the nodes above each variable, handed down the v-tree.

    Shapes: regions (m,), deltas (m,) -> (V,).
    """
    vtree = circuit.vtree
    density = (
        np.bincount(regions, weights=deltas**2, minlength=vtree.num_nodes) / vtree.scope_sizes()
    )
    parents = vtree.parents.tolist()
    for r in range(vtree.num_nodes - 2, -1, -1):
        density[r] += density[parents[r]]
    return density[vtree.leaf_of()]


def node_pvalues(result: Any) -> np.ndarray:
    """(m,) p-values of the nodes of a result, not adjusted, from its rows and some 1,500 rows of the circuit."""
    T, own, g = result.num_samples, result._own, result._weights
    n = T / (result.inflation - 1) if result.inflation > 1 else math.inf
    shown = np.ones(len(result.nodes)) if g is None else g
    usual = _values(result, _usual_rows(result._circuit), 1.0 if own is None else own.weights)
    batch = usual if own is None else _values(result, own.rows, own.weights)
    d = np.divide(result.deltas, shown, out=np.zeros(len(shown)), where=shown > 0)
    low, high = (
        np.minimum(*(one.min(axis=0).filled(np.inf) for one in (usual, batch))),
        np.maximum(*(one.max(axis=0).filled(-np.inf) for one in (usual, batch))),
    )
    counts = np.maximum(batch.count(axis=0), 1)
    # rows of the batch and of the reference that show each node: g^2 (1 / T_j + 1 / n_j) = 1 / T + 1 / n
    T_j = np.full(len(shown), float(T))
    if own is not None:
        T_j = counts * (T / len(batch))
    with np.errstate(divide="ignore"):
        rest = np.where(shown > 0, (1 / T + 1 / n) / shown**2, 0.0) - 1 / T_j
        n_j = 1 / np.maximum(rest, 1 / n)
    variance = result.stds**2
    if math.isfinite(n):
        of_batch = variance
        if own is not None:
            of_batch = batch.var(axis=0).filled(0.0) * counts / np.maximum(counts - 1, 1)
        if own is None or len(batch) < T:
            rows = n_j if own is None else counts
            of_batch = of_batch + UNSHOWN / rows * (high - low) ** 2
        pooled = np.maximum(n_j - 1, 0.0) * variance + (T_j - 1) * of_batch
        pooled = pooled + T_j / (1 + T_j / n_j) * d**2
        variance = pooled / np.maximum(n_j + T_j - 1, 1.0)
    mean = batch.mean(axis=0).filled(0.0)
    mean = np.clip(mean if own is None else mean - d / (1 + T_j / n_j), low, high)
    variance = variance * (1 / T_j + 1 / n_j)
    return _tails(d, variance, (mean - low, high - mean), (T_j, n_j), shown)


def _tails(
    d: np.ndarray,
    variance: np.ndarray,
    reach: tuple[Any, Any],
    sizes: tuple[Any, Any],
    shown: np.ndarray,
) -> np.ndarray:
    """(m,) twice the tails beyond differences d with this variance, for values that reach so far below and above."""
    from scipy.special import gammainc

    ahead, behind = np.where(d > 0, reach[1], reach[0]), np.where(d > 0, reach[0], reach[1])
    step = np.maximum(ahead / sizes[0], behind / sizes[1])
    has_moved = (np.abs(d) > EQUAL) & (shown > 0)
    step = np.where(
        has_moved, np.where(step > 0, step, np.abs(d)), 1.0
    )  # squares of tiny likelihoods would be 0
    a = variance / step**2
    return np.where(has_moved, np.minimum(2 * gammainc(a + np.abs(d) / step, a), 1.0), 1.0)


def _usual_rows(circuit: pcircuit.Circuit) -> np.ndarray:
    """(r, V) rows drawn from the circuit, and of each category one that shows it wherever there is one."""
    numbers = np.array(circuit.num_categories)
    each = np.minimum(np.arange(numbers.max())[:, None], numbers - 1)
    return np.concatenate([pcircuit.sample(circuit, DRAWN, rng=0), each])


def _values(result: Any, rows: np.ndarray, weights: Any) -> Any:
    """(r, m) values of rows, of many rows some, times weights that are at least 0; masked where they are not shown."""
    vectors = RowVectors(result._circuit, result.nodes)
    rows = rows[some_rows(len(rows), max(MOST_CELLS // vectors.size, DRAWN))]
    return np.ma.array(vectors.rows(rows) * weights, mask=~vectors.seen(rows))
