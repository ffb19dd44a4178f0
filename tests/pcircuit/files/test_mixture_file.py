"""Files of mixtures: what was saved comes back to the last bit, and nothing else is taken for one."""

import itertools
import tracemalloc

import numpy as np
import pytest
import zoo
from mixtures import mixed

from pcircuit import Mixture, load, load_mixture, log_likelihood, save, save_mixture
from pcircuit.files.archive import read_archive, write_archive

COINS = zoo.two_coins()


def test_a_mixture_and_its_file(tmp_path, rng):
    mixture, rows = mixed(rng)
    save_mixture(mixture, tmp_path / "m.pcm", provenance={"rows": 60})
    again = load_mixture(tmp_path / "m.pcm")
    assert np.array_equal(log_likelihood(mixture, rows), log_likelihood(again, rows))
    assert np.array_equal(mixture.weights, again.weights)


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


def test_weights_of_circuits_that_are_not_there_take_no_memory_for_their_names(tmp_path):
    """Ten names for each weight were made first: 200 MB for this file of 800 kB."""
    weights = np.full(100_000, 1e-5)
    write_archive(
        tmp_path / "m.pcm",
        {"format": "pcircuit.mixture", "version": 1},
        {"weights": weights, "0.kind": [0]},
    )
    tracemalloc.start()
    with pytest.raises(
        ValueError, match="weights of 100000 circuits beside 1 arrays, expected 10 for each circuit"
    ):
        load_mixture(tmp_path / "m.pcm")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * weights.nbytes


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


def test_the_header_says_what_it_is_and_where_it_comes_from(tmp_path):
    for provenance in (None, {}, {"rows": 60, "of": ["a", None]}):
        save_mixture(Mixture([COINS]), tmp_path / "m.pcm", provenance=provenance)
        header, _ = read_archive(tmp_path / "m.pcm", "pcircuit.mixture", 1)
        kept = {} if provenance is None else {"provenance": provenance}
        assert {key: header[key] for key in ("format", "version", *kept)} == {
            "format": "pcircuit.mixture",
            "version": 1,
            **kept,
        }
        assert ("provenance" in header) == (provenance is not None)


def test_files_of_circuits_are_not_files_of_mixtures(tmp_path):
    save(COINS, tmp_path / "c.pcm")
    save_mixture(Mixture([COINS]), tmp_path / "m.pcm")
    with pytest.raises(ValueError, match=r"cannot read '.*c\.pcm'"):
        load_mixture(tmp_path / "c.pcm")
    with pytest.raises(ValueError, match=r"cannot read '.*m\.pcm'"):
        load(tmp_path / "m.pcm")


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


def test_a_file_with_no_circuits_is_refused(tmp_path):
    write_archive(
        tmp_path / "m.pcm", {"format": "pcircuit.mixture", "version": 1}, {"weights": np.zeros(0)}
    )
    with pytest.raises(ValueError, match=r"cannot read '.*m\.pcm'.*"):
        load_mixture(tmp_path / "m.pcm")
