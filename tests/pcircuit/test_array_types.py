"""Names for types of arrays: what functions that are annotated with them return."""

import typing

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit import array_types
from pcircuit.arguments import check_generator

CIRCUIT = zoo.hclt_like()
ROWS = naive.states(CIRCUIT)[:3]
RETURNED = [
    (pcircuit.log_likelihood, lambda: CIRCUIT.log_likelihood(ROWS)),
    (pcircuit.node_likelihoods, lambda: CIRCUIT.node_likelihoods(ROWS)),
    (pcircuit.mean_node_likelihoods, lambda: pcircuit.mean_node_likelihoods(CIRCUIT, ROWS)),
    (pcircuit.VTree.scope, lambda: CIRCUIT.vtree.scope(4)),
    (pcircuit.VTree.children, lambda: CIRCUIT.vtree.children(4)),
    (pcircuit.VTree.leaf_of, CIRCUIT.vtree.leaf_of),
    (pcircuit.chow_liu_tree, lambda: pcircuit.chow_liu_tree(ROWS)),
]


@pytest.mark.parametrize(
    ("name", "dtype"), [("Floats", np.float64), ("Ints", np.int64), ("Bools", np.bool_)]
)
def test_names_stand_for_arrays_of_one_type(name, dtype):
    alias = getattr(array_types, name)
    assert typing.get_origin(alias) is np.ndarray
    assert typing.get_args(typing.get_args(alias)[1]) == (dtype,)


@pytest.mark.parametrize(
    ("function", "call"), RETURNED, ids=lambda value: getattr(value, "__qualname__", "")
)
def test_functions_return_arrays_of_the_type_that_they_are_annotated_with(function, call):
    annotation = typing.get_type_hints(function)["return"]
    (dtype,) = typing.get_args(typing.get_args(annotation)[1])
    assert call().dtype == dtype
    assert annotation in (array_types.Floats, array_types.Ints)


def test_seeds_are_what_generators_are_made_of():
    assert typing.get_args(array_types.Seed) == (int, np.random.Generator, type(None))
    for seed in (3, np.random.default_rng(3), None):
        assert isinstance(check_generator(seed), np.random.Generator)
