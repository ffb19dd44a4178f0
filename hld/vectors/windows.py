"""Maps that look at a part of a vector: first come the likelihoods of nodes, then the features of the score.

A metric on nodes is made for m of them and knows nothing of what else a vector holds; `widened` extends it to longer
vectors.  In files a window is stored as the map that it holds, with one more entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.vectors.linear_maps import LinearMap, map_from_parts


@dataclass(frozen=True, eq=False)
class Window(LinearMap):
    """F that is another map of successive coordinates, and 0 of all others."""

    inner: LinearMap
    start: int
    width: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.width - self.inner.width:
            raise ValueError(f"metric {self.name!r} refers to numbers of a row that are not there")

    @property
    def seen(self) -> slice:
        """The coordinates that it looks at."""
        return slice(self.start, self.start + self.inner.width)

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """F z, of the part."""
        return self.inner.apply(rows[..., self.seen])

    def adjoint(self, images: np.ndarray) -> np.ndarray:
        """F^T y: that of the part, 0 elsewhere."""
        whole = np.zeros((len(images), self.width))
        whole[:, self.seen] = self.inner.adjoint(images)
        return whole

    def squared(self, rows: Any) -> Any:
        """d^2, of the part."""
        return self.inner.squared(rows[..., self.seen])

    def reach(self, sizes: Any) -> Any:
        """That of the part."""
        return self.inner.reach(sizes[self.seen])

    def to_parts(self) -> Any:
        """Those of the part, and where it is."""
        scalars, arrays = self.inner.to_parts()
        return {**scalars, "window": [self.start, self.seen.stop, self.width]}, arrays


def seen_by(metric: LinearMap) -> tuple[LinearMap, slice]:
    """The map that looks, and the coordinates that it looks at: a window's, or all."""
    return (metric.inner, metric.seen) if isinstance(metric, Window) else (metric, slice(None))


def widened(metric: LinearMap, width: int) -> LinearMap:
    """A map of the first coordinates, as one of vectors with `width`."""
    return metric if metric.width == width else Window(metric.name, metric, 0, width)


def read_map(scalars: dict[str, Any], arrays: dict[str, Any], width: int) -> LinearMap:
    """A map, or a window of one, from what its `to_parts` gave; raises ValueError unless it is of so many numbers."""
    if not isinstance(scalars, dict) or "window" not in scalars:
        return map_from_parts(scalars, arrays, width)
    place = scalars["window"]
    if (
        not isinstance(place, list)
        or len(place) != 3
        or any(type(end) is not int for end in place)
        or not 0 <= place[0] < place[1] <= place[2] == width
    ):
        raise ValueError(
            f"the window of a metric must be three ascending whole numbers, the last {width}"
        )
    inner = map_from_parts(
        {name: value for name, value in scalars.items() if name != "window"},
        arrays,
        place[1] - place[0],
    )
    return Window(inner.name, inner, place[0], width)
