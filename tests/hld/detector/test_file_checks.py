"""Parts of a file that are right one by one and cannot belong together: each is refused in its own words."""

import copy
import io
import re

import numpy as np
import pytest
from fuzz_checks import parts_of, read_detector
from fuzz_files import members_of, pack

import hld
from hld.detector.file import check_history, check_settings
from pcircuit.io.archive import saved_count

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


def wider(header, arrays):
    """Deviations that numbers from 0 to 1 of these means cannot have, and a null that agrees with them."""
    factor = 0.99 / arrays["test.stds"].max()
    arrays["test.stds"] = arrays["test.stds"] * factor
    arrays["test.null.eigenvalues"] = arrays["test.null.eigenvalues"] * factor**2


@pytest.mark.parametrize(
    ("kind", "damage", "message"),
    [
        ("circuit", setting(null=3), "'null' must be text, found 3"),
        (
            "circuit",
            setting(missing="exact"),
            "'missing' is 'exact': detectors complete what is missing, or leave it out",
        ),
        ("circuit", setting(num_train=10**6), "num_train"),
        ("circuit", array("test.nodes", swapped), "the nodes of the test must ascend"),
        ("circuit", wider, "'stds' holds numbers that are no standard deviations"),
        (
            "circuit",
            array("test.mean", lambda m: m * (1 + 1e-7)),
            "'mean' is not the mean of the node likelihoods",
        ),
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
        (
            "circuit",
            array("history", lambda h: h[None]),
            "the history must be one-dimensional of float64, found shape (1,",
        ),
        (
            "circuit",
            array("history", lambda h: h[:0]),
            "the history must be one-dimensional of float64, found shape (0,)",
        ),
        (
            "circuit",
            array("history", lambda h: h + 1e3),
            "the history must hold mean log-likelihoods",
        ),
        (
            "circuit",
            array("history", lambda h: h * np.nan),
            "the history must hold mean log-likelihoods",
        ),
    ],
)
def test_parts_that_contradict_each_other_are_refused(kind, damage, message, parts):
    header, arrays = copy.deepcopy(parts[kind])
    damage(header, arrays)
    with pytest.raises(ValueError, match=re.escape(message)):
        read(header, arrays)


def test_settings_are_those_of_a_detector_of_so_many_rows():
    saved = {
        "null": "exact",
        "reference": "training",
        "missing": "available",
        "tolerance": 0.0,
        "seed": 0,
        "num_train": 50,
    }
    check_settings(saved, 50)
    with pytest.raises(ValueError, match="num_train"):
        check_settings(saved, 49)
    with pytest.raises(ValueError, match="num_train"):
        check_settings({**saved, "num_train": None}, 50)
    check_settings({**saved, "reference": "circuit", "num_train": None}, 50)
    assert saved_count(saved, "num_train", 2, 50) == 50


def test_the_mean_of_a_circuit_that_is_dear_to_compute_is_believed(parts, monkeypatch):
    header, arrays = copy.deepcopy(parts["normal"])
    arrays["test.mean"] = arrays["test.mean"] * (1 + 1e-12)
    read(header, arrays)
    monkeypatch.setattr("hld.detector.file.means_cost", lambda circuit: 10**30)
    arrays["test.mean"] = arrays["test.mean"] * (1 - 1e-6)
    read(header, arrays)


def test_impossible_rows_have_a_history_too():
    check_history(np.array([-np.inf, -3.0, 0.0]))
