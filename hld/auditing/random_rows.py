r"""How many unshifted batches may alarm, where batches are rows of one table that were drawn at random.

Disjoint batches of a table are independent, so that of B the number that alarm is binomial.  Where the table has rows
for m < B disjoint ones, it is divided at random J = ceil(B / m) times, and only the batches of one division are
independent.  With S_j the alarms of division j, Hölder's inequality gives

.. math:: E\, e^{\lambda (S_1 + \dots + S_J)} \le \prod_j \big(E\, e^{\lambda J S_j}\big)^{1/J}
          = (1 - \alpha + \alpha e^{\lambda J})^{B/J},

so that Chernoff's bound is that of B / J independent batches, however the divisions depend on each other:

.. math:: P(\text{share} \ge r) \le e^{-(B/J)\, k(r, \alpha)}, \qquad
          k(r, \alpha) = r \ln \frac{r}{\alpha} + (1 - r) \ln \frac{1 - r}{1 - \alpha} \quad (r > \alpha).

References
----------
Hoeffding (1963), Probability inequalities for sums of bounded random variables, Journal of the American Statistical
Association 58, section 5.
"""

from __future__ import annotations

import math


def too_often(
    num_alarms: int, num_batches: int, num_disjoint: int, alpha: float, chance: float
) -> bool:
    """Whether so many batches alarm that a detector of level alpha explains it with a probability below `chance`."""
    if num_batches <= num_disjoint:
        from scipy.special import betainc

        tail = (
            float(betainc(num_alarms, num_batches - num_alarms + 1, alpha)) if num_alarms else 1.0
        )
        return tail < chance
    share, divisions = num_alarms / num_batches, -(-num_batches // num_disjoint)
    if share <= alpha:
        return False
    distance = share * math.log(share / alpha)
    if share < 1:
        distance += (1 - share) * math.log((1 - share) / (1 - alpha))
    return num_batches / divisions * distance > -math.log(chance)
