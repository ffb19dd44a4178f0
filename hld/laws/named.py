"""The nulls by the names that `null=` takes: add one by writing a class, a function that makes it, and a line here.

* "exact"         the generalised chi-square law, right for large T (`hld.laws.limit_law`)
* "normal"        the paper's closed form (`hld.laws.limit_law`)
* "monte-carlo"   batches drawn from the reference, valid at every T (`hld.laws.drawn`)
* "auto"          drawn batches for small T, the law, corrected for T, for large T (`hld.laws.auto`)

Several metrics are combined by the harmonic mean of their p-values (`hld.laws.joint`).
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hld.laws.auto import AutoNull, auto_null, drawn_null
from hld.laws.joint import JointNull
from hld.laws.limit_law import LimitLaw, NormalLaw, limit_null, normal_null
from hld.laws.null import Null
from pcircuit.arguments import check_choice


@dataclass(frozen=True)
class NamedNull:
    """How a null is made, from reference, metrics and options, and what it can do.

    `law`: the kind of its laws in files, if that is checked.  `takes_several`: metrics; else one.  `draws`: small
    batches are judged by drawn ones.  `draws_later`: when they are tested, so that its reference has to be the circuit.
    `is_checked`: small p-values against reference rows by the rows of the batch, where holes may be left out.
    """

    make: Callable[..., Null]
    law: str = ""
    takes_several: bool = True
    draws: bool = False
    draws_later: bool = False
    is_checked: bool = False


NULLS = {
    "exact": NamedNull(limit_null, LimitLaw.kind, is_checked=True),
    "normal": NamedNull(normal_null, NormalLaw.kind, takes_several=False),
    "monte-carlo": NamedNull(drawn_null, LimitLaw.kind, draws=True, draws_later=True),
    "auto": NamedNull(auto_null, LimitLaw.kind, draws=True, is_checked=True),
}
# what files call them -> class
KINDS: dict[str, Any] = {one.kind: one for one in (LimitLaw, NormalLaw, JointNull, AutoNull)}


def check_null_choice(name: str, reference: str, num_metrics: int) -> None:
    """Raise unless `null=` names a null that goes with a `reference=` and so many metrics."""
    null = NULLS[check_choice(name, "null", tuple(NULLS))]
    if null.draws_later and reference != "circuit":
        raise ValueError(
            f"`null` {name!r} draws from the circuit: use null='auto', or reference='circuit', "
            f"found reference={reference!r}"
        )
    if num_metrics > 1 and not null.takes_several:
        raise ValueError(f"`null` {name!r} needs a single `metric`, found {num_metrics} metrics")


@dataclass(frozen=True)
class Context:
    """What a null of a file is read with: the test that it belongs to; shapes stds (m,)."""

    reference: Any
    metrics: tuple[Any, ...]
    stds: np.ndarray
    seed: int

    def read(self, scalars: dict[str, Any], arrays: dict[str, Any]) -> Any:
        """A null that its `to_parts` wrote."""
        kind = scalars.get("kind") if isinstance(scalars, dict) else None
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(
                f"the null must be one of {', '.join(KINDS)}, found {reprlib.repr(scalars)}"
            )
        return KINDS[kind].from_parts(scalars, arrays, self)

    def only(self, i: int) -> Context:
        """The same for metric i alone."""
        return replace(self, metrics=self.metrics[i : i + 1])

    def check_mean(self, mean: float) -> None:
        """Raise unless E[T d^2] can be `mean` for the only metric: it is the sum of (w sigma)^2, or at most that."""
        (metric,) = self.metrics
        most = metric.reach(self.stds) ** 2
        rounding = 1e-20 * metric.reach(np.ones(len(self.stds))) ** 2  # likelihoods are at most 1
        least = most if metric.node_weights is not None else 0.0
        if not least * (1 - 1e-6) - rounding <= mean <= most * (1 + 1e-6) + rounding:
            raise ValueError(
                f"the null of metric {metric.name!r} has the mean {mean}, the standard deviations {most}"
            )
