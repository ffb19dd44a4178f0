"""What an object that was read from a file must do to be right: the oracles of `fuzz_files`.

    circuit     every array is the one of the file; likelihoods, masses and samples are those of enumeration
"""
from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import partial

import naive
import numpy as np
import zoo

import pcircuit
from pcircuit.files import archive, circuit_file

FEW_STATES = 250


@dataclass(frozen=True)
class Kind:
    """One kind of files: models to start from, how to read one, and what must be true of it."""

    name: str
    parts: list  # (header, arrays)
    read: object
    check: object


# -- circuits ------------------------------------------------------------------------------------------------------


def circuits() -> Kind:
    """Circuits of the zoo, also unnormalised ones."""
    models = [*zoo.circuits().values(), *zoo.unnormalized_circuits().values()]
    header = {"format": "pcircuit.circuit", "version": 1, "provenance": {"data": "none", "rows": [1, 2]}}
    return Kind("circuit", [(header, pcircuit.to_arrays(model)) for model in models], read_circuit, check_circuit)


def read_circuit(file):
    """The circuit in an open file, and the arrays as they were read."""
    header, arrays = archive.read_members(file, "pcircuit.circuit", 1)
    return circuit_file.from_parts(header, arrays), arrays


def check_circuit(found, rng):
    """Raise unless the circuit is that of its arrays and right in every method."""
    circuit, arrays = found
    back = pcircuit.to_arrays(circuit)
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
    assert circuit.describe().startswith(repr(circuit))
    assert circuit == pcircuit.from_arrays(back)
    few = np.prod([float(C) for C in circuit.num_categories]) <= FEW_STATES
    rows = naive.states(circuit) if few else random_rows(circuit, 20, rng)
    if not circuit.is_normalized:
        with np.errstate(all="ignore"):  # weights may be so large that likelihoods overflow
            pcircuit.log_likelihood(circuit, rows)
        return
    values, expected = pcircuit.log_likelihood(circuit, rows), naive.likelihood(circuit, rows)
    assert not np.isnan(values).any(), values
    usual = expected > 1e-290
    np.testing.assert_allclose(values[usual], np.log(expected[usual]), rtol=1e-9, atol=1e-9)
    assert (values[expected == 0] < -600).all()
    if few:
        assert abs(np.exp(values).sum() - 1) < 1e-6
    drawn = pcircuit.sample(circuit, 5, rng=rng)
    assert np.isfinite(pcircuit.log_likelihood(circuit, drawn)).all()


def random_rows(circuit, n, rng):
    """(n, V) rows of uniform categories."""
    return np.column_stack([rng.integers(0, C, size=n) for C in circuit.num_categories])


KINDS = {"circuit": circuits}
