"""Is one circuit positive wherever another is?  Decided in whole numbers, because sums of doubles cannot tell.

Let q be deterministic and a a unit of p, b one of q on its scope.  With T[a] = sum_x a(x) and S[a,b] the sum over the
support of b only, q covers p if S = T at the roots:

    inputs      T = T_P 1                       S = T_P [T_Q > 0]^t
    products    T = prod_c T_c                  S = prod_c S_c
    sums        T[a] = sum_p w_ap T[p]          S[a,b] = sum_{p,p'} w_ap [w_bp' > 0] S[p,p']

Whether the two are equal does not depend on the values of p's positive parameters, only on which ones are positive.  So
they are replaced by random whole numbers, and everything is computed modulo a prime, without round-off.  T - S is then
a polynomial in the parameters, with one term of coefficient 1 for each way in which p produces a state outside the
support of q.  Its degree is at most the number R of regions.  If there is no such state it is zero; else it is zero by
chance with probability at most R / PRIME (Schwartz 1980, Zippel 1979), independently in each of a few draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pcircuit.array_types import Floats, Ints
from pcircuit.circuit import Circuit
from pcircuit.regions import InputRegion

PRIME = 2**31 - 1
DRAWS = 4  # 10,000 regions: wrong with probability 5e-22
SEED = 77_130_915  # of the random numbers, which only have to be independent of the circuits
HALF = (
    2**16
)  # matrix products go in halves of numbers: sums of two million products of two are exact as doubles


def covers(q: Circuit, p: Circuit) -> bool:
    """Whether a deterministic circuit is positive at every state at which another is.

    O(R (K^2 P + K P^2)), with K and P the sizes of both circuits' regions; O(number of parameters) where p has the
    products of q and is zero wherever a parameter of q is.
    """
    if p is q or all(
        _zero_wherever(of_p, of_q) for of_p, of_q in zip(p.regions, q.regions, strict=True)
    ):
        return True
    rng = np.random.default_rng(SEED)
    return all(_all_is_covered(q, p, rng) for _ in range(DRAWS))


def _zero_wherever(of_p: Any, of_q: Any) -> bool:
    """Whether two regions have the same products, and each parameter that is zero in q is zero in p."""
    if isinstance(of_p, InputRegion):
        return (
            of_p.probs.shape == of_q.probs.shape
            and not ((of_p.probs > 0) & (of_q.probs == 0)).any()
        )
    if of_p.weights.shape != of_q.weights.shape or not np.array_equal(of_p.products, of_q.products):
        return False
    return not ((of_p.dense_weights() > 0) & (of_q.dense_weights() == 0)).any()


def _all_is_covered(q: Circuit, p: Circuit, rng: np.random.Generator) -> bool:
    """Whether T = S at the roots, for one draw of p's parameters."""
    tables: list[Any] = []  # per region (T, S): (K_p,) and (K_p, K_q)
    of_p: Any  # regions of one kind
    of_q: Any
    for r, (of_p, of_q) in enumerate(zip(p.regions, q.regions, strict=True)):
        if isinstance(of_p, InputRegion):
            inputs = _drawn(of_p.probs, rng)
            tables.append(
                (_sums(inputs, np.ones((1, inputs.shape[1])))[:, 0], _sums(inputs, of_q.probs > 0))
            )
            continue
        total, support = (
            np.ones(of_p.num_products, np.int64),
            np.ones((of_p.num_products, of_q.num_products), np.int64),
        )
        for a, c in enumerate(p.vtree.children(r).tolist()):
            of_child, inside = tables[c]
            total = total * of_child[of_p.products[:, a]] % PRIME
            support = support * inside[np.ix_(of_p.products[:, a], of_q.products[:, a])] % PRIME
            tables[c] = None
        weights = _drawn(of_p.dense_weights(), rng)
        tables.append(
            (
                _product(weights, total[:, None])[:, 0],
                _sums(_product(weights, support), of_q.dense_weights() > 0),
            )
        )
    total, support = tables[-1]
    return bool(total[0] == support[0, 0])


def _drawn(parameters: Floats, rng: np.random.Generator) -> Ints:
    """Random whole numbers below PRIME where parameters are positive, else 0."""
    return np.where(parameters > 0, rng.integers(0, PRIME, parameters.shape), 0)


def _sums(table: Ints, used: np.ndarray) -> Ints:
    """(K, L) sums of the columns of (K, P) that each row of the boolean (L, P) uses, modulo PRIME."""
    summed: Ints = (table.astype(np.float64) @ used.T.astype(np.float64) % PRIME).astype(np.int64)
    return summed


def _product(left: Ints, right: Ints) -> Ints:
    """The matrix product modulo PRIME, from four products of halves."""
    (a, b), (c, d) = (
        tuple(half.astype(np.float64) for half in divmod(numbers, HALF))
        for numbers in (left, right)
    )
    high, middle, low = ((part % PRIME).astype(np.int64) for part in (a @ c, a @ d + b @ c, b @ d))
    return ((high * HALF + middle) % PRIME * HALF + low) % PRIME
