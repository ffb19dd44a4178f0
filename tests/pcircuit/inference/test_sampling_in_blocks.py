"""Rows drawn in blocks, pieces and threads are those drawn at once; types, errors and memory."""

import threading
import tracemalloc

import naive
import numpy as np
import pytest
import zoo
from fixed_uniforms import FixedUniforms

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, Mixture, StructureError, VTree, sample
from pcircuit.inference import sampling

LARGEST = 1.0 - 2.0**-53  # value of Generator.random
CIRCUITS = zoo.circuits()


def masked(rng, rows, fraction):
    """Copy of the rows in which each entry is missing with the given probability."""
    return np.where(rng.random(rows.shape) < fraction, -1, rows.astype(np.int64))


def test_circuits_of_many_regions_are_drawn_in_large_blocks(monkeypatch):
    """Every block walks over all regions once, whatever its size: 75 rows of 40,000 regions were nearly all calls."""
    sizes, circuit = [], pcircuit.rat_spn([2] * 5000, num_units=2, depth=3, rng=0)
    draw = sampling._draw_rows
    monkeypatch.setattr(
        sampling,
        "_draw_rows",
        lambda tables, uniforms, rows: sizes.append(len(rows)) or draw(tables, uniforms, rows),
    )
    rows = sample(circuit, 1100, rng=0)
    assert sizes == [1024, 76]
    np.testing.assert_array_equal(rows[:80], sample(circuit, 80, rng=0))


def test_longer_samples_begin_with_the_shorter(monkeypatch):
    circuit = CIRCUITS["irregular_csr"]
    rows = sample(circuit, 100, rng=0)
    evidence = masked(np.random.default_rng(0), rows, 0.5)
    completed = sample(circuit, evidence=evidence, rng=0)
    np.testing.assert_array_equal(rows[:30], sample(circuit, 30, rng=0))
    for size in (1, 7, 64):
        monkeypatch.setattr(sampling, "_rows_per_block", lambda *_, size=size: size)
        np.testing.assert_array_equal(rows, sample(circuit, 100, rng=0))
        np.testing.assert_array_equal(completed, sample(circuit, evidence=evidence, rng=0))


def test_longer_samples_of_a_mixture_begin_with_the_shorter():
    """Circuits of other structures, one of which is drawn seldom."""
    first = CIRCUITS["hclt_like"]
    V = first.num_variables
    other = Circuit(
        VTree.balanced(V),
        [
            InputRegion(v, [np.full(first.num_categories[v], 1 / first.num_categories[v])])
            if v >= 0
            else InnerRegion([[0, 0]], [[1.0]])
            for v in VTree.balanced(V).variables.tolist()
        ],
    )
    mixture = Mixture([first, other, first], [0.5, 0.49, 0.01])
    rows = sample(mixture, 5000, rng=3)
    evidence = masked(np.random.default_rng(0), rows, 0.5)
    completed = sample(mixture, evidence=evidence, rng=4)
    for n in (0, 1, 2, 100, 4999):
        np.testing.assert_array_equal(rows[:n], sample(mixture, n, rng=3))
        np.testing.assert_array_equal(completed[:n], sample(mixture, evidence=evidence[:n], rng=4))
    generator = np.random.default_rng(3)
    np.testing.assert_array_equal(rows, sample(mixture, 5000, rng=generator))
    assert (rows != sample(mixture, 5000, rng=generator)).any()


