r"""Linear maps of likelihood vectors: what turns a difference of means into a distance.

With Z the difference of the mean likelihood vectors of a batch and of its reference, a metric is a linear map F and

.. math:: d^2 = \| F Z \|^2.

So a metric needs one method, ``apply``, and its transpose, ``adjoint``.  If the likelihood vector has covariance S, its
image has F S F^T, and the null distribution of d needs nothing else.  A map is held in the form that is cheap for it:

============  =======================================================  ==========================
`Scaled`      F = diag(w)                                              m numbers
`Stretched`   F = r (I - V V^T) + V diag(f) V^T, V^T V = I             k m numbers, k directions
`SparseRows`  rows with at most w entries other than zero              l w numbers
============  =======================================================  ==========================

Each carries the name of its metric, and is stored in a file field by field.

**Windows** look at a part of a vector: first come the likelihoods of nodes, then the features of the score.  A metric
on nodes is made for m of them and knows nothing of what else a vector holds; `widened` extends it to longer vectors.
In files a window is stored as the map that it holds, with one more entry.
"""

import reprlib
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from pcircuit.io.archive import check_names, finite_array, saved_count, saved_number

EPS = float(np.finfo(float).eps)
WHOLE = ("index",)  # arrays of whole numbers
MAPPED = 60  # multiplications for each coordinate that a map looks at
BLOCK_ROWS = 4_096  # whose images are held at a time
FEW = (
    2**18
)  # products that are held at a time: SciPy's sparse arrays would take longer to import than these take
ORTHONORMAL = 1e-6  # the most by which scalar products of directions may be off


@dataclass(frozen=True, eq=False)
class LinearMap:
    """A metric with a name: d = |F Z|; see the module for its forms."""

    name: str
    node_weights = None  # (m,) where F is diagonal
    width = 0  # m; every form says its own

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """F z of a vector z (m,), or of each row of (n, m)."""
        raise NotImplementedError

    def adjoint(self, images: np.ndarray) -> np.ndarray:
        """F^T y of each row of (n, l): y . F z = F^T y . z, so that many products with F z need no F z."""
        raise NotImplementedError

    def reach(self, sizes: np.ndarray) -> float:
        """A bound on |F z| for |z_j| <= sizes_j."""
        raise NotImplementedError

    @property
    def num_multiplications(self) -> int:
        """Of the length of one image, about, in those of a matrix product: single ones take longer."""
        return MAPPED * self.width

    def squared(self, rows: np.ndarray) -> Any:
        """d^2 = |F z|^2 of a vector z (m,), or of each row of (n, m), some rows at a time."""
        if rows.ndim == 1:
            return self._squared(rows)
        starts = range(0, max(len(rows), 1), BLOCK_ROWS)
        return np.concatenate([self._squared(rows[start : start + BLOCK_ROWS]) for start in starts])

    def _squared(self, rows: np.ndarray) -> Any:
        """d^2 of few rows."""
        return lengths(self.apply(rows))

    def round_off(self, mean: np.ndarray) -> float:
        """A distance that rounding in means (m,) can cause alone."""
        return 8 * EPS * max(self.reach(mean), float(np.sqrt(np.finfo(float).tiny)))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Scalars, as JSON holds them, and arrays: together all that `map_from_parts` needs."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        arrays = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
        scalars = {key: value for key, value in values.items() if key not in arrays}
        return {"form": type(self).__name__, **scalars}, arrays


@dataclass(frozen=True, eq=False)
class Scaled(LinearMap):
    """F = diag(w): every node by itself; shapes weights (m,)."""

    weights: np.ndarray

    def __post_init__(self) -> None:
        if (
            self.weights.ndim != 1
            or not (self.weights > 0).all()
            or not np.isfinite(self.weights).all()
        ):
            raise ValueError(f"metric {self.name!r} is not a norm: node weights must be positive")

    @property
    def node_weights(self) -> Any:  # type: ignore[override]
        """(m,) w."""
        return self.weights

    @property
    def width(self) -> Any:  # type: ignore[override]
        """m."""
        return len(self.weights)

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """w_j z_j."""
        return rows * self.weights

    def adjoint(self, images: np.ndarray) -> np.ndarray:
        """F^T = F."""
        return self.apply(images)

    def reach(self, sizes: np.ndarray) -> float:
        """|w s|."""
        return _length(self.weights * sizes)


