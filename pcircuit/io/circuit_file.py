"""Circuits as files: one uncompressed zip archive of plain arrays and a short header.

The arrays are the tables of the regions, concatenated in post-order.  With R regions, A_r children, and K_r
units in a table with C_r columns (categories at a leaf, products at an inner region):

    parents, variables       (R,)  the v-tree
    kind                     (R,)  0 input region, 1 inner region with dense weights, 2 with CSR weights
    num_units, num_columns   (R,)  K_r and C_r
    probs                    sum of K_r C_r over input regions
    products                 sum of C_r A_r over inner regions
    weights                  dense: K_r C_r each; CSR: the stored entries
    columns, row_starts      CSR: column of each stored entry; K_r + 1 row starts each, the first of them 0

An input region of another family than tables has C_r = 0 and no part in `probs`.  Its family is named in one more
array, of bytes, and its arrays follow by name with the number of the variable in front; families inside of families
likewise:

    leaves                   names of the families by variable, "Categorical" or another one, a line each, in UTF-8
    leaves.7.mean, ...       the arrays of the family of variable 7
    leaves.7.rest            name of a family inside of it; leaves.7.rest.mean, ... its arrays

A family of the package is found by its name alone, one from outside by its module and name, and only if the program
has imported that module before: no file brings code with it.

Probabilities and weights are float64, all others integers of any width.

Files are archives of `pcircuit.io.archive`: written whole or not at all, and read without trust.  Every array is
checked against every other before a region is made; an accepted file gives a circuit with exactly these arrays.

    save, load                      a circuit and a file
    to_arrays, from_arrays          a circuit and the arrays above, to embed a circuit in another file

Mixtures of circuits as files: the arrays of each circuit, numbered, and their weights, in one archive.

    weights              (M,)    not negative, sum 1
    0.parents, ...               the ten arrays of circuit 0, as in a circuit's own file
    1.parents, ...               those of circuit 1, and so on

Written whole or not at all, and read without trust, like all archives of `pcircuit.io.archive`.
"""

import math
import os
import reprlib
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

import pcircuit.leaves
from pcircuit.arguments import check_integers, check_numbers
from pcircuit.circuit import Circuit, InnerRegion, InputRegion, Mixture, check_mixture, plain
from pcircuit.io.archive import (
    check_names,
    check_provenance,
    finite_array,
    read_object,
    with_prefix,
    write_archive,
)
from pcircuit.learning.normal_blocks import NormalBlocks
from pcircuit.regions import LeafFamily
from pcircuit.vtree import VTree

FORMAT, FORMAT_VERSION = "pcircuit.circuit", 1
LARGEST = 2**53  # of an integer: float64 holds all up to here exactly
INPUT, DENSE, SPARSE = range(3)
KNOWN = {"format", "version", "library", "provenance"}  # keys of the header
FLOATS = ("probs", "weights")
ARRAYS = (
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
)
MIXTURE_FORMAT, MIXTURE_VERSION = "pcircuit.mixture", 1


def save(
    circuit: Circuit, path: str | os.PathLike[str], *, provenance: dict[str, Any] | None = None
) -> None:
    """Write a circuit to a file, whole or not at all.

    Parameters
    ----------
    circuit : Circuit
        Any circuit; zeros, CSR weights and rows that are not normalised are kept exactly.
    path : str or os.PathLike
        The file; an existing one is replaced at the end, and stays as it was if anything fails.
    provenance : dict, default None
        Where the circuit comes from: whatever JSON can hold, NumPy scalars as plain numbers.  Kept in the header, see
        `read_archive`.

    Raises
    ------
    TypeError
        If `path` is not a path, or `provenance` is not a dict or holds what JSON cannot.
    ValueError
        If `path` is a folder or a device, or `provenance` is nested too deeply, too long, or holds a NaN.
    OSError
        If the folder does not exist or cannot be written.

    Notes
    -----
    Costs O(number of parameters); about 8 bytes per parameter and 4 per factor of a product.

    Examples
    --------
    >>> import os, tempfile
    >>> from pcircuit import VTree
    >>> coin = Circuit(VTree.from_nested(0), [InputRegion(0, [[0.5, 0.5]])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(coin, os.path.join(folder, "coin.pc"))
    ...     load(os.path.join(folder, "coin.pc")) == coin
    True
    """
    provenance = {} if provenance is None else provenance
    check_provenance(provenance)
    header = {"format": FORMAT, "version": FORMAT_VERSION, "provenance": provenance}
    write_archive(path, header, to_arrays(circuit))


