"""Tables whose rows break in one way, and what each witness of the library says of them."""

from dataclasses import replace

import numpy as np

from hld.witnesses.witnesses import combined

EVIL = ["*/ int x;", "a\\", "??/", "\u2028\n", 'q"']
CALM = {}
BROKEN = (
    {"shift": 0.3},
    {"shift": 3.0},
    {"shift": 300.0},
    {"holes": 0.05},
    {"holes": 0.4},
    {"level": 0.1},
    {"permuted": True},
)


def table(rng, number, shift=0.0, holes=0.0, level=0.0, permuted=False):
    """Levels with names that would break C, and numbers; some cells missing, new, or no longer tied to the others."""
    kind = rng.integers(0, 5, number)
    numbers = kind + rng.normal(size=number) + shift
    levels = np.array(EVIL, dtype=object)[kind]
    levels[rng.random(number) < level] = "another"
    levels[rng.random(number) < holes] = None
    numbers[rng.random(number) < holes] = np.nan
    return {
        "*/ column": levels,
        "n": rng.permutation(numbers) if permuted else numbers,
        "k": (kind + rng.integers(0, 2, number)) % 4,
    }


def heard(detector, batch):
    """P-values of the library: of what is exported together, and of each witness (NaN: nothing to compare)."""
    result = detector.test(batch)
    alone = detector.test_(detector.encoder_.encode_counting(batch)[0])
    quality = result.data_quality
    beside = (
        quality.missingness,
        quality.new_values,
        result.largest_count,
        result.largest_dependence,
    )
    shown = [one.pvalue if one is not None and one.share else np.nan for one in beside]
    together = combined(alone.pvalue, *(one for one in beside if one is not None))
    carried = replace(result, pvalue=together, reject=together <= result.alpha)
    return carried, [together, alone.pvalue, *shown]
