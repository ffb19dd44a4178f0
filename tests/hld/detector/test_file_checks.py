"""Parts of a file that are right one by one and cannot belong together: each is refused in its own words."""

import copy
import io
import re

import numpy as np
import pytest
from fuzz_checks import parts_of, read_detector
from fuzz_files import members_of, pack

import hld

OPTIONS = {
    "circuit": {"reference": "circuit", "metric": "euclidean", "null": "exact"},
    "normal": {"reference": "circuit", "metric": "standardized", "null": "normal"},
    "rows": {"reference": "training", "metric": "euclidean"},
}


@pytest.fixture(scope="module")
def parts():
    """Header and arrays of each kind of detector."""
    table = np.random.default_rng(0).integers(0, 3, size=(120, 3))
    return {
        name: parts_of(
            hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=39, **options).fit(table)
        )
        for name, options in OPTIONS.items()
    }


def read(header, arrays):
    return read_detector(io.BytesIO(pack(members_of(header, arrays))))


def test_the_files_themselves_are_read(parts):
    for header, arrays in parts.values():
        assert read(header, arrays).predict([[0, 1, 2]]).shape == (1,)


def array(name, change):
    def damage(header, arrays):
        arrays[name] = change(arrays[name].copy())

    return damage


def setting(**entries):
    return lambda header, arrays: header["test"].update(entries)


def swapped(values):
    values[[0, 1]] = values[[1, 0]]
    return values


@pytest.mark.parametrize(
    ("kind", "damage", "message"),
    [
        ("circuit", setting(null=3), "`null` must be one of"),
        ("rows", setting(num_train=None), "num_train"),
        ("circuit", setting(num_train=10**6), "num_train"),
        ("circuit", array("test.nodes", swapped), "the nodes of the test must ascend"),
        (
            "circuit",
            setting(null="normal"),
            "the null is a LimitLaw, which does not fit null='normal'",
        ),
        (
            "circuit",
            setting(null="monte-carlo"),
            "the null is a LimitLaw, which does not fit null='monte-carlo'",
        ),
        (
            "normal",
            setting(null="exact"),
            "the null is a NormalLaw, which does not fit null='exact'",
        ),
        ("rows", setting(null="monte-carlo"), "found reference='training' and null='monte-carlo'"),
        ("rows", setting(null="exact"), "does not fit null='exact'"),
        *(
            ("circuit", array(name, change), f"array '{name}' must hold mean log-likelihoods")
            for name in ("history", "offset")
            for change in (
                lambda values: values[None],
                lambda values: values[:0],
                lambda values: values + 1e3,
                lambda values: values * np.nan,
            )
        ),
    ],
)
def test_parts_that_contradict_each_other_are_refused(kind, damage, message, parts):
    header, arrays = copy.deepcopy(parts[kind])
    damage(header, arrays)
    with pytest.raises(ValueError, match=re.escape(message)):
        read(header, arrays)