def load(path: str | os.PathLike[str]) -> Circuit:
    """Read a circuit that `save` wrote; safe for files from strangers.

    Parameters
    ----------
    path : str or os.PathLike
        The file.

    Returns
    -------
    Circuit
        Equal to the one that was saved, bit by bit.

    Raises
    ------
    TypeError, ValueError
        If `path` is no path, or the file is damaged, of another kind, or of a newer format version: its name and what
        is wrong.
    OSError
        If there is no such file (`FileNotFoundError`) or it cannot be opened.

    Notes
    -----
    Costs O(size of the file) time and memory.

    Examples
    --------
    >>> import os, tempfile
    >>> from pcircuit import VTree
    >>> coin = Circuit(VTree.from_nested(0), [InputRegion(0, [[0.5, 0.5]])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(coin, os.path.join(folder, "coin.pc"))
    ...     load(os.path.join(folder, "coin.pc"))
    Circuit(1 variables, 1 regions, 1 units, 2 parameters)
    """
    return read_object(path, FORMAT, FORMAT_VERSION, from_parts)


def from_parts(header: dict[Any, Any], arrays: dict[Any, Any]) -> Circuit:
    """The circuit of a file's header and arrays; ValueError if they are not of this format."""
    check_keys(header, "circuit")
    return from_arrays(arrays)


def check_keys(header: dict[Any, Any], kind: str) -> None:
    """Raise unless a header has the keys of a circuit's or a mixture's file and no others."""
    unknown = set(header) - KNOWN
    if unknown or not isinstance(header.get("provenance", {}), dict):
        raise ValueError(
            f"the header of a {kind} has the keys {', '.join(sorted(KNOWN))}, the last a mapping: found "
            f"{reprlib.repr(sorted(unknown) or header['provenance'])}"
        )


def to_arrays(circuit: Circuit) -> dict[str, np.ndarray]:
    """The circuit as one-dimensional arrays, listed in the module's first lines.

    Costs O(number of parameters).
    """
    if not isinstance(circuit, Circuit):
        raise TypeError(f"`circuit` must be a Circuit, found {type(circuit).__name__}")
    inputs = [region for region in circuit.regions if region.num_categories]
    inner: list[Any] = [region for region in circuit.regions if not region.is_input]
    sparse = [region.weights for region in inner if region.is_sparse]
    columns = [
        region.num_categories if region.is_input else region.num_products
        for region in circuit.regions
    ]
    return _leaves_to_arrays(circuit) | {
        "parents": _integers([circuit.vtree.parents]),
        "variables": _integers([circuit.vtree.variables]),
        "kind": np.array(
            [
                INPUT if region.is_input else SPARSE if region.is_sparse else DENSE
                for region in circuit.regions
            ],
            dtype=np.int8,
        ),
        "num_units": _integers([[region.num_units for region in circuit.regions]]),
        "num_columns": _integers([columns]),
        "probs": np.concatenate([np.zeros(0), *(region.probs.ravel() for region in inputs)]),  # type: ignore[union-attr]
        "products": _integers([region.products.ravel() for region in inner]),
        "weights": np.concatenate(
            [
                np.zeros(0),
                *[
                    region.weights.data if region.is_sparse else region.weights.ravel()
                    for region in inner
                ],
            ]
        ),
        "columns": _integers([weights.indices for weights in sparse]),
        "row_starts": _integers([weights.indptr for weights in sparse]),
    }