@dataclass(frozen=True, eq=False)
class Stretched(LinearMap):
    """F = r (I - V V^T) + V diag(f) V^T: some directions with factors of their own, all others with one.

    Shapes: vectors (m, k), factors (k,).
    """

    vectors: np.ndarray
    factors: np.ndarray
    rest: float

    def __post_init__(self) -> None:
        if (
            self.vectors.ndim != 2
            or self.factors.shape != self.vectors.shape[1:]
            or not (self.factors >= 0).all()
            or not 0 <= self.rest < np.inf
        ):
            raise ValueError(
                f"metric {self.name!r} is not a norm: every direction needs a factor of at least 0"
            )

    @property
    def width(self) -> Any:  # type: ignore[override]
        """m."""
        return len(self.vectors)

    @property
    def num_multiplications(self) -> int:
        """Those with the directions."""
        return MAPPED * self.width + self.vectors.size

    def is_orthonormal(self) -> bool:
        """Whether V^T V = I, which `squared` relies on."""
        products = self.vectors.T @ self.vectors
        return bool(np.abs(products - np.eye(len(products))).max(initial=0.0) <= ORTHONORMAL)

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """R z + V (f - r) V^T z."""
        return (
            self.rest * rows + (rows @ self.vectors * (self.factors - self.rest)) @ self.vectors.T
        )

    def adjoint(self, images: np.ndarray) -> np.ndarray:
        """F^T = F."""
        return self.apply(images)

    def _squared(self, rows: Any) -> Any:
        """r^2 |z|^2 + sum_k (f_k^2 - r^2) (v_k . z)^2: by Pythagoras, at half the cost of `apply`."""
        gains = self.factors**2 - self.rest**2
        return np.maximum(self.rest**2 * lengths(rows) + (rows @ self.vectors) ** 2 @ gains, 0.0)

    def reach(self, sizes: np.ndarray) -> float:
        """|s| times the largest factor."""
        return _length(sizes) * max(self.rest, float(self.factors.max(initial=0.0)))


@dataclass(frozen=True, eq=False)
class SparseRows(LinearMap):
    """F with few entries in each row; shapes index, coefficients (l, w)."""

    index: np.ndarray
    coefficients: np.ndarray
    width: int

    def __post_init__(self) -> None:
        index = self.index
        if (
            index.ndim != 2
            or index.dtype.kind not in "iu"
            or not index.size
            or not 0 <= index.min() <= index.max() < self.width
            or index.shape != self.coefficients.shape
        ):
            raise ValueError(f"metric {self.name!r} refers to nodes that are not there")

    @cached_property
    def matrix(self) -> Any:
        """(l, m) F."""
        from scipy.sparse import csr_array

        starts = np.arange(0, self.index.size + 1, self.index.shape[1])
        return csr_array(
            (self.coefficients.ravel(), self.index.ravel(), starts),
            shape=(len(self.index), self.width),
        )

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """F z."""
        if rows.size // self.width * self.index.size <= FEW:
            return (self.coefficients * rows[..., self.index]).sum(axis=-1)
        return (self.matrix @ rows.T).T

    def adjoint(self, images: np.ndarray) -> np.ndarray:
        """F^T y."""
        return (self.matrix.T @ images.T).T

    def reach(self, sizes: np.ndarray) -> float:
        """||F| s|."""
        return _length((np.abs(self.coefficients) * sizes[self.index]).sum(axis=1))


FORMS = {form.__name__: form for form in (Scaled, Stretched, SparseRows)}


def map_from_parts(scalars: dict[str, Any], arrays: dict[str, Any], m: int) -> LinearMap:
    """A map of vectors (m,) from what `LinearMap.to_parts` gave."""
    form = FORMS.get(scalars.get("form")) if isinstance(scalars, dict) else None  # type: ignore[arg-type]
    if form is None:
        raise ValueError(
            f"a metric must be one of the forms {', '.join(FORMS)}, found {reprlib.repr(scalars)}"
        )
    known = {part.name for part in fields(form)}
    check_names({*scalars, *arrays} - {"form"}, known, f"a metric of form {form.__name__}")
    scalars = {name: value for name, value in scalars.items() if name != "form"}
    if (
        not isinstance(scalars.get("name"), str) or not scalars["name"].isidentifier()
    ):  # it is shown to people
        raise ValueError(
            f"the name of a metric must be a word, found {reprlib.repr(scalars.get('name'))}"
        )
    checked = {
        name: finite_array(
            arrays,
            name,
            array.shape,
            array.dtype if name in WHOLE and array.dtype.kind == "i" else np.float64,
        )
        for name, array in arrays.items()
    }
    for name in set(scalars) - {"name"}:
        (saved_count if name == "width" else saved_number)(scalars, name)
    found = form(**scalars, **checked)  # type: ignore[arg-type]
    if found.width != m:
        raise ValueError(f"metric {found.name!r} does not fit {m} nodes")
    if isinstance(found, Stretched) and not found.is_orthonormal():
        raise ValueError(f"metric {found.name!r} has directions that are not orthonormal")
    return found


def squared_distances(metrics: tuple[LinearMap, ...], rows: np.ndarray) -> np.ndarray:
    """(n, q) squared distances d^2 of vectors (n, m), under each of q metrics."""
    return np.stack([metric.squared(rows) for metric in metrics], axis=1)


def lengths(rows: np.ndarray) -> Any:
    """|z|^2 of a vector z (m,), or of each row of (n, m), without an array of squares."""
    return np.einsum("...j,...j->...", rows, rows)


def _length(vector: np.ndarray) -> float:
    """|v|, also where squares of its entries leave the range of doubles."""
    largest = float(np.abs(vector).max(initial=0.0))
    return largest * float(np.linalg.norm(vector / largest)) if 0 < largest < np.inf else largest


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

    @property
    def num_multiplications(self) -> int:
        """Those of the part."""
        return self.inner.num_multiplications

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
