r"""Bounds of the tail of a mean of rows that are drawn without replacement from known ones: valid at every size.

N known numbers, of which m_k have the value a_k; T of them are drawn without replacement.  How probable is it that
their mean is as far above that of all, or below it, as some s?  With x_k = a_k - s, that is P(sum of x >= 0), and three
bounds hold.  Such a sum is no more spread than one with replacement (Hoeffding 1963, theorem 4): for every convex
function, the exponential among them, its expectation is at most as large.  So Chernoff's bound is one of it, too,

.. math:: P \le \Bigl( \min_{\theta \ge 0} \sum_k \frac{m_k}{N} e^{\theta x_k} \Bigr)^T,

and as well the bound for the mean of the other n = N - T, which is as far on the other side as it has to be.  Where
neither part is small beside the other both are too much.  But T of N without replacement are also N independent draws
with probability T / N each, given that T were drawn; Markov's inequality for e^(theta sum x + psi (number - T)) gives

.. math:: P \le \frac{1}{P(\mathrm{Bin}(N, T/N) = T)} \min_{\theta \ge 0, \, \psi}
          e^{-\psi T} \prod_k \bigl( 1 - \tfrac{T}{N} + \tfrac{T}{N} e^{\theta x_k + \psi} \bigr)^{m_k},

with the rate of decay of the probability itself (Dembo and Zeitouni 2010, section 7.2).  The smallest of the three is
taken.  It exceeds the probability by a factor of about the square root of 2 pi T, or some times that: the price of a
bound that needs no law of large numbers.

References: W. Hoeffding (1963), Probability inequalities for sums of bounded random variables, J. American Statistical
Association 58; H. Chernoff (1952), A measure of asymptotic efficiency for tests of a hypothesis based on the sum of
observations, Annals of Mathematical Statistics 23; A. Dembo and O. Zeitouni (2010), Large Deviations Techniques and
Applications, Springer.
"""

from __future__ import annotations

import math

import numpy as np

ROUNDS = 60  # of Newton's method
LONGEST = 20.0  # its steps, for values with a range of 1
CLOSE, NOTHING, TINY = 1e-10, 1e-12, 1e-300


def mean_tail_bound(
    values: np.ndarray, kept: np.ndarray, batch: np.ndarray, slack: float = 0.0
) -> float:
    """Upper bound of the probability that the mean of a batch is as far out as it is, on its side, given all values."""
    used = kept + batch > 0
    x, r, b = values[used] - values[used].min(initial=np.inf), kept[used], batch[used]
    m, n, T = r + b, int(r.sum()), int(b.sum())
    if not n or not T:
        return 1.0
    mean, own = float(m @ x) / (n + T), float(b @ x) / T
    side, scale = (1.0 if own > mean else -1.0), float(np.ptp(x))
    s = abs(own - mean) - slack
    if not scale or s <= CLOSE * scale:
        return 1.0
    x = side * (x - mean) / scale
    s = s / scale
    logs = [
        _with_replacement(m, x - s, T),
        _with_replacement(m, -x - s * T / n, n),
        _without(m, x - s, T),
    ]
    return math.exp(min(*logs, 0.0))


def _with_replacement(m: np.ndarray, x: np.ndarray, T: int) -> float:
    """ln of Chernoff's bound of P(sum of T draws >= 0), for values x with weights m and a mean below 0.

    Any theta gives a bound, so an end of Newton's method short of the least is no error.
    """
    most = float(x.max())
    if most <= CLOSE:  # the largest value in every draw
        return T * math.log(m[x >= most - CLOSE].sum() / m.sum())
    theta, least, q = 0.0, 0.0, m / m.sum()
    for _ in range(ROUNDS):
        weights = q * np.exp(theta * (x - most))
        total = float(weights.sum())
        least = min(least, math.log(total) + theta * most)
        slope = float(weights @ x) / total
        step = -slope / max(float(weights @ x**2) / total - slope**2, TINY)
        if abs(step) <= CLOSE * (1 + theta):
            break
        theta += min(max(step, -theta / 2), LONGEST)
    return T * least


def _without(m: np.ndarray, x: np.ndarray, T: int) -> float:
    """ln of the bound of P(sum of T draws without replacement >= 0) by independent draws: see above."""
    from scipy.special import expit, gammaln

    N = int(m.sum())
    odds = math.log(T / (N - T))
    at, value, none = (
        np.zeros(2),
        0.0,
        N * math.log(N / (N - T)),
    )  # theta and psi, and the sum that is to be least

    def sum_at(theta: float, psi: float) -> float:
        return float(m @ np.logaddexp(0.0, odds + theta * x + psi)) - none - psi * T

    for _ in range(ROUNDS):
        p = m * expit(odds + at[0] * x + at[1])
        w = p * (1 - p / m)
        gradient = np.array([p @ x, p.sum() - T])
        hessian = np.array([[w @ x**2, w @ x], [w @ x, w.sum()]])
        step = -np.linalg.solve(
            hessian + (NOTHING * np.trace(hessian) + TINY) * np.eye(2), gradient
        )
        step *= min(1.0, LONGEST / max(float(np.abs(step).max()), TINY))
        while (found := sum_at(*(at + step))) > value and np.abs(step).max() > CLOSE:
            step /= 4
        if found >= value - CLOSE or at[0] + step[0] < 0:
            break
        at, value = at + step, found
    exactly = (
        gammaln(N + 1)
        - gammaln(T + 1)
        - gammaln(N - T + 1)
        + T * math.log(T / N)
        + (N - T) * math.log(1 - T / N)
    )
    return value - float(exactly)
