"""Why does a row have its likelihood: hidden states behind it, and the share of each variable in it.

*Hidden states.*  A region's units are the states of a hidden variable: a sample passes through one of them.  Given a
row x, the probability that it passed through unit k is the flow of the unit (`pcircuit.expected_flows`),

    P(unit k | x) = q_k^x,   from the root down: a sum hands q_k w_kp f_p(x) / f_k(x) to product p,
                             a product hands its own to the units that it multiplies.

*Shares.*  With v(S) = ln p(x_S), the log-likelihood of the entries S of the row, the others missing, the Shapley
value of a variable is its mean contribution v(S + i) - v(S) over all orders in which the entries can become known,

    phi_i = sum over S without i of  |S|! (V - |S| - 1)! / V!  (v(S + i) - v(S)),

the only division of ln p(x) among the variables that is symmetric, additive, and gives nothing to variables that never
matter (Shapley 1953).  v(S) is one evaluation, since marginals are exact; all 2^V of them are computed for few
variables, a sample of orders for many.
"""

import math
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from pcircuit.arguments import Evidence, Floats, check_generator, check_whole_number
from pcircuit.circuit import Circuit
from pcircuit.evidence import all_missing, check_row, is_missing
from pcircuit.inference.densities import at_rows
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.inference.log_domain import log_flows

MOST_SUBSETS = 2**14  # up to which Shapley values are exact


def latent_posterior(circuit: Circuit, row: ArrayLike) -> list[np.ndarray]:
    """Probabilities of the hidden states behind a row: through which unit of each region it came.

    Parameters
    ----------
    circuit : Circuit
        Normalised, or weights are taken as they are.
    row : (V,) int array_like, or mapping of int to int
        Evidence, -1 missing; a mapping has some variables, as in {0: 1}.

    Returns
    -------
    list of (K_r,) float64 arrays
        By region, over the units that it shows; each sums to one.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, the row is impossible under the circuit, or is not one row.

    Notes
    -----
    O(number of parameters), with one logarithm per unit, so that no likelihood underflows.

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> latent_posterior(circuit, [0, -1])[0].round(4)          # 0.25 * 0.9 against 0.75 * 0.2
    array([0.6, 0.4])
    """
    evidence: Any = check_row(circuit, row)[None]
    if not circuit.is_categorical:
        block = at_rows(circuit, evidence, slice(None))
        circuit, evidence = block.circuit, block.codes
    flows, logs = log_flows(circuit, evidence, np.ones(1))
    if logs[0] == -np.inf:
        raise ValueError("`row` has probability zero under the circuit, so it has no hidden states")
    return [table.sum(axis=1) for table in flows]


def shapley_values(
    circuit: Circuit, row: ArrayLike, *, num_orders: int = 1000, rng: int | Generator | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The share of each variable in the log-likelihood of a row.

    The Shapley values of v(S) = ln p(x_S); they sum to ln p(x), less the logarithm of the circuit's total where that is
    not 1.

    Parameters
    ----------
    circuit : Circuit
        Normalised or not.
    row : (V,) int array_like, or mapping of int to int
        Evidence; a missing entry (-1) has the share 0.
    num_orders : int, default 1000
        Orders drawn where more than 14 entries are known.
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    (V,) float64 array
        Shares, in nats.
    (V,) float64 array
        Their standard errors; zeros where all subsets were evaluated.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, the row is impossible under the circuit, or is not one row.

    Notes
    -----
    2^n evaluations for n <= 14 known entries, else `num_orders` times n.

    References
    ----------
    Shapley (1953), A value for n-person games; Lundberg and Lee (2017), A unified approach to interpreting model
    predictions, NeurIPS (as explanation of single rows).

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> independent = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.5, 0.5]]), InputRegion(1, [[0.9, 0.1]]), InnerRegion([[0, 0]], [[1.0]])])
    >>> np.exp(shapley_values(independent, [0, 1])[0]).round(6)
    array([0.5, 0.1])
    """
    num_orders, rng = check_whole_number(num_orders, "num_orders", 2), check_generator(rng)
    evidence = check_row(circuit, row)
    if log_likelihood(circuit, evidence[None])[0] == -np.inf:
        raise ValueError(
            "`row` has probability zero under the circuit: its log-likelihood cannot be shared out"
        )
    known = np.flatnonzero(~is_missing(evidence))
    values, errors = np.zeros(len(evidence)), np.zeros(len(evidence))
    if 2 ** len(known) <= MOST_SUBSETS:
        values[known] = _all_subsets(circuit, evidence, known)
    else:
        drawn = _drawn_orders(circuit, evidence, known, num_orders, rng)
        values[known], errors[known] = (
            drawn.mean(axis=0),
            drawn.std(axis=0, ddof=1) / math.sqrt(num_orders),
        )
    return values, errors


def _all_subsets(circuit: Circuit, evidence: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(n,) Shapley values of the known entries, from all 2^n subsets."""
    n = len(known)
    codes = np.arange(2**n)
    inside = codes[:, None] >> np.arange(n) & 1 == 1
    rows = all_missing(circuit, len(codes))
    rows[:, known] = np.where(inside, evidence[known], rows[:, known])
    value = log_likelihood(circuit, rows)
    sizes = inside.sum(axis=1)
    weights = np.array([1 / (n * math.comb(n - 1, s)) for s in range(n)])
    result = np.empty(n)
    for i in range(n):
        without = codes[~inside[:, i]]
        result[i] = weights[sizes[without]] @ (value[without | 1 << i] - value[without])
    return result


def _drawn_orders(
    circuit: Circuit, evidence: Evidence, known: Any, num_orders: int, rng: np.random.Generator
) -> Floats:
    """(orders, n) contributions of the known entries along random orders."""
    n = len(known)
    result = np.empty((num_orders, n))
    for i in range(num_orders):
        order = rng.permutation(n)
        rows = all_missing(circuit, n + 1)
        for step, j in enumerate(order):
            rows[step + 1 :, known[j]] = evidence[known[j]]
        result[i, order] = np.diff(log_likelihood(circuit, rows))
    return result
