import numpy as np
import pytest

import hld
from hld.answers.profile import held_of, profile_of
from hld.features.odd_rows import ODDNESS
from hld.witnesses.distances import levels
from hld.witnesses.largest_count import largest_count
from hld.witnesses.largest_dependence import largest_dependence
from hld.witnesses.witnesses import WITNESSES, has_witnesses, witnesses_of

OPTIONS = {"num_latents": 1, "num_epochs": 2, "null": "exact"}


def rows(n, seed):
    found = np.random.default_rng(seed).integers(0, 3, size=(n, 4))
    found[:, 1] = np.where(found[:, 3] > 0, found[:, 0], found[:, 1])
    return found


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_latents=3, num_epochs=6, null="exact").fit(rows(300, 0))


def batch_of(detector, table, edges=None):
    codes = detector.encoder_.encode(table)[0]
    return profile_of(
        codes, detector.encoder_.num_categories, detector.profile_.edges if edges is None else edges
    )


def test_both_are_those_of_the_counts(detector):
    shifted = rows(120, 1)
    shifted[:60, 2], shifted[:, 1] = 0, np.roll(shifted[:, 1], 1)
    batch, kept = batch_of(detector, shifted), detector.profile_
    held = held_of(detector, None)
    found = witnesses_of(detector, held, batch)
    assert found.pop("levels").to_dict() == levels(held, batch).to_dict()
    assert found == {
        "largest_count": largest_count(kept, batch, detector.encoder_.ordered),
        "largest_dependence": largest_dependence(kept, batch),
    }
    assert found["largest_count"].pvalue < 0.05
    assert detector.encoder_.ordered
    result = detector.test(shifted)
    assert result.witnesses.keys() == {*WITNESSES, *ODDNESS}
    assert {name: result.witnesses[name] for name in found} == found
    assert result.largest_count == found["largest_count"]


def test_without_pairs_no_dependence_is_tested(detector):
    no_pairs = batch_of(detector, rows(80, 1), np.zeros((0, 2), dtype=int))
    held = held_of(detector, None)
    assert witnesses_of(detector, held, no_pairs).keys() == {"largest_count", "levels"}
    assert witnesses_of(detector, held, None) == witnesses_of(detector, None, no_pairs) == {}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, True),
        ({"metric": "likelihoods"}, True),
        ({"metric": "whitened"}, False),
        ({"metric": ("euclidean", "standardized")}, False),
        ({"reference": "circuit"}, False),
    ],
)
def test_they_are_part_of_what_a_detector_does_by_default_where_rows_were_held_out(
    options, expected
):
    detector = hld.HLDDetector(**OPTIONS | options).fit(rows(120, 0))
    assert has_witnesses(detector) == expected
    batch = batch_of(detector, rows(30, 1))
    assert bool(witnesses_of(detector, held_of(detector, None), batch)) == expected
    assert (detector.test(rows(30, 1)).largest_count is not None) == expected
