"""The most probable state of a circuit, given evidence: exact where it can be, else between two bounds.

Write a row with some variables free.  Replacing every input of a free variable by the largest entry of its row of the
table gives

    u(x) = the value of the circuit with  max_c p_k(c)  at the free inputs        (all other units as before),

and u is at least the value of every completion: sums and products grow with their arguments.  It is one evaluation of a
circuit with one more category, so many partial rows are bounded in one call.  Fixing one variable at a time and always
working on the row with the largest bound (branch and bound) finds the most probable state; if the search is stopped
earlier, the largest remaining bound and the best state found so far enclose the maximum.

In a deterministic circuit a state has one positive term in each sum, so the largest term bounds it, too:

    sums   max_p w_kp u_p       instead of       sum_p w_kp u_p,

which is the value of an actual state: one pass and the search is over.  In general finding the state is NP-hard, even
for naive Bayes models with a hidden class (de Campos 2011), hence the search; it begins with that state, too.

The search begins with a dive: the bounds of all levels of all free variables, one evaluation of as many rows, say for
each variable how much its best level leads.  A quarter of the variables, those that lead by most, is fixed, and the
rest bounded again.  A completion that the dive does not end in has a level that was passed over, so the largest of the
bounds of these levels and that of the end is a bound of all.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Floats, check_flag, check_whole_number
from pcircuit.circuit import Circuit, InputRegion, check_circuit, child_units, factors
from pcircuit.evidence import all_missing, check_row, is_missing
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.inference.log_domain import log_of, may_overflow
from pcircuit.operations.properties import shared_terms
from pcircuit.regions import StructureError

TOLERANCE = 1e-12  # relative difference of likelihoods that counts as none
BATCH = 256  # rows bounded in one call
FIXED = 4  # one in so many of the free variables is fixed at a time


@dataclass(frozen=True, eq=False)
class MostProbableState:
    """A state and how close to the most probable one it is.

    Attributes
    ----------
    state : (V,) int array
        A category for each variable; where the evidence has one, that one.
    log_likelihood : float
        That of the state.
    upper_bound : float
        No completion of the evidence is more likely; equal to `log_likelihood` where the state is the most probable.
    is_exact : bool
        Whether no other completion is more likely: the search was finished.
    num_evaluations : int
        Rows that were bounded.
    """

    state: np.ndarray
    log_likelihood: float
    upper_bound: float
    is_exact: bool
    num_evaluations: int


def most_probable_state(
    circuit: Circuit,
    evidence: ArrayLike | None = None,
    *,
    max_evaluations: int = 100_000,
    must_be_exact: bool = False,
) -> MostProbableState:
    """The most probable completion of a row of evidence.

    argmax over the missing entries of p(x).

    Parameters
    ----------
    circuit : Circuit
    evidence : (V,) int array_like or mapping of int to int, optional
        Levels, -1 for those to be found; by default all are.
    max_evaluations : int, default 100,000
        Rows that are bounded at most; with fewer than there are levels of all variables the first dive is cut short,
        and its state completed by the largest term of each sum.
    must_be_exact : bool, default False
        Raise where the search was given up.

    Returns
    -------
    MostProbableState
        Where leaves are densities it is exact if there is one way through the circuit; else modes of all units are
        tried column by column, and the bound takes the largest density at each leaf.  Ties are broken towards smaller
        levels of variables that are fixed first, in deterministic circuits towards the first of the products.

    Raises
    ------
    StructureError
        With `must_be_exact`, if the circuit is not deterministic and the search was given up: where it is not.
    TypeError, ValueError
        If an argument is of the wrong kind, or the evidence is impossible or is not one row.

    Notes
    -----
    Deterministic circuits: O(number of parameters).  Others: a first dive that fixes one quarter of the variables
    after the other, of some four evaluations of the circuit for each level of each variable, and then one for each
    bounded row, of which there may be exponentially many.

    References
    ----------
    Choi, Vergari and Van den Broeck (2020), Probabilistic Circuits: A Unifying Framework for Tractable Probabilistic
    Models (MAP of deterministic circuits); de Campos (2011), New complexity results for MAP in Bayesian networks,
    IJCAI.

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> found = most_probable_state(circuit)
    >>> found.state, round(float(np.exp(found.log_likelihood)), 4), found.is_exact
    (array([1, 1]), 0.3675, True)
    """
    check_circuit(circuit)
    max_evaluations = check_whole_number(max_evaluations, "max_evaluations", 1)
    must_be_exact = check_flag(must_be_exact, "must_be_exact")
    row = all_missing(circuit)[0] if evidence is None else check_row(circuit, evidence, "evidence")
    if log_likelihood(circuit, row[None])[0] == -np.inf:
        raise ValueError(
            "`evidence` has probability zero under the circuit, so no completion is the most probable"
        )
    shared = shared_terms(circuit)
    if shared is None:
        state = _largest_terms(circuit, row)
        value = float(log_likelihood(circuit, state[None])[0])
        return MostProbableState(state, value, value, True, 1)
    search = _Search(circuit, row) if circuit.is_categorical else _Bounded(circuit, row)
    search.run(max_evaluations)
    if must_be_exact and not search.is_exact:
        r, k, p, q = shared
        raise StructureError(
            f"`circuit` is not deterministic (sum {k} of region {r} mixes products {p} and {q}, which "
            f"share a row), and {max_evaluations} evaluations of branch and bound left the most "
            f"probable state between {search.best:.6g} and {search.bound:.6g} (log-likelihoods): "
            "raise `max_evaluations`"
        )
    bound = search.best if search.is_exact else search.bound  # which is a rounding error away
    return MostProbableState(search.state, search.best, bound, search.is_exact, search.evaluations)


class _Search:
    """Branch and bound, best bound first."""

    def __init__(self, circuit: Circuit, row: np.ndarray):
        self.circuit, (self.bounding, self.offset) = circuit, _with_maximum(circuit)
        self.free_level = np.array(circuit.num_categories)  # the extra category: the largest entry
        self.order = np.flatnonzero(row < 0)
        self.evaluations, self.state = 0, _largest_terms(circuit, row)
        self.best = float(log_likelihood(circuit, self.state[None])[0])
        self.ceiling = np.inf  # a bound of all completions: what the first dive has seen
        start = np.where(row < 0, self.free_level, row)
        self.heap: list[Any] = []
        self._push(start[None], [0])

    @property
    def bound(self) -> float:
        """No completion is more likely."""
        return max(self.best, min(self.ceiling, -self.heap[0][0] if self.heap else -np.inf))

    @property
    def is_exact(self) -> bool:
        """Whether nothing better is left."""
        return self.bound <= self.best + TOLERANCE * max(1.0, abs(self.best))

    def run(self, max_evaluations: int) -> None:
        """Search until the state is the most probable one, or the evaluations are used up."""
        if not self.is_exact:
            self._dive(max_evaluations)
        while self.heap and not self.is_exact:
            rows: list[Any] = []
            depths: list[int] = []
            while self.heap and len(rows) < BATCH:
                bound, _, depth, row = self.heap[0]
                if -bound <= self.best + TOLERANCE * max(1.0, abs(self.best)):
                    heapq.heappop(self.heap)
                    continue
                v = self.order[depth]
                if self.evaluations + len(rows) + self.circuit.num_categories[v] > max_evaluations:
                    break  # it stays, and is the bound
                heapq.heappop(self.heap)
                for c in range(self.circuit.num_categories[v]):
                    rows.append(np.where(np.arange(len(row)) == v, c, row))
                    depths.append(depth + 1)
            if not rows:
                break
            self._push(np.array(rows), depths)

    def _dive(self, max_evaluations: int) -> None:
        """A better state: fix one quarter of the free variables after the other, at the levels with the largest bounds.

        Where the evaluations are used up, the largest term of each sum says what the others are.
        """
        row, passed, taken = self.heap[0][-1].copy(), -np.inf, np.inf
        free = self.order
        while len(free):
            sizes = self.free_level[free]
            if self.evaluations + sizes.sum() > max_evaluations:
                break
            rows = np.repeat(row[None], sizes.sum(), axis=0)
            ends = np.cumsum(sizes)
            levels = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
            rows[np.arange(ends[-1]), np.repeat(free, sizes)] = levels
            bounds = np.split(log_likelihood(self.bounding, rows) + self.offset, ends[:-1])
            self.evaluations += len(rows)
            best = np.array([of_levels.argmax() for of_levels in bounds])
            others = [
                np.delete(one, k).max(initial=-np.inf) for one, k in zip(bounds, best, strict=True)
            ]
            lead = np.array([one.max() for one in bounds]) - others
            fixed = np.argsort(-lead, kind="stable")[: max(1, len(free) // FIXED)]
            row[free[fixed]] = best[fixed]
            passed = max(passed, np.array(others)[fixed].max())
            taken = float(bounds[fixed[-1]].max())
            free = np.delete(free, fixed)
        row[row == self.free_level] = -1
        self._compete(_largest_terms(self.circuit, row))
        self.ceiling = max(passed, taken)

    def _compete(self, row: np.ndarray) -> None:
        """Take over a complete row if it is better."""
        found = float(log_likelihood(self.circuit, row[None])[0])
        if found > self.best:
            self.best, self.state = found, row

    def _push(self, rows: np.ndarray, depths: Sequence[int]) -> None:
        """Bound rows; finished ones compete, the others wait."""
        bounds = log_likelihood(self.bounding, rows) + self.offset
        self.evaluations += len(rows)
        for row, depth, bound in zip(rows, depths, bounds.tolist(), strict=True):
            if bound <= self.best:
                continue
            if depth == len(self.order):
                self._compete(row)
            else:
                heapq.heappush(self.heap, (-bound, self.evaluations + len(self.heap), depth, row))


def _with_maximum(circuit: Circuit) -> tuple[Circuit, float]:
    """The circuit with one more category for each variable, whose entries are the largest of the row.

    The second result is to be added to its log-likelihoods.  A row of such a table sums to as much as 2, and a thousand
    of them would leave the range of doubles: then all entries are halved.
    """

    def extended(factor: float) -> Circuit:
        regions = [
            InputRegion(
                region.variable, np.column_stack([region.probs, region.probs.max(axis=1)]) * factor
            )
            if region.is_input
            else region
            for region in circuit.regions
        ]
        return Circuit(circuit.vtree, regions)

    found = extended(1.0)
    return (
        (extended(0.5), circuit.num_variables * math.log(2))
        if may_overflow(found)
        else (found, 0.0)
    )


def _values(
    circuit: Circuit, row: np.ndarray, reduce: Callable[..., Floats]
) -> tuple[list[Any], list[Floats]]:
    """Per region its choices and (K,) ln of its units, where sums have the sum or the maximum of their terms.

    Choices are the value under each input unit (K,), where it is known or else the mode, or the terms of sums (K, P).
    """
    choices: list[Any] = []
    values: list[Floats] = []
    known = np.where(is_missing(row), np.nan, row)
    for r, region in enumerate(circuit.regions):
        if not region.is_input:
            choices.append(log_of(region.dense_weights()) + sum(factors(circuit, r, values)))
            values.append(reduce(choices[r], axis=1))
        elif np.isnan(known[region.variable]):
            choices.append(region.leaves.mode())
            values.append(region.leaves.log_bound())
        else:
            value = known[region.variable]
            choices.append(np.full(region.num_units, value))
            values.append(region.leaves.log_density(np.array([value]))[0])
    return choices, values


def _largest_terms(circuit: Circuit, row: np.ndarray) -> np.ndarray:
    """The completion by the largest term of each sum: the most probable one if the circuit is deterministic."""
    choices, _ = _values(circuit, row, np.max)
    state: np.ndarray = row.copy()
    unit = np.zeros(circuit.num_regions, dtype=np.int64)
    for r in range(len(circuit.regions) - 1, -1, -1):
        region, choice = circuit.regions[r], choices[r][unit[r]]
        if region.is_input:
            state[region.variable] = choice
            continue
        for c, units in child_units(circuit, r):
            unit[c] = units[choice.argmax()]
    return np.asarray(state)


class _Bounded:
    """Densities: the largest term of each sum, improved column by column, and a bound from the largest densities."""

    def __init__(self, circuit: Circuit, row: np.ndarray):
        self.state, self.evaluations = _largest_terms(circuit, row), 1
        self.best = float(log_likelihood(circuit, self.state[None])[0])
        self._circuit, self._free = circuit, np.flatnonzero(np.isnan(row))
        self.bound = max(self.best, float(_values(circuit, row, np.logaddexp.reduce)[1][-1][0]))

    @property
    def is_exact(self) -> bool:
        """Whether nothing better is left."""
        return self.bound <= self.best + TOLERANCE * max(1.0, abs(self.best))

    def run(self, max_evaluations: int) -> None:
        """Try the modes of all units of one variable after the other, as long as that helps."""
        has_gained = not self.is_exact
        while has_gained:
            has_gained = False
            for v in self._free.tolist():
                region = self._circuit.inputs[v]
                C = region.num_categories
                tries = np.arange(C, dtype=float) if C else region.leaves.mode()
                if self.evaluations + len(tries) > max_evaluations:
                    return
                rows = np.repeat(self.state[None], len(tries), axis=0)
                rows[:, v] = tries
                found = log_likelihood(self._circuit, rows)
                self.evaluations += len(tries)
                if found.max() > self.best + TOLERANCE * max(1.0, abs(self.best)):
                    self.best, self.state = float(found.max()), rows[found.argmax()]
                    has_gained = True
