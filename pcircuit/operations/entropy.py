"""Entropy, cross entropy, divergence and mutual information: exact where the circuit is deterministic.

In a deterministic circuit each row has one positive term in every sum that it passes through, so the logarithm of its
likelihood is a sum of logarithms of parameters, and expectations of it follow bottom-up.  With the units' own
distributions p_k,

    entropy     inputs    H_k = -sum_c p_k(c) ln p_k(c)
                products  H_p = sum_c H_{u(p,c)}               sums  H_k = sum_p w_kp (H_p - ln w_kp)

For the cross entropy of a normalised P relative to a deterministic Q on the same v-tree let a be a unit of P and b
one of Q.  With S[a,b] = sum over the support of b of p_a(x), and I[a,b] = - sum over it of p_a(x) ln q_b(x),

    inputs      S = T_P [T_Q > 0]^t                         I = -T_P (ln T_Q)^t, 0 ln 0 = 0
    products    S = prod_c S_c                              I = sum_c I_c prod_{c' != c} S_c'
    sums        S[a,b] = sum_{p,p'} w_ap [w_bp' > 0] S      I[a,b] = sum_{p,p'} w_ap [w_bp' > 0] (I - ln w_bp' S)

(Vergari et al. 2021).  S at the roots is the probability under P of the support of Q.  Where it is below one by more
than rounding, the cross entropy is infinite.  Circuits with hidden states are not deterministic; for them the same
expectations are estimated from samples, with a standard error.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from pcircuit.arguments import check_generator, check_whole_number
from pcircuit.circuit import Circuit, check_distribution
from pcircuit.evidence import all_missing
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.inference.sampling import sample
from pcircuit.operations.marginals import marginalize, variable_numbers
from pcircuit.operations.products import check_one_space
from pcircuit.operations.properties import shared_terms

MOST_STATES = 100_000  # up to which sums over all states are carried out
LEAST_SAMPLES = 2  # with which a standard error can be estimated
OUTSIDE = 1e-9  # probability outside the support of another circuit that counts as rounding


@dataclass(frozen=True)
class Estimate:
    """A number, in nats, and its standard error.

    Attributes
    ----------
    value : float
        The number itself, in nats (natural logarithms).
    error : float
        Standard error; 0 where the value is exact.
    method : str
        "exact" or "monte-carlo".
    """

    value: float
    error: float
    method: str

    def __float__(self) -> float:
        return self.value


def entropy(
    circuit: Circuit, *, num_samples: int = 10_000, rng: int | Generator | None = None
) -> Estimate:
    """Entropy of a circuit's distribution, in nats.

    H = -sum_x p(x) ln p(x).

    Parameters
    ----------
    circuit : Circuit
        Normalised.
    num_samples : int, default 10,000
        Rows drawn where the circuit is not deterministic and has too many states to sum over.
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    Estimate
        Exact for deterministic circuits and for at most 100,000 states, else a mean of -ln p over samples; at least 0
        unless some leaves are densities: then it is the differential entropy, in the units of the columns.

    Raises
    ------
    StructureError
        If the circuit is not normalised.
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Notes
    -----
    Deterministic: O(number of parameters), after the check of determinism in O(R P^2).

    References
    ----------
    Vergari et al. (2021), A Compositional Atlas of Tractable Circuit Operations, NeurIPS.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.5]])])
    >>> bool(np.isclose(entropy(coin).value, np.log(2))), entropy(coin).method
    (True, 'exact')
    """
    return cross_entropy(check_distribution(circuit), circuit, num_samples=num_samples, rng=rng)


def cross_entropy(
    p: Circuit, q: Circuit, *, num_samples: int = 10_000, rng: int | Generator | None = None
) -> Estimate:
    """Cross entropy of a distribution relative to a circuit, in nats.

    H(p, q) = -sum_x p(x) ln q(x).

    Parameters
    ----------
    p, q : Circuit
        Normalised, on one v-tree, with the same numbers of categories.
    num_samples : int, default 10,000
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    Estimate
        Exact where q is deterministic, or for at most 100,000 states; infinite where q is zero somewhere p is not.
        Samples find that out only if they hold such a state.  At least 0.

    Raises
    ------
    StructureError
        If a circuit is not normalised, or the v-trees differ.
    TypeError, ValueError
        If an argument is of the wrong kind, or the numbers of categories differ.

    Notes
    -----
    O(R (K^2 P + K P^2)) for a deterministic q, with K and P the sizes of both circuits' regions.  The value is
    infinite where p has more than 1e-9 of its probability outside the support of q.

    References
    ----------
    Vergari et al. (2021), A Compositional Atlas of Tractable Circuit Operations, NeurIPS.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> fair, biased = (Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p]])]) for p in (0.5, 0.9))
    >>> bool(np.isclose(cross_entropy(fair, biased).value, -0.5 * np.log(0.9 * 0.1)))
    True
    """
    num_samples, rng = (
        check_whole_number(num_samples, "num_samples", LEAST_SAMPLES),
        check_generator(rng),
    )
    _check_two_distributions(p, q)
    if shared_terms(q) is None:
        return Estimate(max(_least(p), _exact_cross_entropy(p, q)), 0.0, "exact")
    if _has_few_states(p.num_categories):
        rows = _all_states(p.num_categories)
        log_p = log_likelihood(p, rows)
        rows, log_p = rows[log_p > -np.inf], log_p[log_p > -np.inf]
        lengths = -log_likelihood(q, rows)
        total = np.exp(log_p) @ lengths if lengths.max() < np.inf else np.inf  # weights underflow
        return Estimate(max(0.0, float(total)), 0.0, "exact")
    return _mean_of(
        np.maximum(-log_likelihood(q, sample(p, num_samples, rng=rng)), _least(p))
    )  # rounded above 1


def kl_divergence(
    p: Circuit, q: Circuit, *, num_samples: int = 10_000, rng: int | Generator | None = None
) -> Estimate:
    """Kullback-Leibler divergence of one circuit's distribution from another's, in nats.

    KL(p || q) = sum_x p(x) ln(p(x) / q(x)).

    Parameters
    ----------
    p, q : Circuit
        Normalised, on one v-tree, with the same numbers of categories.
    num_samples : int, default 10,000
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    Estimate
        Exact where both are deterministic, or for at most 100,000 states, and then at least 0; infinite where q is zero
        somewhere p is not.  Samples find that out only if they hold such a state, and their mean may be below 0.

    Raises
    ------
    StructureError
        If a circuit is not normalised, or the v-trees differ.
    TypeError, ValueError
        If an argument is of the wrong kind, or the numbers of categories differ.

    Notes
    -----
    As `cross_entropy`.  Estimates use the same samples for both terms, whose errors then largely cancel.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> fair, biased = (Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p]])]) for p in (0.5, 0.9))
    >>> bool(np.isclose(kl_divergence(fair, biased).value, 0.5 * np.log(0.5 / 0.9) + 0.5 * np.log(0.5 / 0.1)))
    True
    """
    num_samples, rng = (
        check_whole_number(num_samples, "num_samples", LEAST_SAMPLES),
        check_generator(rng),
    )
    _check_two_distributions(p, q)
    if _has_few_states(p.num_categories) or (shared_terms(p) is None and shared_terms(q) is None):
        return Estimate(max(0.0, cross_entropy(p, q).value - entropy(p).value), 0.0, "exact")
    rows = sample(p, num_samples, rng=rng)
    return _mean_of(log_likelihood(p, rows) - log_likelihood(q, rows))


def mutual_information(
    circuit: Circuit,
    first: Iterable[int],
    second: Iterable[int],
    *,
    num_samples: int = 10_000,
    rng: int | Generator | None = None,
) -> Estimate:
    """Mutual information of two sets of variables, in nats.

    I(A; B) = sum over x_A, x_B of p(x_A, x_B) ln(p(x_A, x_B) / (p(x_A) p(x_B))).

    Parameters
    ----------
    circuit : Circuit
        Normalised.
    first, second : iterable of int
        Two sets of variables without a common one.
    num_samples : int, default 10,000
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    Estimate
        Exact where the two sets have at most 100,000 joint states, else an estimate from samples.

    Raises
    ------
    StructureError
        If the circuit is not normalised.
    TypeError, ValueError
        If an argument is of the wrong kind, a set is empty, or the sets share a variable.

    Notes
    -----
    Marginals of a deterministic circuit are in general not deterministic, so there is no exact way for large sets.

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> equal = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[1, 0], [0, 1]]), InputRegion(1, [[1, 0], [0, 1]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]])])
    >>> bool(np.isclose(mutual_information(equal, [0], [1]).value, np.log(2)))
    True
    """
    check_distribution(circuit)
    num_samples, rng = (
        check_whole_number(num_samples, "num_samples", LEAST_SAMPLES),
        check_generator(rng),
    )
    first, second = (
        sorted(variable_numbers(part, name, circuit.num_variables))
        for part, name in ((first, "first"), (second, "second"))
    )
    if not first or not second or set(first) & set(second):
        raise ValueError(
            f"`first` and `second` must be two sets of variables without a common one, found {first} and "
            f"{second}"
        )
    joint = marginalize(circuit, keep=sorted(first + second))
    place = {v: i for i, v in enumerate(sorted(first + second))}
    columns = [[place[v] for v in part] for part in (first, second)]
    exact = _has_few_states(joint.num_categories)
    rows = _all_states(joint.num_categories) if exact else sample(joint, num_samples, rng=rng)
    rows = rows[log_likelihood(joint, rows) > -np.inf]
    terms = log_likelihood(joint, rows)
    weights = np.exp(terms)
    for part in columns:
        only = all_missing(joint, len(rows))
        only[:, part] = rows[:, part]
        terms = terms - log_likelihood(joint, only)
    if exact:
        return Estimate(max(float(weights @ terms), 0.0), 0.0, "exact")
    return _mean_of(terms)


def _exact_cross_entropy(p: Circuit, q: Circuit) -> float:
    """-sum_x p(x) ln q(x) for a deterministic q, by the recursion of the module."""
    tables: list[Any] = []  # per region (S, I), each (K_p, K_q)
    of_p: Any  # regions of one kind
    of_q: Any
    for r, (of_p, of_q) in enumerate(zip(p.regions, q.regions, strict=True)):
        if of_p.is_input:
            if (
                not of_p.num_categories
            ):  # each unit of q covers all of p, or the cross entropy is infinite
                across = of_p.leaves.cross_entropy(of_q.leaves)
                tables.append((np.ones(across.shape), across))
                continue
            tables.append(
                (
                    of_p.probs @ (of_q.probs > 0).T.astype(np.float64),
                    of_p.probs @ _minus_log(of_q.probs).T,
                )
            )
            continue
        support: Any = 1.0
        cross: Any = 0.0
        for a, c in enumerate(p.vtree.children(r).tolist()):
            units = np.ix_(of_p.products[:, a], of_q.products[:, a])
            below, across = (table[units] for table in tables[c])
            support, cross = support * below, cross * below + support * across
            tables[c] = None
        weights = of_q.dense_weights()
        used = (weights > 0).astype(np.float64)
        tables.append(
            (
                of_p.weights @ support @ used.T,
                of_p.weights @ cross @ used.T + of_p.weights @ support @ _minus_log(weights).T,
            )
        )
    support, cross = tables[-1]
    total = np.exp(log_likelihood(p, all_missing(p)))  # one, but for rounding
    return float(cross.item()) if support.item() >= (1 - OUTSIDE) * total else float("inf")


def _minus_log(table: np.ndarray) -> np.ndarray:
    """-ln of the positive entries, 0 for the others."""
    return -np.log(np.where(table > 0, table, 1.0))


def _check_two_distributions(p: Circuit, q: Circuit) -> None:
    """Raise unless both are distributions of the same variables, on one v-tree."""
    check_one_space((p, q), ("p", "q"))
    check_distribution(p, "p")
    check_distribution(q, "q")


def _least(circuit: Circuit) -> float:
    """The least possible -ln p: 0 for probabilities, while densities may exceed 1."""
    return 0.0 if circuit.is_categorical else -np.inf


def _mean_of(values: np.ndarray) -> Estimate:
    """Mean and standard error of independent values; one that is infinite proves that the expectation is."""
    if values.max() == np.inf:
        return Estimate(float("inf"), 0.0, "exact")
    return Estimate(
        float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), "monte-carlo"
    )


def _has_few_states(num_categories: tuple[int, ...]) -> bool:
    """Whether sums over all states are carried out."""
    return 0 < math.prod(num_categories) <= MOST_STATES


def _all_states(num_categories: tuple[int, ...]) -> np.ndarray:
    """(number of states, V) all rows there are."""
    return np.transpose(np.indices(num_categories).reshape(len(num_categories), -1))
