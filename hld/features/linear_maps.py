r"""Linear maps of likelihood vectors: what turns a difference of means into a distance.

With Z the difference of the mean likelihood vectors of a batch and of its reference, a metric is a linear map F and

.. math:: d^2 = \| F Z \|^2.

If the likelihood vector has covariance S, its image has F S F^T, and the null distribution of d needs nothing else.  A
map is held in the form that is cheap for it:

============  =======================================================  ==========================
`Scaled`      F = diag(w)                                              m numbers
`Stretched`   F = r (I - V V^T) + V diag(f) V^T, V^T V = I             k m numbers, k directions
`SparseRows`  rows with at most w entries other than zero              l w numbers
============  =======================================================  ==========================

Each carries the name of its metric, and is stored in a file field by field.

**What a map sees.**  First in a vector come the likelihoods of nodes, then the features of the score.  A map looks at
successive numbers of a vector, and is 0 of the `before` and `behind` them.
"""

import reprlib
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from pcircuit.io.archive import finite_array, saved_count, saved_number

EPS = float(np.finfo(float).eps)
MAPPED = 60  # multiplications for each coordinate that a map looks at
BLOCK_ROWS = 4_096  # whose images are held at a time
FEW = 2**18  # products held at a time: for few, importing SciPy's sparse arrays would take longer
ORTHONORMAL = 1e-6  # the most by which scalar products of directions may be off