def from_arrays(arrays: dict[Any, Any]) -> Circuit:
    """The circuit that `to_arrays` took apart.

    Costs O(total length).  Counts are compared with the lengths of the arrays before anything is allocated.
    """
    own = {name for name in arrays if str(name).partition(".")[0] == "leaves"}
    families = _leaves_from_arrays({name: arrays[name] for name in own})
    arrays = _checked_arrays({name: array for name, array in arrays.items() if name not in own})
    vtree = VTree(arrays["parents"], arrays["variables"])
    for name in ("kind", "num_units", "num_columns"):
        if len(arrays[name]) != vtree.num_nodes:
            raise ValueError(
                f"the array `{name}` has {len(arrays[name])} entries, expected {vtree.num_nodes}, one "
                "for each v-tree node"
            )
    position = dict.fromkeys(ARRAYS, 0)

    def take(name: str, *shape: int) -> Any:
        """The next part of an array."""
        start, size = position[name], math.prod(shape)
        position[name] += size
        if position[name] > len(arrays[name]):
            raise ValueError(
                f"the array `{name}` has {len(arrays[name])} entries, but the counts of the regions "
                f"ask for {position[name]} and more"
            )
        return arrays[name][start : start + size].reshape(shape)

    regions: list[InputRegion | InnerRegion] = []
    for children, variable in zip(vtree.child_lists(), vtree.variables.tolist(), strict=True):
        kind, K, C = (int(take(name)) for name in ("kind", "num_units", "num_columns"))
        if kind == INPUT and C == 0 and variable in families:
            regions.append(InputRegion(variable, families.pop(variable)))
        elif kind == INPUT and variable >= 0:
            regions.append(InputRegion(variable, take("probs", K, C)))
        elif kind == DENSE and children:
            products = take("products", C, len(children))
            regions.append(InnerRegion(products, take("weights", K, C)))
        elif kind == SPARSE and children:
            import scipy.sparse

            row_starts = take("row_starts", K + 1)
            stored = int(row_starts[-1])
            parts = take("weights", stored), take("columns", stored), row_starts
            weights = scipy.sparse.csr_array(parts, shape=(K, C))
            region = InnerRegion(take("products", C, len(children)), weights)
            if not np.array_equal(region.weights.indices, parts[1]):
                raise ValueError("the array `columns` must ascend within each row")
            regions.append(region)
        else:
            raise ValueError(
                f"region {len(regions)} is of kind {kind}, expected 0 at a v-tree leaf and 1 or 2 elsewhere"
            )
    for name, end in position.items():
        if name not in ("parents", "variables") and end < len(arrays[name]):
            raise ValueError(
                f"the array `{name}` has {len(arrays[name])} entries, but the counts of the regions "
                f"ask for {end}"
            )
    if families:
        raise ValueError(
            f"the array `leaves` names a family for variable {min(families)}, which has none"
        )
    return Circuit(vtree, regions)


def _integers(parts: Any) -> np.ndarray:
    """Concatenated parts as int32, or as int64 if they do not fit."""
    whole = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    fits = whole.size == 0 or (whole.min() >= -(2**31) and whole.max() < 2**31)
    return whole.astype(np.int32 if fits else np.int64)


