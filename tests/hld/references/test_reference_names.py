"""References by the names that `reference=` takes."""

import numpy as np
import pytest
import zoo

import hld
from hld import select_nodes
from hld.features.score_features import score_features
from hld.references.rows import FROM_ROWS, REFERENCES
from pcircuit import sample

CIRCUIT = zoo.circuits()["hclt_like"]
NODES = select_nodes(CIRCUIT)
ROWS = sample(CIRCUIT, 30, rng=0)


def test_rows_are_needed_by_those_that_are_made_of_them_and_by_no_other():
    for name in REFERENCES:
        rows = ROWS if name in FROM_ROWS else None
        assert hld.HLDTest(CIRCUIT, reference=name, training_data=rows).reference == name
        with pytest.raises(ValueError, match="`training_data`"):
            hld.HLDTest(CIRCUIT, reference=name, training_data=None if name in FROM_ROWS else ROWS)


def test_features_of_the_score_are_part_of_the_vectors_of_rows():
    features = score_features(CIRCUIT)
    reference = REFERENCES["training"](CIRCUIT, NODES, ROWS, features)
    assert len(reference.mean) == len(NODES) + features.num_features
    with pytest.raises(
        ValueError, match="`reference` must be one of 'circuit', 'training', found 'rows'"
    ):
        hld.HLDTest(CIRCUIT, reference="rows")
    np.testing.assert_array_equal(reference.nodes, NODES)
