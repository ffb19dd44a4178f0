"""Numbers of about 100 bits with a range that never ends, in NumPy arrays: what results of doubles are compared with.

A `Wide` array holds  (high + low) * 2**exponent  with 1/2 <= |high| < 1, |low| at most half a unit in the last place of
high, and a 64-bit exponent.  Sums and products of two doubles are exact in pairs of doubles (Knuth's two-sum, Dekker's
product of halves), so one operation has a relative error of a few 2**-104, on every processor whose doubles are those
of IEEE 754: nothing here depends on an 80-bit `longdouble`, which not all of them have.

The error of n operations on numbers of one sign is below n 2**-100.  Differences lose what cancels, as everywhere, but
beside 53-bit results there are 50 bits to lose.

References: Dekker (1971), A floating-point technique for extending the available precision, Numerische Mathematik 18;
Knuth (1998), The Art of Computer Programming 2, section 4.2.2; Hida, Li and Bailey (2001), Algorithms for
quad-double precision floating point arithmetic, ARITH-15.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

NOTHING = -(1 << 60)  # exponent of zero, which so never sets a scale
FAR = 300  # powers of two between terms of a sum beyond which the smaller one is nothing
SPLITTER = 2.0**27 + 1
MOST_TERMS = 1 << 21  # numbers in a temporary array of `matmul`
DIGITS = 45  # of logarithms


class Wide:
    """An array of wide numbers; immutable, with the operators of arrays as far as the tests need them."""

    __array_ufunc__ = None  # so that double * Wide asks Wide

    def __init__(self, high, low, exponent):
        self.high, self.low, self.exponent = high, low, exponent

    @classmethod
    def of(cls, values) -> Wide:
        """Doubles, exactly."""
        high = np.asarray(values, dtype=np.float64)
        return _normalized(high, np.zeros(high.shape), np.zeros(high.shape, dtype=np.int64))

    @property
    def shape(self):
        return self.high.shape

    def __len__(self):
        return len(self.high)

    def __getitem__(self, key):
        return Wide(self.high[key], self.low[key], self.exponent[key])

    def reshape(self, *shape):
        return Wide(*(part.reshape(*shape) for part in self._parts()))

    def transpose(self, *axes):
        return Wide(*(part.transpose(*axes) for part in self._parts()))

    def __neg__(self):
        return Wide(-self.high, -self.low, self.exponent)

    def __mul__(self, other):
        other = _as_wide(other)
        high, low = _two_product(self.high, other.high)
        return _normalized(
            high,
            low + (self.high * other.low + self.low * other.high),
            self.exponent + other.exponent,
        )

    __rmul__ = __mul__

    def __add__(self, other):
        other = _as_wide(other)
        exponent = np.maximum(self.exponent, other.exponent)
        return _normalized(
            *_add_pairs(*_shifted(self, exponent), *_shifted(other, exponent)), exponent
        )

    __radd__ = __add__

    def __sub__(self, other):
        return self + (-_as_wide(other))

    def __rsub__(self, other):
        return _as_wide(other) - self

    def __truediv__(self, other):
        """Three steps of long division on the mantissas; 0 where both are 0."""
        other = _as_wide(other)
        divisor = np.where(other.high == 0, 1.0, other.high)
        first = self.high / divisor
        rest = _minus_product(self.high, self.low, first, other)
        second = rest[0] / divisor
        rest = _minus_product(*rest, second, other)
        high, low = _two_sum(first, second)
        return _normalized(high, low + rest[0] / divisor, self.exponent - other.exponent)

    def sum(self, axis: int) -> Wide:
        """Sum along one axis, by halves."""
        axis %= self.high.ndim
        exponent = self.exponent.max(axis=axis, initial=NOTHING, keepdims=True)
        high, low = _shifted(self, exponent)
        before = (slice(None),) * axis
        while (n := high.shape[axis]) > 1:
            first, second = (*before, slice(0, n // 2)), (*before, slice(n // 2, n // 2 * 2))
            pairs = _add_pairs(high[first], low[first], high[second], low[second])
            rest = (*before, slice(n // 2 * 2, n))
            high, low = (
                (
                    np.concatenate([pairs[0], high[rest]], axis),
                    np.concatenate([pairs[1], low[rest]], axis),
                )
                if n % 2
                else pairs
            )
        only = (*before, 0)
        return (
            _normalized(high[only], low[only], exponent[only])
            if n
            else Wide.of(np.zeros(exponent[only].shape))
        )

    def __matmul__(self, other):
        """(K, P) @ (P, n), in blocks of rows."""
        other = _as_wide(other)
        step = max(1, MOST_TERMS // max(other.high.size, 1))
        blocks = [
            (self[start : start + step, :, None] * other[None]).sum(axis=1)
            for start in range(0, len(self), step)
        ]
        return concatenate(blocks, axis=0)

    def __rmatmul__(self, other):
        return _as_wide(other) @ self

    def to_double(self) -> np.ndarray:
        """The nearest doubles, as far as their range reaches; infinite or zero beyond it."""
        exponent = np.minimum(np.maximum(self.exponent, -4000), 4000)
        with np.errstate(over="ignore", under="ignore"):
            return np.ldexp(self.high + self.low, exponent)

    def log2_size(self) -> np.ndarray:
        """log2 of the absolute values, to a few digits; about -2**60 for zero."""
        with np.errstate(divide="ignore"):
            return np.where(
                self.high == 0, float(NOTHING), np.log2(np.abs(self.high)) + self.exponent
            )

    def logs(self) -> list:
        """Natural logarithms of a one-dimensional array of non-negative numbers, as Decimals of 45 digits."""
        with localcontext() as context:
            context.prec = DIGITS
            ln_2 = Decimal(2).ln()
            return [
                (Decimal(float(h)) + Decimal(float(l))).ln() + int(e) * ln_2
                if h > 0
                else Decimal("-Infinity")
                for h, l, e in zip(self.high, self.low, self.exponent, strict=True)
            ]

    def _parts(self):
        return self.high, self.low, self.exponent


def concatenate(arrays, axis=0) -> Wide:
    """Wide arrays one after the other."""
    return Wide(
        *(
            np.concatenate(parts, axis=axis)
            for parts in zip(*(a._parts() for a in arrays), strict=True)
        )
    )


def stack(arrays) -> Wide:
    """Wide arrays of one shape along a new first axis."""
    return Wide(*(np.stack(parts) for parts in zip(*(a._parts() for a in arrays), strict=True)))


def power_of_two(exponents) -> Wide:
    """2**exponents for integers of any size."""
    exponents = np.asarray(exponents, dtype=np.int64)
    return Wide(np.full(exponents.shape, 0.5), np.zeros(exponents.shape), exponents + 1)


def square_root(values: Wide) -> Wide:
    """Square roots of non-negative numbers, by one step of Heron's rule from those of doubles."""
    half = np.where(values.high == 0, 0, values.exponent // 2)
    rest = Wide(
        values.high, values.low, np.where(values.high == 0, NOTHING, values.exponent - 2 * half)
    )
    start = Wide.of(np.sqrt(rest.to_double()))
    return (start + rest / start) * 0.5 * power_of_two(half)


def relative_errors(found, expected: Wide, scale: Wide | None = None) -> np.ndarray:
    """|found - expected| / scale for doubles `found`; the scale is |expected| by default.  0 / 0 counts as 0."""
    difference = Wide.of(found) - expected
    scale = expected if scale is None else scale
    wrong, nowhere = difference.high != 0, scale.high == 0
    by = np.minimum(np.maximum(difference.exponent - scale.exponent, -2000), 1000)
    ratio = np.ldexp(np.abs(difference.high / np.where(nowhere, 1.0, scale.high)), by)
    return np.where(wrong, np.where(nowhere, np.inf, ratio), 0.0)


def _as_wide(values) -> Wide:
    return values if isinstance(values, Wide) else Wide.of(values)


def _normalized(high, low, exponent) -> Wide:
    """The same numbers in the form that the class promises."""
    total = high + low
    low = low - (total - high)
    mantissa, shift = np.frexp(total)
    return Wide(mantissa, np.ldexp(low, -shift), np.where(mantissa == 0, NOTHING, exponent + shift))


def _shifted(values: Wide, exponent):
    """high and low in units of 2**exponent; what is further than 2**-FAR behind only has to be nothing beside one."""
    by = np.maximum(values.exponent - exponent, -FAR)
    return np.ldexp(values.high, by), np.ldexp(values.low, by)


def _two_sum(a, b):
    """a + b as a double and what it lacks."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def _two_product(a, b):
    """a * b as a double and what it lacks, for numbers near one."""
    product = a * b
    (a1, a2), (b1, b2) = _split(a), _split(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _split(a):
    """Two halves of 26 bits."""
    large = SPLITTER * a
    upper = large - (large - a)
    return upper, a - upper


def _minus_product(high, low, factor, other):
    """(high + low) - factor * other as a pair, of mantissas."""
    product, error = _two_product(factor, other.high)
    return _add_pairs(high, low, -product, -(error + factor * other.low))


def _add_pairs(a, a_low, b, b_low):
    """(a + a_low) + (b + b_low) as a pair."""
    high, error = _two_sum(a, b)
    low, low_error = _two_sum(a_low, b_low)
    high, error = _two_sum(high, error + low)
    return high, error + low_error