@dataclass(frozen=True, eq=False)
class LinearMap:
    """A metric with a name: d = |F Z|; a form says what it makes of the numbers that it sees."""

    name: str
    before: int = field(default=0, kw_only=True)
    behind: int = field(default=0, kw_only=True)

    @property
    def size(self) -> int:
        """Numbers that the map looks at."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return self.before + self.size + self.behind

    @property
    def seen(self) -> slice:
        """Where in a vector the numbers are that the map looks at."""
        return slice(self.before, self.before + self.size)

    @property
    def alone(self) -> Any:
        """The map of vectors that have only the numbers that it looks at."""
        return replace(self, before=0, behind=0)

    @property
    def node_weights(self) -> Any:
        """(m,) w where F is diag(w), else None."""
        return None

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """F z of a vector z (m,), or of each row of (n, m)."""
        return self.image(rows[..., self.seen])

    def squared(self, rows: np.ndarray) -> Any:
        """d^2 = |F z|^2 of a vector z (m,), or of each row of (n, m), some rows at a time."""
        rows = rows[..., self.seen]
        if rows.ndim == 1:
            return self.square(rows)
        starts = range(0, max(len(rows), 1), BLOCK_ROWS)
        return np.concatenate([self.square(rows[start : start + BLOCK_ROWS]) for start in starts])

    def adjoint(self, images: np.ndarray) -> np.ndarray:
        """F^T y of each row of (n, l): y . F z = F^T y . z, so that many products with F z need no F z."""
        return np.pad(self.transposed(images), ((0, 0), (self.before, self.behind)))

    def reach(self, sizes: np.ndarray) -> float:
        """A bound on |F z| for |z_j| <= sizes_j."""
        return self.longest(sizes[self.seen])

    def image(self, seen: np.ndarray) -> np.ndarray:
        """`apply` to the numbers that the map looks at; F^T = F unless `transposed` says otherwise."""
        raise NotImplementedError

    def transposed(self, images: np.ndarray) -> np.ndarray:
        """`adjoint`, of these numbers."""
        return self.image(images)

    def square(self, seen: np.ndarray) -> Any:
        """`squared` of few rows of them."""
        return lengths(self.image(seen))

    def longest(self, sizes: np.ndarray) -> float:
        """`reach` for them."""
        raise NotImplementedError

    @property
    def num_multiplications(self) -> int:
        """Of the length of one image, about, in those of a matrix product: single ones take longer."""
        return MAPPED * self.size

    def check_stored(self) -> None:
        """Raise where a map of a file cannot be one, beyond what every map is asked for."""

    def round_off(self, mean: np.ndarray) -> float:
        """A distance that rounding in means (m,) can cause alone."""
        return 8 * EPS * max(self.reach(mean), float(np.sqrt(np.finfo(float).tiny)))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Scalars, as JSON holds them, and arrays: together all that `read_map` needs."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        arrays = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
        scalars = {key: value for key, value in values.items() if key not in arrays}
        return {"form": type(self).__name__, **scalars}, arrays


@dataclass(frozen=True, eq=False)
class Scaled(LinearMap):
    """F = diag(w): every node by itself; shapes weights (m,)."""

    weights: np.ndarray

    def __post_init__(self) -> None:
        if self.weights.ndim != 1 or not ((self.weights > 0) & (self.weights < np.inf)).all():
            raise ValueError(f"metric {self.name!r} is not a norm: node weights must be positive")

    @property
    def node_weights(self) -> Any:
        """(m,) w, unless there are other numbers in a vector."""
        return self.weights if self.size == self.width else None

    @property
    def size(self) -> int:
        """m."""
        return len(self.weights)

    def image(self, seen: np.ndarray) -> np.ndarray:
        """w_j z_j."""
        return seen * self.weights

    def longest(self, sizes: np.ndarray) -> float:
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
        vectors, factors = self.vectors, self.factors
        fits = vectors.ndim == 2 and factors.shape == vectors.shape[1:]
        if not fits or not (factors >= 0).all() or not 0 <= self.rest < np.inf:
            raise ValueError(
                f"metric {self.name!r} is not a norm: every direction needs a factor of at least 0"
            )

    @property
    def size(self) -> int:
        """m."""
        return len(self.vectors)

    @property
    def num_multiplications(self) -> int:
        """Those with the directions, too."""
        return MAPPED * self.size + self.vectors.size

    def check_stored(self) -> None:
        """Raise unless V^T V = I, which `square` relies on."""
        products = self.vectors.T @ self.vectors
        if np.abs(products - np.eye(len(products))).max(initial=0.0) > ORTHONORMAL:
            raise ValueError(f"metric {self.name!r} has directions that are not orthonormal")

    def image(self, seen: np.ndarray) -> np.ndarray:
        """R z + V (f - r) V^T z."""
        along = seen @ self.vectors * (self.factors - self.rest)
        return self.rest * seen + along @ self.vectors.T

    def square(self, seen: np.ndarray) -> Any:
        """r^2 |z|^2 + sum_k (f_k^2 - r^2) (v_k . z)^2: by Pythagoras, at half the cost of the image."""
        gains = self.factors**2 - self.rest**2
        return np.maximum(self.rest**2 * lengths(seen) + (seen @ self.vectors) ** 2 @ gains, 0.0)

    def longest(self, sizes: np.ndarray) -> float:
        """|s| times the largest factor."""
        return _length(sizes) * max(self.rest, float(self.factors.max(initial=0.0)))


@dataclass(frozen=True, eq=False)
class SparseRows(LinearMap):
    """F with few entries in each row; shapes index, coefficients (l, w)."""

    index: np.ndarray
    coefficients: np.ndarray
    num_nodes: int

    def __post_init__(self) -> None:
        index = self.index
        fits = index.ndim == 2 and index.shape == self.coefficients.shape and index.size
        if not fits or index.dtype.kind != "i" or index.min() < 0 or index.max() >= self.size:
            raise ValueError(f"metric {self.name!r} refers to nodes that are not there")

    @property
    def size(self) -> int:
        """m."""
        return self.num_nodes

    @cached_property
    def matrix(self) -> Any:
        """(l, m) F."""
        from scipy.sparse import csr_array

        starts = np.arange(0, self.index.size + 1, self.index.shape[1])
        parts = self.coefficients.ravel(), self.index.ravel(), starts
        return csr_array(parts, shape=(len(self.index), self.size))

    def image(self, seen: np.ndarray) -> np.ndarray:
        """F z."""
        if seen.size // self.size * self.index.size <= FEW:
            return (self.coefficients * seen[..., self.index]).sum(axis=-1)
        return (self.matrix @ seen.T).T

    def transposed(self, images: np.ndarray) -> np.ndarray:
        """F^T y."""
        return (self.matrix.T @ images.T).T

    def longest(self, sizes: np.ndarray) -> float:
        """||F| s|."""
        return _length((np.abs(self.coefficients) * sizes[self.index]).sum(axis=1))


FORMS = {form.__name__: form for form in (Scaled, Stretched, SparseRows)}


def read_map(scalars: dict[str, Any], arrays: dict[str, Any], width: int) -> LinearMap:
    """A map from what its `to_parts` gave; raises ValueError or TypeError unless it is of so many numbers."""
    scalars = dict(scalars)
    form, name = scalars.pop("form", None), scalars.pop("name", None)
    if form not in list(FORMS) or not isinstance(name, str) or not name.isidentifier():
        raise ValueError(
            f"a metric must have one of the forms {', '.join(FORMS)} and a word as its name, "
            f"found {reprlib.repr(form)} and {reprlib.repr(name)}"
        )
    for entry in scalars:
        if entry == "rest":
            saved_number(scalars, entry)
        else:
            saved_count(scalars, entry, 0)
    for entry, array in arrays.items():
        whole = entry == "index" and array.dtype.kind == "i"
        finite_array(arrays, entry, array.shape, array.dtype if whole else np.float64)
    found = FORMS[form](name, **scalars, **arrays)
    if found.width != width:
        raise ValueError(f"metric {name!r} does not fit {width} nodes")
    found.check_stored()
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
