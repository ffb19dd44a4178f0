"""What every reference can do.

A reference is a distribution of likelihood vectors L (size,), known by its mean and its covariance S, from which
vectors can be drawn:

===========================================  ==================================================================
``circuit``, ``nodes``, ``vectors``          the circuit, the ids (m,) of its nodes, what a vector holds
``mean``, ``diagonal()``, ``covariance()``   (size,) means and variances, (size, size) S
``num_rows``                                 rows that these are estimated from, or None
``model``                                    the circuit's reference for the same nodes
``at_deployment``                            what can be drawn from when batches are tested, or None
``rows(n, rng)``                             (n, size) vectors minus the mean; fewer where there are fewer
``batch_means(T, B, rng)``                   (B, size) means over batches of T rows, minus the mean
``under(metric)``                            F S F^T of what a metric sees (`hld.references.covariances`)
===========================================  ==================================================================

Nulls are made from that, and know nothing else of a reference; so a new kind of reference is one more class with these,
and one line in `hld.references.rows`.
"""

from typing import Any, TypeAlias

MAX_FULL_SPECTRUM = (
    1500  # coordinates up to which covariances are formed and all eigenvalues computed
)
Reference: TypeAlias = Any
