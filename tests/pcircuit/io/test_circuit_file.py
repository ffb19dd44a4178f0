"""Circuits as files: exact round trips, and refusal of arrays that contradict each other."""

import itertools
import re

import numpy as np
import pytest
import scipy.sparse
import zoo
from archives import npy, pack, refused, saved
from mixtures import mixed

from pcircuit import (
    Circuit,
    InnerRegion,
    InputRegion,
    Mixture,
    VTree,
    load,
    load_mixture,
    save,
    save_mixture,
)
from pcircuit.io.archive import read_archive, write_archive
from pcircuit.io.circuit_file import from_arrays, to_arrays

ZOO = {**zoo.circuits(), **{f"unnormalized {k}": c for k, c in zoo.unnormalized_circuits().items()}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pc"


@pytest.mark.parametrize("name", ZOO)
def test_what_is_saved_comes_back(name, path):
    save(ZOO[name], path)
    assert load(path) == ZOO[name]
    assert from_arrays(to_arrays(ZOO[name])) == ZOO[name]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_mixture_of_dense_and_sparse_regions_comes_back(sparse, path):
    first, second = np.array([[0.5, 0.0], [0.0, 0.0], [0.25, 0.75]]), np.array([[0.0, 0.0, 1.0]])
    kinds = [scipy.sparse.csr_array, np.array]
    circuit = Circuit(
        VTree.from_nested([[0, 1], 2]),
        [
            InputRegion(0, [[5e-324, 1.0]]),
            InputRegion(1, [[1e308, np.nextafter(0.1, 1)], [0.1, 0.9]]),
            InnerRegion([[0, 0], [0, 1]], kinds[sparse](first)),
            InputRegion(2, [[1.0]]),
            InnerRegion([[2, 0], [0, 0], [1, 0]], kinds[not sparse](second)),
        ],
    )
    save(circuit, path)
    back = load(path)
    assert back == circuit
    assert [region.is_sparse for region in (back.regions[2], back.regions[4])] == [
        not sparse,
        sparse,
    ]


def test_a_loaded_circuit_is_read_only_and_independent_of_its_arrays():
    arrays = to_arrays(zoo.two_coins())
    circuit = from_arrays(arrays)
    arrays["probs"][:] = 7.0
    arrays["products"][:] = 7
    assert circuit == zoo.two_coins()
    assert not circuit.regions[0].probs.flags.writeable


def test_arrays_are_as_documented():
    arrays = to_arrays(zoo.irregular_csr())
    assert list(arrays) == [
        "parents",
        "variables",
        "kind",
        "num_units",
        "num_columns",
        "probs",
        "products",
        "weights",
        "columns",
        "row_starts",
    ]
    assert arrays["kind"].tolist() == [0, 0, 0, 2, 2, 0, 0, 1, 2]
    assert arrays["num_units"].tolist() == [2, 4, 1, 4, 3, 2, 2, 2, 1]
    assert arrays["num_columns"].tolist() == [3, 2, 2, 5, 6, 3, 6, 3, 4]
    assert arrays["row_starts"].tolist() == [0, 2, 3, 6, 8, 0, 2, 5, 6, 0, 3]
    assert arrays["columns"].tolist() == [0, 4, 1, 1, 2, 3, 2, 4, 0, 5, 1, 2, 3, 0, 0, 1, 3]
    assert arrays["weights"][-9:].tolist() == [0.2, 0.5, 0.3, 0.0, 1.0, 0.0, 0.4, 0.1, 0.5]
    assert {array.dtype.str for array in arrays.values()} == {"|i1", "<i4", "<f8"}


def test_the_circuit_must_be_a_circuit(path):
    with pytest.raises(
        TypeError, match=f"`circuit` must be a Circuit, found {type(path).__name__}"
    ):
        save(path, zoo.two_coins())


# -- arrays that contradict each other -----------------------------------------------------------------------


def test_unknown_arrays(path):
    arrays = {**to_arrays(zoo.two_coins()), "x": np.ones(1)}
    write_archive(path, {"format": "pcircuit.circuit", "version": 1}, arrays)
    refused(path, "has ['x'], which are unknown")


@pytest.mark.parametrize("name", to_arrays(zoo.two_coins()))
def test_arrays_of_other_types_and_shapes(path, name):
    array = to_arrays(zoo.irregular_csr())[name]
    wanted = "integers" if array.dtype.kind == "i" else "float64"
    members = saved(path)
    other_kind = array.astype(float if wanted == "integers" else int)
    for other in (other_kind, array != 0, array[:, None], np.array(array[0])):
        pack(path, {**members, f"{name}.npy": npy(other)})
        refused(
            path,
            f"the array `{name}` must be one-dimensional of {wanted}, found shape {other.shape}",
        )


@pytest.mark.parametrize(
    ("more", "message"), [({"seed": 3}, "found ['seed']"), ({"provenance": [1]}, "found [1]")]
)
def test_headers_with_other_entries_are_refused(path, more, message):
    write_archive(
        path, {"format": "pcircuit.circuit", "version": 1, **more}, to_arrays(zoo.two_coins())
    )
    refused(path, "the header of a circuit has the keys format, library, provenance, version")
    refused(path, message)


def test_the_provenance_is_a_dict_and_may_hold_numpy_numbers(path):
    with pytest.raises(TypeError, match="`provenance` must be a dict, found list"):
        save(zoo.two_coins(), path, provenance=[1])
    with pytest.raises(
        TypeError,
        match="`provenance` must hold only what JSON can: set is neither text, number, list",
    ):
        save(zoo.two_coins(), path, provenance={"of": {1}})
    with pytest.raises(ValueError, match="`provenance` must hold only what JSON can: "):
        save(zoo.two_coins(), path, provenance={"alpha": np.nan})
    save(
        zoo.two_coins(),
        path,
        provenance={"rows": np.int64(7), "alpha": np.float32(0.5), "dense": np.bool_(True)},
    )
    assert read_archive(path, "pcircuit.circuit", 1)[0]["provenance"] == {
        "rows": 7,
        "alpha": 0.5,
        "dense": True,
    }


def changed(name, change):
    """Arrays of a circuit with one of them changed."""
    arrays = to_arrays(zoo.irregular_csr())
    new = change(arrays[name].astype(np.int64 if arrays[name].dtype.kind == "i" else float))
    return {**arrays, name: new}


def put(*entries):
    """Change of some entries: put(i, value, j, value, ...)."""

    def change(array):
        array[list(entries[::2])] = entries[1::2]
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("parents", put(0, 0), "`parents` is not a post-order numbering"),
        (
            "parents",
            put(0, -2),
            "`parents` must be ",
        ),
        ("parents", put(0, 2**40), "`parents` is not a post-order numbering"),
        ("parents", lambda a: a[:-1], "`parents` has 8 entries and `variables` 9"),
        (
            "parents",
            lambda a: a[:0],
            "`parents` must be a non-empty one-dimensional array of integers",
        ),
        ("variables", put(0, 7), "`variables` must name each variable"),
        ("variables", lambda a: np.r_[a, 5], "`parents` has 9 entries and `variables` 10"),
        (
            "kind",
            put(0, 3),
            "region 0 is of kind 3, expected 0 at a v-tree leaf and 1 or 2 elsewhere",
        ),
        ("kind", put(0, 1), "region 0 is of kind 1, expected 0 at a v-tree leaf"),
        ("kind", put(3, 0), "region 3 is of kind 0, expected"),
        (
            "kind",
            put(3, 1),
            "the array `weights` has 23 entries, but the counts of the regions ask for 26 and more",
        ),
        (
            "kind",
            lambda a: a[1:],
            "the array `kind` has 8 entries, expected 9, one for each v-tree node",
        ),
        (
            "num_units",
            put(0, 0),
            "`probs` must be a non-empty two-dimensional array",
        ),
        (
            "num_units",
            put(0, -1),
            "`num_units` must be ",
        ),
        (
            "num_units",
            put(0, 3),
            "the array `probs` has 34 entries, but the counts of the regions ask for 37",
        ),
        ("num_units", put(0, 2**62), "`num_units` must be "),
        (
            "num_units",
            put(0, 2**53, 1, 2**53),
            "the array `probs` has 34 entries, but the counts of the",
        ),
        ("num_units", put(3, 2**53), "the array `row_starts` has 11 entries, but the counts"),
        ("num_units", put(3, 2**63 - 1), "`num_units` must be "),
        ("num_units", lambda a: np.r_[a, 1], "the array `num_units` has 10 entries, expected 9"),
        ("num_columns", put(8, 0), "`products` must be a non-empty (P, A) array of unit indices"),
        (
            "num_columns",
            put(8, 5),
            "the array `products` has 36 entries, but the counts of the regions ask for",
        ),
        (
            "num_columns",
            put(8, 3),
            "`weights` is not a well-formed sparse array: indices must be <",
        ),
        (
            "probs",
            put(0, np.nan),
            "`probs` must be ",
        ),
        ("probs", put(0, -0.5), "`probs` must be "),
        ("probs", put(0, np.inf), "`probs` must be "),
        (
            "probs",
            lambda a: a[:-1],
            "the array `probs` has 33 entries, but the counts of the regions ask for 34",
        ),
        (
            "products",
            put(0, -1),
            "`products` must be ",
        ),
        (
            "products",
            put(0, 4),
            "region 3 with scope [0, 4]: `products` asks for unit 4 of child region 1",
        ),
        ("products", lambda a: a[:-1], "the array `products` has 35 entries, but the counts"),
        ("weights", put(0, np.nan), "`weights` must be "),
        ("weights", put(0, -1e-300), "`weights` must be "),
        (
            "weights",
            lambda a: np.r_[a, 0.0],
            "the array `weights` has 24 entries, but the counts of the regions",
        ),
        ("columns", put(0, -1), "`columns` must be "),
        ("columns", put(0, 4, 1, 0), "the array `columns` must ascend within each row"),
        ("columns", put(1, 0), "the array `columns` must ascend within each row"),
        ("columns", put(1, 5), "`weights` is not a well-formed sparse array: indices must be <"),
        (
            "columns",
            lambda a: a[:-1],
            "the array `columns` has 16 entries, but the counts of the regions ask",
        ),
        (
            "row_starts",
            put(0, 1),
            "index pointer should start with 0",
        ),
        (
            "row_starts",
            put(1, 4),
            "`weights` is not a well-formed sparse array: indptr must be a non-decreasing sequence",
        ),
        ("row_starts", put(4, 9, 10, 2), "the array `columns` must ascend within each row"),
        (
            "row_starts",
            put(4, 2**50),
            "the array `weights` has 23 entries, but the counts of the regions ask for 1125899906842624",
        ),
        (
            "row_starts",
            put(4, 7),
            "the array `columns` must ascend within each row",
        ),
        ("row_starts", lambda a: a[:-1], "the array `row_starts` has 10 entries, but the counts"),
    ],
)
def test_contradictions(path, name, change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        from_arrays(changed(name, change))
    write_archive(path, {"format": "pcircuit.circuit", "version": 1}, changed(name, change))
    refused(path, message)


# -- anything at all -----------------------------------------------------------------------------------------


COINS = zoo.two_coins()


def test_hostile_files_of_mixtures(tmp_path, rng):
    mixture, _ = mixed(rng)
    save_mixture(mixture, tmp_path / "m.pcm")
    header, arrays = read_archive(tmp_path / "m.pcm", "pcircuit.mixture", 1)
    damaged = [
        {name: array for name, array in arrays.items() if name != "1.probs"},
        arrays | {"2.probs": arrays["1.probs"]},
        arrays | {"weights": np.array([0.5, np.nan])},
        arrays | {"weights": np.array([[0.5, 0.5]])},
        arrays | {"weights": np.array([0.5])},
        {"weights": np.zeros(0)},
        arrays | {"weights": np.array([1, 0])},
        {name: array for name, array in arrays.items() if name != "weights"},
        arrays | {"0.probs": arrays["0.probs"] * 2},
    ]
    for parts, extra in itertools.chain(
        zip(damaged, [{}] * len(damaged), strict=True), [(arrays, {"more": 1})]
    ):
        write_archive(
            tmp_path / "bad.pcm", {key: header[key] for key in ("format", "version")} | extra, parts
        )
        with pytest.raises(ValueError, match="cannot read"):
            load_mixture(tmp_path / "bad.pcm")


def test_circuits_and_weights_come_back_to_the_last_bit(tmp_path):
    """Sparse and dense; more than ten, as numbers of two digits come before 2 in the order of names; weights of 0."""
    sparse = zoo.irregular_csr()
    plain = [
        zoo.independent([np.full(C, 1 / C) for C in sparse.num_categories]),
        zoo.independent([np.eye(C)[0] for C in sparse.num_categories]),
    ]
    many = Mixture(
        [sparse, *plain, sparse, plain[1]] * 2 + [plain[0], sparse], np.arange(12.0) / 66
    )
    for mixture in (many, Mixture([sparse]), Mixture([zoo.one_region()] * 2, [1, 0])):
        mixture.save(tmp_path / "m.pcm")
        again = load_mixture(tmp_path / "m.pcm")
        assert again == mixture
        np.testing.assert_array_equal(again.weights, mixture.weights, strict=True)


@pytest.mark.parametrize(
    ("mixture", "provenance", "error", "message"),
    [
        (COINS, None, TypeError, r"`mixture` must be a pcircuit\.Mixture, found Circuit"),
        ([COINS], None, TypeError, r"`mixture` must be a pcircuit\.Mixture, found list"),
        (Mixture([COINS]), "me", TypeError, "`provenance` must be a dict, found str"),
        (
            Mixture([COINS]),
            {"of": {1, 2}},
            TypeError,
            "`provenance` must hold only what JSON can: set is neither text",
        ),
        (
            Mixture([COINS]),
            {"share": np.inf},
            ValueError,
            "`provenance` must hold only what JSON can: ",
        ),
    ],
)
def test_what_cannot_be_saved_leaves_the_file_as_it_was(
    mixture, provenance, error, message, tmp_path
):
    path = tmp_path / "m.pcm"
    path.write_bytes(b"before")
    with pytest.raises(error, match=message):
        save_mixture(mixture, path, provenance=provenance)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("m.pcm", b"before")]