def _checked_arrays(arrays: dict[Any, Any]) -> dict[Any, Any]:
    """The arrays of a circuit with known types: int64 and float64, finite and not negative."""
    if not isinstance(arrays, Mapping):
        raise TypeError(f"`arrays` must be a dictionary of arrays, found {type(arrays).__name__}")
    check_names(arrays, ARRAYS, "the dict `arrays` of a circuit")
    checked: dict[Any, Any] = {}
    for name in ARRAYS:
        array, is_float = np.asarray(arrays[name]), name in FLOATS
        # float16 and float32 would not do: their rows do not sum to one
        fits = array.dtype == np.float64 if is_float else array.dtype.kind in "iu"
        if array.ndim != 1 or not fits:
            wanted = "float64" if is_float else "integers"
            raise ValueError(
                f"the array `{name}` must be one-dimensional of {wanted}, found shape {array.shape} of "
                f"{array.dtype}"
            )
        least = -1 if name in ("parents", "variables") else 0
        if is_float:
            checked[name] = check_numbers(array, name, "finite numbers of at least 0", least=0)
        else:
            expected = f"whole numbers from {least} to {LARGEST}"
            checked[name] = check_integers(array, name, expected, least, LARGEST)
    return checked


def _leaves_to_arrays(circuit: Circuit) -> dict[str, np.ndarray]:
    """The arrays of leaves that are no tables; none where all are."""
    if circuit.is_categorical:
        return {}
    names = [_name_of(type(region.leaves)) for region in circuit.inputs]
    found = {"leaves": _text("\n".join(names))}
    for v, region in enumerate(circuit.inputs):
        if not region.num_categories:
            found |= _family_to_arrays(region.leaves, f"leaves.{v}")
    return found


def _family_to_arrays(family: LeafFamily, prefix: str) -> dict[str, np.ndarray]:
    """The arrays of a family, and of families inside of it."""
    found: dict[str, np.ndarray] = {}
    for name, part in family.to_arrays().items():
        here = f"{prefix}.{name}"
        if isinstance(part, LeafFamily):
            found |= {here: _text(_name_of(type(part)))} | _family_to_arrays(part, here)
        else:
            found[here] = np.asarray(part)
    return found


def _leaves_from_arrays(arrays: dict[str, Any]) -> dict[int, LeafFamily]:
    """The families by variable that `_leaves_to_arrays` took apart."""
    if not arrays:
        return {}
    if "leaves" not in arrays:
        raise ValueError("the array `leaves` with the names of the families is missing")
    names = _of_text(arrays["leaves"], "leaves").split("\n")
    used = {"leaves"}
    found = {
        v: _family_from_arrays(name, arrays, f"leaves.{v}", used)
        for v, name in enumerate(names)
        if name != "Categorical"
    }
    if used != set(arrays):
        raise ValueError(f"the array `{min(set(arrays) - used)}` belongs to no family of leaves")
    return found


def _family_from_arrays(
    name: str, arrays: dict[str, Any], prefix: str, used: set[str]
) -> LeafFamily:
    """One family from the arrays whose names begin with `prefix`."""
    parts: dict[str, Any] = {}
    for full in sorted(arrays):
        own = full[len(prefix) + 1 :]
        if not full.startswith(f"{prefix}.") or "." in own:
            continue
        used.add(full)
        array = np.asarray(arrays[full])
        if array.dtype == np.uint8:
            parts[own] = _family_from_arrays(_of_text(array, full), arrays, full, used)
        else:
            parts[own] = array
    try:
        return _family_of_name(name).from_arrays(parts)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the arrays `{prefix}` are not those of {name} leaves: {error}") from None


def _name_of(kind: type[LeafFamily]) -> str:
    """What a family is called in files."""
    name = kind.__name__
    return name if getattr(pcircuit.leaves, name, None) is kind else f"{kind.__module__}:{name}"


def _family_of_name(name: str) -> type[LeafFamily]:
    """The family with a name; one from outside must be known to the program already."""
    module, _, own = name.rpartition(":")
    place = sys.modules.get(module) if module else pcircuit.leaves
    kind = getattr(place, own, None)
    if not (isinstance(kind, type) and issubclass(kind, LeafFamily)):
        advice = f": import {module} first" if module else ""
        raise ValueError(f"there is no family of leaves {own!r}{advice}")
    return kind


def _text(text: str) -> np.ndarray:
    """Text as bytes."""
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _of_text(array: Any, name: str) -> str:
    """The text of an array of bytes."""
    array = np.asarray(array)
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError(f"the array `{name}` must hold text in UTF-8, found {array.dtype}")
    return bytes(array).decode(errors="replace")