def test_threads_draw_the_same():
    circuit, results = zoo.rat_like(), {}

    def draw(seed):
        results[seed] = sample(circuit, 5000, rng=seed)

    threads = [threading.Thread(target=draw, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, rows in results.items():
        np.testing.assert_array_equal(rows, sample(circuit, 5000, rng=seed))
    assert len(results) == 4


@pytest.mark.parametrize(
    ("num_categories", "dtype"),
    [(1, np.uint8), (256, np.uint8), (257, np.uint16), (70_000, np.uint32)],
)
def test_dtype_and_shape(num_categories, dtype):
    circuit = Circuit(
        VTree([-1], [0]), [InputRegion(0, np.full((1, num_categories), 1 / num_categories))]
    )
    rows = sample(circuit, 50, rng=0)
    assert rows.dtype == dtype
    assert rows.shape == (50, 1)
    assert (sample(circuit, 1, rng=FixedUniforms(LARGEST)) == num_categories - 1).all()
    assert sample(circuit, 0).shape == (0, 1)
    assert sample(circuit, evidence=np.empty((0, 1), dtype=int)).shape == (0, 1)
    small = sample(
        circuit, 30, evidence=np.array([[-1]], dtype=np.int8), rng=FixedUniforms(LARGEST)
    )
    assert (small == num_categories - 1).all()  # evidence of a dtype too small for the result


def test_impossible_evidence_names_the_first_row(monkeypatch):
    circuit = CIRCUITS["deterministic"]
    possible = sample(circuit, 1, rng=0).astype(int)
    bad = naive.states(circuit)[naive.likelihood(circuit, naive.states(circuit)) == 0][:1]
    evidence = np.concatenate([np.repeat(possible, 10, axis=0), bad, bad])
    for size in (3, 100):
        monkeypatch.setattr(sampling, "_rows_per_block", lambda *_, size=size: size)
        with pytest.raises(ValueError, match="probability zero at row 10:"):
            sample(circuit, evidence=evidence, rng=0)


def test_errors():
    circuit = CIRCUITS["two_coins"]
    with pytest.raises(StructureError, match="`circuit` is not normalised"):
        sample(zoo.unnormalized_circuits()["dense"], 3)
    with pytest.raises(ValueError, match="`num_samples` is missing"):
        sample(circuit)
    with pytest.raises(
        ValueError, match="`num_samples` must be a whole number of at least 0, found -1"
    ):
        sample(circuit, -1)
    for wrong in (2.5, "3", True, [4]):
        with pytest.raises(
            TypeError, match="`num_samples` must be a whole number of at least 0, found"
        ):
            sample(circuit, wrong)
    with pytest.raises(ValueError, match="`num_samples` is 4 but `evidence` has 3 rows"):
        sample(circuit, 4, evidence=np.zeros((3, 2), dtype=int))
    with pytest.raises(ValueError, match="holds 2 at row 1, column 0"):
        sample(circuit, evidence=[[0, 0], [2, 0]])
    with pytest.raises(ValueError, match="must have shape"):
        sample(circuit, evidence=[[0, 0, 0]])


def test_evidence_is_not_modified():
    evidence = np.array([[-1, 0], [1, -1]])
    sample(CIRCUITS["two_coins"], evidence=evidence, rng=0)
    np.testing.assert_array_equal(evidence, [[-1, 0], [1, -1]])


def test_rows_drawn_in_pieces_are_those_drawn_at_once():
    leaves = [InputRegion(v, [[0.5, 0.5]]) for v in range(2500)]
    circuit = Circuit(
        VTree.from_nested(list(range(2500))),
        [*leaves, InnerRegion(np.zeros((1, 2500), int), [[1.0]])],
    )
    uniforms = np.random.default_rng(7).random((1300, circuit.num_regions))
    by_region = np.empty(2500, dtype=int)
    for r, region in enumerate(circuit.regions[:-1]):
        by_region[region.variable] = r
    np.testing.assert_array_equal(sample(circuit, 1300, rng=7), uniforms[:, by_region] >= 0.5)


def test_blocks_of_many_regions_are_held_once():
    vtree = VTree.balanced(7500)
    circuit = Circuit(
        vtree,
        [
            InputRegion(v, [[0.5, 0.5]]) if v >= 0 else InnerRegion([[0, 0]], [[1.0]])
            for v in vtree.variables.tolist()
        ],
    )
    sample(circuit, 1, rng=0)  # makes the tables
    tracemalloc.start()
    rows = sample(circuit, 2 * sampling.DRAWN_ROWS, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.nbytes + 1.5 * 8 * sampling.DRAWN_ROWS * circuit.num_regions


@pytest.mark.parametrize(
    "model", [CIRCUITS["two_coins"], Mixture([CIRCUITS["two_coins"]])], ids=["circuit", "mixture"]
)
@pytest.mark.parametrize("count", [2**62, 2**63 - 1, 10**30])
def test_more_rows_than_any_memory_holds(model, count):
    with pytest.raises(
        MemoryError, match=f"a table of {count} rows takes .*: draw fewer at a time"
    ):
        sample(model, count)
