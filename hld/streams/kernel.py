"""The races of a stream, compiled: `hld.streams.races.advance` is the same in NumPy.

NumPy takes 2,600 microseconds a row for 300 races, this kernel 600, on a busy machine (a load of eight times its
cores): `python -m benchmarks.bench_streams --speed`.
"""

from typing import Any

import numpy as np

from pcircuit.startup import compile_kernel


@compile_kernel
def advance(
    scores: np.ndarray,
    uniforms: np.ndarray,
    races: Any,
    thresholds: np.ndarray,
    factors: np.ndarray,
    first: np.ndarray,
    share: float,
    evidence: np.ndarray,
    leaders: np.ndarray,
) -> None:
    """Process rows (n, K), one after the other; fills evidence and leaders (n,).

    Shapes: scores (n, K), uniforms (n,), thresholds (parts,), factors (bets, parts), first (bets,), evidence (n,),
    leaders (n,).
    """
    for t in range(len(scores)):
        evidence[t], leaders[t] = -np.inf, 0
        for k in range(len(races.log)):
            if races.log_weights[k] == -np.inf:
                continue
            p = _rank(scores[t, k], uniforms[t], races.edges[k], races.counts[k])
            part = 0
            while part < len(thresholds) and p > thresholds[part]:
                part += 1
            money, won = races.money[k], 0.0
            for e in range(len(first)):
                money[e] *= factors[part, e]
                won += money[e]
            races.log[k] += np.log(won)
            moved = share / (races.ages[k] + 1.0)
            kept = (1.0 - moved) / won
            for e in range(len(first)):
                money[e] = money[e] * kept + moved * first[e]
            races.ages[k] += 1
            weighted = races.log[k] + races.log_weights[k]
            if weighted > evidence[t]:
                evidence[t], leaders[t] = weighted, k


@compile_kernel
def _rank(score: float, uniform: float, edges: np.ndarray, counts: np.ndarray) -> Any:
    """The rank of a score in a bag that it enters, from above, ties divided at random."""
    place, high = 0, len(edges)
    while place < high:
        middle = (place + high) // 2
        if score >= edges[middle]:
            place = middle + 1
        else:
            high = middle
    counts[place] += 1
    above, total = 0, 0
    for b in range(place + 1):
        total += counts[b]
    for b in range(place + 1, len(counts)):
        above += counts[b]
    return (above + uniform * counts[place]) / (above + total)