def save_mixture(
    mixture: Mixture, path: str | os.PathLike[str], *, provenance: dict[str, Any] | None = None
) -> None:
    """Write a mixture to a file, whole or not at all.

    Parameters
    ----------
    mixture : Mixture
    path : str or os.PathLike
        The file; an existing one is replaced at the end, and stays as it was if anything fails.
    provenance : dict, default None
        Where it comes from: whatever JSON can hold, NumPy scalars as plain numbers.

    Raises
    ------
    TypeError
        If `mixture` is not a mixture, or `provenance` is not a dict or holds what JSON cannot.
    ValueError
        If `path` is a folder or a device, or `provenance` is nested too deeply, too long, or holds a NaN.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coins = [Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p]])]) for p in (0.2, 0.6)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_mixture(Mixture(coins), f"{folder}/coins.pcm")
    ...     load_mixture(f"{folder}/coins.pcm")
    Mixture(2 circuits, 1 variables, 4 parameters)
    """
    check_mixture(mixture)
    header: dict[str, Any] = {"format": MIXTURE_FORMAT, "version": MIXTURE_VERSION}
    if provenance is not None:
        check_provenance(provenance)
        header["provenance"] = provenance
    arrays: dict[str, Any] = {"weights": mixture.weights}
    for m, member in enumerate(mixture.circuits):
        arrays |= with_prefix(f"{m}.", to_arrays(plain(member)))
        if isinstance(member, NormalBlocks):
            arrays[f"{m}.correlations"] = member.correlations
    write_archive(path, header, arrays)


def load_mixture(path: str | os.PathLike[str]) -> Mixture:
    """Read a mixture that `save_mixture` wrote; safe for files from strangers.

    Parameters
    ----------
    path : str or os.PathLike
        The file.

    Returns
    -------
    Mixture
        Its circuits equal to those that were saved, bit by bit.

    Raises
    ------
    TypeError, ValueError
        If `path` is no path, or the file is damaged, of another kind, or of a newer format version: its name and what
        is wrong.
    OSError
        If there is no such file (`FileNotFoundError`) or it cannot be opened.

    Notes
    -----
    Costs O(size of the file) time and memory.

    Examples
    --------
    >>> import tempfile
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_mixture(Mixture([coin]), f"{folder}/coin.pcm")
    ...     load_mixture(f"{folder}/coin.pcm").circuits[0].regions[0].probs
    array([[0.25, 0.75]])
    """
    return read_object(path, MIXTURE_FORMAT, MIXTURE_VERSION, _mixture_from_parts)


def _mixture_from_parts(header: dict[Any, Any], arrays: dict[Any, Any]) -> Mixture:
    """The mixture of a file's header and arrays; ValueError if they are not of this format."""
    check_keys(header, "mixture")
    weights = finite_array(arrays, "weights", (None,))
    if len(weights) >= len(arrays):  # before as many names are made as there would be arrays
        raise ValueError(
            f"it has the weights of {len(weights)} circuits beside {len(arrays) - 1} arrays, expected "
            f"{len(ARRAYS)} for each circuit"
        )
    parts: list[dict[str, Any]] = [{} for _ in weights]
    for full, array in arrays.items():
        number, _, name = str(full).partition(".")
        if number.isdecimal() and int(number) < len(parts) and name:
            parts[int(number)][name] = array
        elif full != "weights":
            raise ValueError(f"the file of {len(weights)} circuits has an unknown array `{full}`")
    return Mixture([_member_from_arrays(own) for own in parts], weights)


def _member_from_arrays(arrays: dict[str, Any]) -> Any:
    """A circuit, or blocks of correlated columns."""
    correlations = arrays.pop("correlations", None)
    circuit = from_arrays(arrays)
    return circuit if correlations is None else NormalBlocks(circuit, correlations)
