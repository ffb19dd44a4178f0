r"""Distances of counts from those of a reference, and their p-values.

The distances of the columns and of the pairs, Q, and their laws are those of `witnesses.count_law`.  The reference is
that of the detector.

**Rows** (the default).  The counts r_c are those of n held-out rows; their laws were estimated from these rows when the
detector was fitted.  They and the rows of an unshifted table are exchangeable, so the level does not rest on the
circuit.  Beside the distances there are exact tests: the counts in the largest difference of a single count, of columns
and of pairs, are hypergeometric whatever the distribution is (`hld.witnesses.largest_count`).  With fewer than
`LEAST_ROWS` rows on either side, where a law for many rows means little, only these are used.

**Circuit** (``reference="circuit"``).  Shares p_c are the circuit's, exact, and n is infinite, or the number of rows
that it learned from.  Up to `DRAWN_ROWS` rows Q is ranked among those of 999 tables of as many rows drawn from the
circuit, which is exact at any number of rows; beyond that, its law comes from 800 drawn rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import pcircuit
from hld.answers.profile import Held, Profile
from hld.witnesses.count_law import FLOOR, count_laws, law_tail, merged_codes, merged_counts

LEAST_ROWS = 50
DRAWN_ROWS = 200
DRAWN_TABLES = 999
LAW_ROWS = 800
SHARE = 0.04  # of the level: `benchmarks.power.trials`


@dataclass(frozen=True)
class Distance:
    """One distance: Q, its mean without a shift, its p-value, and the largest one where r rows are others."""

    squared: float
    expected: float
    pvalue: float
    after: Callable[[int], float]
    share: float = 0.0  # of the level

    def attained(self, level: Any) -> Any:
        """How often `pvalue` is at most a level without a shift."""
        return level

    def to_dict(self) -> dict[str, Any]:
        """p-value and share as plain Python values."""
        return {"pvalue": float(self.pvalue), "share": self.share}


def count_distances(detector: Any, profile: Any) -> list[Distance] | None:
    """The distances of columns and pairs of a counted table, in which rare and unseen levels are one category."""
    batch = [[one[:-1] for one in profile.counts], list(profile.pairs)]
    if detector.test_.reference == "circuit":
        return _from_circuit(detector, batch, profile.num_rows)
    own, T = detector.profile_, profile.num_rows
    if own.laws is None or min(T, own.num_rows) < LEAST_ROWS:
        return None
    tables = merged_counts(detector.encoder_.columns, own)
    return [
        _from_rows(*each, T, own.num_rows) for each in zip(own.laws, tables, batch, strict=True)
    ]


def levels(held: Held, batch: Profile) -> Distance:
    """The distance of all columns, each category in units of about its own deviation, as a witness.

    Beside `marginals`, which weighs all categories alike and so hardly sees rare ones.
    """
    own, T = held.counts, batch.num_rows
    if own.laws is None or min(T, own.num_rows) < LEAST_ROWS:
        return Distance(0.0, 0.0, 1.0, _nothing)
    tables, counts = (merged_counts(held.columns, one)[0] for one in (own, batch))
    return replace(_from_rows(own.laws[0], tables, counts, T, own.num_rows), share=SHARE)


def _nothing(rows: int) -> float:
    """The p-value where there is nothing to compare."""
    return 1.0


def _from_rows(law: np.ndarray, tables: Any, counts: Any, T: int, n: int) -> Distance:
    """The distance of counts from those of n rows, of a law (4,)."""
    squared, first = _pooled(tables, counts)
    scale = first / law[0] if law[0] > 0 else 1.0
    tail = partial(_law_tail, law * [scale, scale**2, scale, scale**2], T, n)
    pooled = [
        (one + own) / max(int((one + own).sum()), 1)
        for one, own in zip(tables, counts, strict=True)
    ]
    return Distance(
        squared, first, tail(squared), partial(_after, tail, squared, _reach(pooled, counts))
    )


def _from_circuit(detector: Any, batch: list[Any], T: int) -> list[Distance]:
    """Distances from a circuit."""
    circuit, edges, n = detector.circuit_, detector.profile_.edges, detector.test_.num_train
    pairs = (
        pcircuit.pairwise_tables(circuit, [(int(u), int(v)) for u, v in edges])
        if len(edges)
        else {}
    )
    tables = merged_shares(
        detector.encoder_.columns, edges, pcircuit.marginal_tables(circuit), list(pairs.values())
    )
    codes = pcircuit.sample(circuit, LAW_ROWS, rng=detector.test_.settings.seed)
    laws = count_laws(merged_codes(detector.encoder_.columns, codes), tables, edges)
    drawn = _drawn(detector, tables, edges, T) if T <= DRAWN_ROWS else None
    found = []
    for i, (law, own, counts) in enumerate(zip(laws, tables, batch, strict=True)):
        squared = _squared(own, np.inf if n is None else n, counts)
        tail = partial(_law_tail, law, T, n) if drawn is None else partial(_rank, drawn[i])
        after = partial(_after, tail, squared, _reach(own, counts))
        found.append(Distance(squared, law[0], tail(squared), after))
    return found


def _law_tail(law: np.ndarray, T: int, n: float | None, squared: float) -> float:
    """P(Q >= squared) by a law (4,)."""
    return law_tail(law, squared, T, n)


def _rank(drawn: np.ndarray, squared: float) -> float:
    """The p-value of Q among those of drawn tables (B,)."""
    return float((1 + (drawn >= squared * (1 - 1e-12)).sum()) / (len(drawn) + 1))


def _after(tail: Callable[[float], float], squared: float, reach: float, rows: int) -> float:
    """The largest p-value where some rows are others, each of which moves the distance by no more than `reach`."""
    return tail(max(squared**0.5 - rows * reach, 0.0) ** 2)


def _reach(shares: Any, counts: Any) -> float:
    """By how much, at most, one row that is another moves sqrt(Q): by 1 / T_v in two cells of every item v."""
    total = 0.0
    for p, own in zip(shares, counts, strict=True):
        T = int(own.sum())
        if T:
            total += float(np.sort(1 / (p.ravel() + FLOOR))[-2:].sum()) / T
    return total**0.5


def merged_shares(
    columns: Any, edges: np.ndarray, singles: list[Any], pairs: list[Any]
) -> tuple[Any, ...]:
    """Shares of a circuit with rare and unseen levels in one category, by column and by edge; shapes edges (E, 2)."""
    own = Profile(0, tuple(np.append(one, 0.0) for one in singles), edges, tuple(pairs))
    return merged_counts(columns, own)


def _drawn(detector: Any, tables: Any, edges: np.ndarray, T: int) -> np.ndarray:
    """(2, 999) distances of tables of T rows drawn from the circuit."""
    B = DRAWN_TABLES
    sampled = pcircuit.sample(detector.circuit_, B * T, rng=detector.test_.settings.seed + 1)
    codes = merged_codes(detector.encoder_.columns, sampled)
    place = np.repeat(np.arange(B), T)
    found = np.zeros((2, B))
    items = [
        [codes[:, v] for v in range(codes.shape[1])],
        [
            codes[:, u] * p.shape[1] + codes[:, v]
            for (u, v), p in zip(edges.tolist(), tables[1], strict=True)
        ],
    ]
    for i in range(2):
        for one, p in zip(items[i], tables[i], strict=True):
            p = p.ravel()
            counts = np.bincount(place * len(p) + one, minlength=B * len(p)).reshape(B, len(p))
            found[i] += T * ((counts / T - p) ** 2 / (p + FLOOR)).sum(axis=1)
    return found


def _pooled(tables: Any, counts: Any) -> tuple[float, float]:
    """Q of counts against counts with the shares of both together as weights, and the mean of Q.

    Given the sums of both counts the mean is exact without a shift, as the counts are hypergeometric; weights from the
    reference alone would make Q too large, as a cell that is small by chance is also far from the batch's.
    """
    total = mean = 0.0
    for one, own in zip(tables, counts, strict=True):
        n, T = int(one.sum()), int(own.sum())
        if not T or not n:
            continue
        h, p = 1 / (1 / T + 1 / n), (one + own) / (n + T)
        total += h * float(((own / T - one / n) ** 2 / (p + FLOOR)).sum())
        mean += float((p * (1 - p) / (p + FLOOR)).sum()) * (n + T) / (n + T - 1)
    return total, mean


def _squared(tables: Any, n: float, counts: Any) -> float:
    """Q of counts by column or pair against shares of n rows."""
    total = 0.0
    for p, own in zip(tables, counts, strict=True):
        T = int(own.sum())
        if not T:
            continue
        h = 1 / (1 / T + 1 / n)
        total += h * float(((own / T - p) ** 2 / (p + FLOOR)).sum())
    return total
