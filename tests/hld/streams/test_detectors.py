"""What a stream monitor requires of a detector: fitted, of independent rows or warned of, and known again."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import zoo

import hld
import pcircuit
from hld.streams.detectors import check_fitted_detector, fingerprint, warn_of_kind


@pytest.mark.parametrize(
    "bad", [None, 3, "model.hld", zoo.two_coins(), hld.HLDDetector(), SimpleNamespace(test_=1)]
)
def test_what_is_no_fitted_detector_is_named(bad):
    said = f"`detector` must be a fitted HLDDetector, found {type(bad).__name__}: fit or load one"
    with pytest.raises(TypeError, match=re.escape(said)):
        check_fitted_detector(bad)


def test_a_fitted_detector_passes(detector):
    assert check_fitted_detector(detector) is None


@pytest.mark.parametrize(
    ("kind", "has_groups", "said"),
    [
        (
            "groups",
            False,
            "`detector` was fitted with `groups`, whose rows resemble one another: give `groups`",
        ),
        (
            "time",
            False,
            "`detector` was fitted with `order`='time', so its rows resemble their neighbours",
        ),
        (
            "covariates",
            False,
            "`detector` was fitted with `covariates`, which may move, but the monitor raises its alarm",
        ),
        ("covariates", True, "`detector` was fitted with `covariates`"),
        ("groups", True, None),
        ("time", True, None),
        (None, False, None),
        (None, True, None),
    ],
)
def test_a_detector_of_other_units_than_the_stream_has_is_warned_of(
    kind, has_groups, said, recwarn
):
    warn_of_kind(SimpleNamespace(judge_=SimpleNamespace(kind=kind)), has_groups)
    assert [str(one.message)[: len(said)] for one in recwarn] == ([] if said is None else [said])


def test_a_judge_without_a_kind_is_one_of_independent_rows(recwarn):
    warn_of_kind(SimpleNamespace(judge_=object()), False)
    assert len(recwarn) == 0


def test_circuits_have_one_fingerprint_each(tmp_path):
    circuits = zoo.all_circuits()
    found = {name: fingerprint(circuit) for name, circuit in circuits.items()}
    assert len(set(found.values())) == len(found)
    for name, circuit in zoo.all_circuits().items():  # made anew
        assert fingerprint(circuit) == found[name]
    pcircuit.save(circuits["two_coins"], tmp_path / "coins.pc")
    assert fingerprint(pcircuit.load(tmp_path / "coins.pc")) == found["two_coins"]


def test_the_last_digit_of_one_number_changes_the_fingerprint():
    coins = zoo.two_coins()
    first = coins.regions[0]
    probs = first.probs.copy()
    probs[0, 0] = np.nextafter(probs[0, 0], 0)
    other = pcircuit.Circuit(coins.vtree, [replace(first, probs=probs), *coins.regions[1:]])
    assert fingerprint(other) != fingerprint(coins)
