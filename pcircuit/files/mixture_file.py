"""Mixtures of circuits as files: the arrays of each circuit, numbered, and their weights, in one archive.

    weights              (M,)    not negative, sum 1
    0.parents, ...               the ten arrays of circuit 0, as in a circuit's own file (`pcircuit.files.circuit_file`)
    1.parents, ...               those of circuit 1, and so on

Written whole or not at all, and read without trust, like all archives of `pcircuit.files.archive`.
"""

from __future__ import annotations

import os
from typing import Any

from pcircuit.circuit_mixture import Mixture, check_mixture
from pcircuit.files.archive import read_object, write_archive
from pcircuit.files.circuit_file import ARRAYS, check_keys, from_arrays, to_arrays
from pcircuit.files.contents import check_names, finite_array, with_prefix
from pcircuit.files.header_json import check_provenance

FORMAT, FORMAT_VERSION = "pcircuit.mixture", 1


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
    header: dict[str, Any] = {"format": FORMAT, "version": FORMAT_VERSION}
    if provenance is not None:
        check_provenance(provenance)
        header["provenance"] = provenance
    arrays: dict[str, Any] = {"weights": mixture.weights}
    for m, circuit in enumerate(mixture.circuits):
        arrays |= with_prefix(f"{m}.", to_arrays(circuit))
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
    return read_object(path, FORMAT, FORMAT_VERSION, _from_parts)


def _from_parts(header: dict[Any, Any], arrays: dict[Any, Any]) -> Mixture:
    """The mixture of a file's header and arrays; ValueError if they are not of this format."""
    check_keys(header, "mixture")
    weights = finite_array(arrays, "weights", (None,))
    if len(weights) >= len(arrays):  # before as many names are made as there would be arrays
        raise ValueError(
            f"it has the weights of {len(weights)} circuits beside {len(arrays) - 1} arrays, expected "
            f"{len(ARRAYS)} for each circuit"
        )
    names = [{name: f"{m}.{name}" for name in ARRAYS} for m in range(len(weights))]
    check_names(
        arrays,
        {"weights", *(name for own in names for name in own.values())},
        f"the file of {len(weights)} circuits",
    )
    return Mixture(
        [from_arrays({name: arrays[full] for name, full in own.items()}) for own in names], weights
    )
